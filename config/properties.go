package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// codec teaches viper the syntax of java.util.Properties. Libraries for it exist, but differ from Java in continued
// lines that end in CRLF, in a backslash at the end of the file, in empty keys and in surrogate pairs; the golden
// files of testdata/properties were made by Java itself.
type codec struct{}

// Decode reads src into dst. Of a key that is there twice, the last wins. Keys are folded, see fold.
func (codec) Decode(src []byte, dst map[string]any) error {
	text := string(src)
	if !utf8.ValidString(text) {
		text = fromLatin1(src) // what Java assumes; valid UTF-8 is hardly ever meant so
	}
	text = strings.TrimPrefix(text, "\ufeff")
	for _, l := range logicalLines(text) {
		key, value := splitLine(l.text)
		k, err := unescape(key)
		if err == nil {
			var v string
			if v, err = unescape(value); err == nil {
				dst[fold(k)] = v
				continue
			}
		}
		return fmt.Errorf("line %d: %w", l.number, err)
	}
	return nil
}

// Encode is part of viper's interface and never called.
func (codec) Encode(map[string]any) ([]byte, error) { return nil, errEncode }

var errEncode = fmt.Errorf("properties are only read")

// line is one logical line: natural lines joined where they end in an odd number of backslashes.
type line struct {
	number int // of its first natural line, from 1
	text   string
}

// logicalLines drops comments and blank lines and joins continued ones. A comment cannot be continued, and a line that
// continues another is never a comment.
func logicalLines(text string) []line {
	var out []line
	var cur strings.Builder
	start, joining := 0, false
	for i, natural := range naturalLines(text) {
		natural = strings.TrimLeft(natural, " \t\f")
		if !joining {
			if natural == "" || natural[0] == '#' || natural[0] == '!' {
				continue
			}
			start = i + 1
		}
		trailing := len(natural) - len(strings.TrimRight(natural, `\`))
		joining = trailing%2 == 1
		cur.WriteString(strings.TrimSuffix(natural, `\`[:trailing%2]))
		if !joining {
			out = appendLine(out, start, &cur)
		}
	}
	return appendLine(out, start, &cur)
}

func appendLine(out []line, number int, b *strings.Builder) []line {
	if b.Len() > 0 {
		out = append(out, line{number, b.String()})
	}
	b.Reset()
	return out
}

// naturalLines splits at LF, CR and CRLF.
func naturalLines(text string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// splitLine finds the first separator that is not escaped: white space, '=' or ':', with white space around it.
func splitLine(s string) (key, value string) {
	end := len(s)
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", s[i]) >= 0 {
			end = i
			break
		}
	}
	key, value = s[:end], strings.TrimLeft(s[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return key, value
}

// unescape undoes \t \n \r \f and \uXXXX; before any other character the backslash is dropped.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unicode(s[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// unicode reads what follows \u: four hex digits, and a second \uXXXX where the first is half of a surrogate pair.
// n is the number of bytes read.
func unicode(s string) (r rune, n int, err error) {
	high, err := hex4(s)
	if err != nil {
		return 0, 0, err
	}
	if utf16.IsSurrogate(high) && strings.HasPrefix(s[4:], `\u`) {
		low, err := hex4(s[6:])
		if err != nil {
			return 0, 0, err
		}
		if pair := utf16.DecodeRune(high, low); pair != utf8.RuneError {
			return pair, 10, nil
		}
	}
	return high, 4, nil
}

func hex4(s string) (rune, error) {
	if len(s) >= 4 {
		if n, err := strconv.ParseUint(s[:4], 16, 16); err == nil {
			return rune(n), nil
		}
	}
	return 0, fmt.Errorf(`malformed \uxxxx escape in %q`, `\u`+s[:min(len(s), 4)])
}

func fromLatin1(src []byte) string {
	runes := make([]rune, len(src))
	for i, c := range src {
		runes[i] = rune(c)
	}
	return string(runes)
}

// fold hides upper-case letters from viper, which would lower them: A becomes \x01a. unfold undoes it.
func fold(key string) string {
	var b strings.Builder
	for _, r := range key {
		if l := strings.ToLower(string(r)); l != string(r) {
			b.WriteByte(foldMark)
			b.WriteString(l)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unfold(key string) string {
	parts := strings.Split(key, string(rune(foldMark)))
	for i, p := range parts {
		if i == 0 || p == "" {
			continue
		}
		_, size := utf8.DecodeRuneInString(p)
		parts[i] = strings.ToUpper(p[:size]) + p[size:]
	}
	return strings.Join(parts, "")
}

const foldMark = '\x01'
