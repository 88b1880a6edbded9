package znode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DecodeError tells that the data of a node is not what Kafka writes there.
type DecodeError struct {
	// Node is what was expected, for example "topic assignment".
	Node string
	// Data is the whole data of the node.
	Data []byte
	Err  error
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %s from %.200q: %v", e.Node, e.Data, e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// decode unmarshals data into v and wraps the error.
func decode(node string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return &DecodeError{Node: node, Data: data, Err: err}
	}
	return nil
}

// number takes a JSON number, or a string that holds one: Kafka has written both in the same places.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(b, `"`)
	if string(b) == "null" || len(b) == 0 {
		return nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return err
	}
	*n = number(v)
	return nil
}

// text takes a JSON string, or any other scalar as its literal.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = text(s)
		return nil
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}

const upperHex = "0123456789ABCDEF"

// appendString appends s as a JSON string escaped as Jackson does: quotes, backslashes and control characters only.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		default:
			dst = appendControl(dst, c)
		}
	}
	return append(dst, '"')
}

// appendControl appends the escape of a character below 0x20.
func appendControl(dst []byte, c byte) []byte {
	if i := slices.Index([]byte("\b\t\n\f\r"), c); i >= 0 {
		return append(dst, '\\', "btnfr"[i])
	}
	return append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
}

// appendInts appends a JSON list of numbers.
func appendInts[T ~int32](dst []byte, v []T) []byte {
	dst = append(dst, '[')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(x), 10)
	}
	return append(dst, ']')
}
