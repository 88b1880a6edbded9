package ssl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mapper makes the name of a principal of a distinguished name. Kafka: SslPrincipalMapper.
type Mapper struct{ rules []rule }

// rule is one of ssl.principal.mapping.rules; without a pattern it is DEFAULT.
type rule struct {
	pattern     *regexp.Regexp
	whole       *regexp.Regexp // pattern from end to end
	text        string         // of pattern
	replacement string
	fold        func(string) string
}

const ruleText = `(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)`

var (
	ruleSplitter = regexp.MustCompile(`\s*(` + ruleText + `)\s*(,\s*|$)`)
	ruleParser   = regexp.MustCompile(`^(?:` + ruleText + `)`)
)

// ParseMapper reads ssl.principal.mapping.rules: DEFAULT, or RULE:pattern/replacement/ with L or U at its end, separated by
// commas. Differs from Kafka: patterns are RE2's, without look-around.
func ParseMapper(rules string) (*Mapper, error) {
	m := &Mapper{}
	for _, found := range ruleSplitter.FindAllStringSubmatch(strings.TrimSpace(rules), -1) {
		r, some, err := parseRule(found[1])
		if err != nil {
			return nil, err
		}
		if some {
			m.rules = append(m.rules, r)
		}
	}
	return m, nil
}

// parseRule reads one rule; some is false for an empty one.
func parseRule(text string) (r rule, some bool, err error) {
	at := ruleParser.FindStringSubmatchIndex(text)
	if at == nil || at[1] != len(text) {
		return rule{}, false, fmt.Errorf("Invalid rule: `%s`", text)
	}
	group := func(n int) string {
		if at[2*n] < 0 {
			return ""
		}
		return text[at[2*n]:at[2*n+1]]
	}
	if group(1) != "" {
		return rule{}, true, nil
	}
	if at[4] < 0 {
		return rule{}, false, nil
	}
	r = rule{text: group(2), replacement: group(4)}
	if r.pattern, err = regexp.Compile(r.text); err != nil {
		return rule{}, false, fmt.Errorf("Invalid rule: `%s`: %w", text, err)
	}
	r.whole = regexp.MustCompile(`^(?:` + r.text + `)$`)
	switch group(6) {
	case "L":
		r.fold = strings.ToLower
	case "U":
		r.fold = strings.ToUpper
	}
	return r, true, nil
}

// Name maps a distinguished name by the first rule that matches all of it. Kafka: SslPrincipalMapper.getName.
func (m *Mapper) Name(dn string) (string, error) {
	for i := range m.rules {
		if name, ok := m.rules[i].apply(dn); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("No rules apply to %s, rules %s", dn, m)
}

func (r *rule) apply(dn string) (string, bool) {
	if r.pattern == nil {
		return dn, true
	}
	if !r.whole.MatchString(dn) {
		return "", false
	}
	out := r.replaceAll(dn)
	if r.fold != nil {
		out = r.fold(out)
	}
	return out, true
}

// replaceAll is Java's String.replaceAll, which also replaces the nothing that is left behind a match of all.
func (r *rule) replaceAll(dn string) string {
	var b strings.Builder
	end := 0
	for _, at := range r.pattern.FindAllStringSubmatchIndex(dn, -1) {
		b.WriteString(dn[end:at[0]])
		b.WriteString(r.expand(dn, at))
		end = at[1]
	}
	b.WriteString(dn[end:])
	if end == len(dn) && dn != "" && !strings.HasPrefix(r.text, "^") && r.pattern.MatchString("") {
		b.WriteString(r.expand("", r.pattern.FindStringSubmatchIndex("")))
	}
	return b.String()
}

// expand puts groups into the replacement: $12 is group 12, or group 1 and a 2, or the text where there is no such group. A
// backslash takes the meaning of what follows.
func (r *rule) expand(dn string, at []int) string {
	var b strings.Builder
	for i := 0; i < len(r.replacement); i++ {
		c := r.replacement[i]
		switch {
		case c == '\\' && i+1 < len(r.replacement):
			i++
			b.WriteByte(r.replacement[i])
		case c == '$':
			group, digits := r.reference(r.replacement[i+1:])
			if digits == 0 {
				b.WriteByte(c)
				continue
			}
			if at[2*group] >= 0 {
				b.WriteString(dn[at[2*group]:at[2*group+1]])
			}
			i += digits
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference reads the number of a group at the start of s; digits is 0 where there is none.
func (r *rule) reference(s string) (group, digits int) {
	for n := 1; n <= len(s) && s[n-1] >= '0' && s[n-1] <= '9'; n++ {
		g, err := strconv.Atoi(s[:n])
		if err != nil || g > r.pattern.NumSubexp() {
			break
		}
		group, digits = g, n
	}
	return group, digits
}

// String prints the rules as Kafka does.
func (m *Mapper) String() string {
	all := make([]string, len(m.rules))
	for i := range m.rules {
		all[i] = m.rules[i].String()
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (r *rule) String() string {
	if r.pattern == nil {
		return "DEFAULT"
	}
	out := "RULE:" + r.text + "/" + r.replacement
	if r.fold == nil {
		return out
	}
	if r.fold("a") == "A" {
		return out + "/U"
	}
	return out + "/L"
}
