package sasl

import (
	"errors"
	"fmt"
	"strings"
)

// Module is an entry of a JAAS configuration: a class with options. Kafka: AppConfigurationEntry.
type Module struct {
	Class   string
	Options map[string]string
}

// ParseJAAS reads the one entry of sasl.jaas.config: "class required key=value key="value";". Kafka: JaasConfig, JaasContext.
func ParseJAAS(text string) (Module, error) {
	t := &tokenizer{rest: text}
	var all []Module
	for k := t.next(); k.kind != end; k = t.next() {
		m, err := parseModule(t, k)
		if err != nil {
			return Module{}, err
		}
		all = append(all, m)
	}
	switch len(all) {
	case 0:
		return Module{}, errors.New("Login module not specified in JAAS config")
	case 1:
		return all[0], nil
	}
	return Module{}, fmt.Errorf("JAAS config property contains %d login modules, should be 1 module", len(all))
}

func parseModule(t *tokenizer, class token) (Module, error) {
	m := Module{Class: class.text, Options: map[string]string{}}
	flag := t.next()
	switch {
	case flag.kind == end:
		return m, errors.New("Login module control flag not specified in JAAS config")
	case flag.kind != word:
		return m, errors.New("Login module control flag is not available in the JAAS config")
	}
	switch strings.ToUpper(flag.text) {
	case "REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL":
	default:
		return m, fmt.Errorf("Invalid login module control flag '%s' in JAAS config", flag.text)
	}
	for {
		key := t.next()
		switch {
		case key.kind == end:
			return m, errors.New("JAAS config entry not terminated by semi-colon")
		case key.kind == mark && key.text == ";":
			return m, nil
		}
		equals, value := t.next(), token{}
		if equals.kind == mark && equals.text == "=" {
			value = t.next()
		}
		if value.kind != word {
			return m, fmt.Errorf("Value not specified for key '%s' in JAAS config", key.text)
		}
		m.Options[key.text] = value.text
	}
}

type tokenKind int

const (
	end    tokenKind = iota
	word             // also what stands in quotes
	number           // a word that begins as a number does, which Java takes for one
	mark             // any other character
)

type token struct {
	kind tokenKind
	text string
}

// tokenizer takes a text apart. Java: StreamTokenizer with // and /* */ for comments, and - _ $ in words.
type tokenizer struct{ rest string }

func (t *tokenizer) next() token {
	t.rest = strings.TrimLeftFunc(t.rest, func(r rune) bool { return r <= ' ' })
	if t.rest == "" {
		return token{}
	}
	c := t.rest[0]
	switch {
	case c == '/':
		t.comment()
		return t.next()
	case c == '"' || c == '\'':
		return token{word, t.quoted(c)}
	case startsNumber(t.rest):
		n := len(t.rest) - len(strings.TrimLeft(t.rest, "-.0123456789"))
		t.rest = t.rest[n:]
		return token{kind: number}
	case inWord(c) && c != '.' && c != '-':
		n := 1
		for n < len(t.rest) && inWord(t.rest[n]) {
			n++
		}
		out := token{word, t.rest[:n]}
		t.rest = t.rest[n:]
		return out
	}
	t.rest = t.rest[1:]
	return token{mark, string(c)}
}

// startsNumber: digits, with a minus before or a point.
func startsNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] == '.')
}

// inWord are letters, digits, bytes of characters beyond ASCII, and what JaasConfig adds.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("._-$", c) >= 0
}

// comment leaves out /* ... */, or what follows a slash on its line.
func (t *tokenizer) comment() {
	until := "\n"
	if strings.HasPrefix(t.rest, "/*") {
		until = "*/"
	}
	_, t.rest, _ = strings.Cut(t.rest[min(2, len(t.rest)):], until)
}

// quoted reads up to the closing quote, or the end of the line.
func (t *tokenizer) quoted(quote byte) string {
	var b strings.Builder
	i := 1
	for i < len(t.rest) && t.rest[i] != quote && t.rest[i] != '\n' && t.rest[i] != '\r' {
		if t.rest[i] == '\\' && i+1 < len(t.rest) {
			c, n := escaped(t.rest[i+1:])
			b.WriteRune(c)
			i += 1 + n
			continue
		}
		b.WriteByte(t.rest[i])
		i++
	}
	t.rest = t.rest[min(len(t.rest), i):]
	if t.rest != "" && t.rest[0] == quote {
		t.rest = t.rest[1:]
	}
	return b.String()
}

// escaped reads what follows a backslash, and tells how many bytes it was.
func escaped(s string) (r rune, n int) {
	if s[0] >= '0' && s[0] <= '7' {
		most := 2
		if s[0] <= '3' {
			most = 3
		}
		for n < len(s) && n < most && s[n] >= '0' && s[n] <= '7' {
			r = r*8 + rune(s[n]-'0')
			n++
		}
		return r, n
	}
	if i := strings.IndexByte("abfnrtv", s[0]); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i]), 1
	}
	for _, c := range s {
		return c, len(string(c))
	}
	return 0, 0
}
