package protocol

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A schema says which fields the body of a request has, in the order of the wire. It is written as text:
//
//	name:i4            int32; also i1 (int8, bool), i2, i8, id (UUID), s (string), b (bytes)
//	name:s@3-5?4       in versions 3 to 5 only (@3: from 3 on), null allowed from version 4 on (?: always)
//	name[]@1?2(...)    an array of structs; name[]i4 an array of int32
//	#0@12(...)         the tagged field 0 of a flexible version, a struct; #0@12{...} bare fields
type node struct {
	name     string
	kind     kind
	min, max int16 // versions that have the field
	null     int16 // first version that may be null, or never
	tag      int32 // of a tagged field, else -1
	item     *node // of an array: what each element is
	fields   []*node
}

type kind uint8

const (
	kindStruct kind = iota
	kindBare        // fields without tag section
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindUUID
	kindString
	kindBytes
	kindArray
)

// width is the size in bytes of fixed kinds, 0 for the others.
func (k kind) width() int {
	switch k {
	case kindInt8:
		return 1
	case kindInt16:
		return 2
	case kindInt32:
		return 4
	case kindInt64:
		return 8
	case kindUUID:
		return 16
	default:
		return 0
	}
}

// parseSchema reads a schema text. It panics on a mistake in the text, which the table's test would find.
func parseSchema(text string) *node {
	p := schemaParser{rest: text}
	root := &node{kind: kindStruct, tag: -1, max: math.MaxInt16}
	root.fields = p.fields("")
	return root
}

type schemaParser struct{ rest string }

// fields reads fields up to the closing bracket, or the end of the text for "".
func (p *schemaParser) fields(end string) []*node {
	var fs []*node
	for {
		p.rest = strings.TrimLeft(p.rest, " \n\t")
		if end != "" && strings.HasPrefix(p.rest, end) {
			p.rest = p.rest[1:]
			return fs
		}
		if p.rest == "" {
			if end != "" {
				panic("protocol: schema lacks " + end)
			}
			return fs
		}
		fs = append(fs, p.field())
	}
}

func (p *schemaParser) field() *node {
	n := &node{tag: -1, max: math.MaxInt16, null: never}
	if p.take("#") {
		n.tag = int32(p.number())
	} else {
		n.name = p.word()
	}
	switch {
	case p.take("[]"):
		n.kind = kindArray
		n.item = &node{name: n.name, tag: -1, null: never}
		if c := p.peek(); c != '(' && c != '@' && c != '?' {
			n.item.kind = p.kind()
		}
	case p.take(":"):
		n.kind = p.kind()
	}
	p.versions(n)
	switch {
	case p.take("("):
		holder := n
		if n.item != nil {
			holder = n.item
		}
		holder.fields = p.fields(")")
	case p.take("{"):
		n.kind = kindBare
		n.fields = p.fields("}")
	}
	return n
}

func (p *schemaParser) versions(n *node) {
	if p.take("@") {
		n.min = p.number()
		if p.take("-") {
			n.max = p.number()
		}
	}
	if p.take("?") {
		n.null = 0
		if c := p.peek(); c >= '0' && c <= '9' {
			n.null = p.number()
		}
	}
}

func (p *schemaParser) kind() kind {
	switch w := p.word(); w {
	case "i1":
		return kindInt8
	case "i2":
		return kindInt16
	case "i4":
		return kindInt32
	case "i8":
		return kindInt64
	case "id":
		return kindUUID
	case "s":
		return kindString
	case "b":
		return kindBytes
	default:
		panic(fmt.Sprintf("protocol: schema kind %q before %q", w, p.rest))
	}
}

func (p *schemaParser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *schemaParser) take(s string) bool {
	var ok bool
	p.rest, ok = strings.CutPrefix(p.rest, s)
	return ok
}

func (p *schemaParser) word() string {
	i := strings.IndexFunc(p.rest, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", r)
	})
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *schemaParser) number() int16 {
	i := 0
	for i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9' {
		i++
	}
	v, err := strconv.ParseInt(p.rest[:i], 10, 16)
	if err != nil {
		panic(fmt.Sprintf("protocol: schema number before %q", p.rest))
	}
	p.rest = p.rest[i:]
	return int16(v)
}
