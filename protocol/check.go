package protocol

import (
	"encoding/binary"
	"fmt"
)

// Sizes in bytes that decoded values are taken to have in memory: enough for the largest structs of kmsg's requests.
const (
	structCost = 112
	stringCost = 24
)

// maxDecoded bounds the memory in bytes that one decoded request may take beside its frame. The largest honest requests,
// a controller's about some 100,000 partitions, stay far below.
const maxDecoded = 256 << 20

// walker goes over the bytes of a body by its schema. It allocates nothing. After a fault it stays at it.
type walker struct {
	p        []byte
	version  int16
	flexible bool
	cost     int64
	field    string // name of the field at fault
	fault    string
}

// Check walks over a body and tells whether it is exactly one request of this key and version: nothing missing, nothing left over,
// no null where none may be, no count that the bytes cannot hold. cost is an upper estimate of the memory in bytes that
// DecodeBody will take. The error wraps ErrMalformed.
func Check(h Header, body []byte) (cost int64, err error) {
	api, ok := Lookup(h.Key)
	if !ok {
		return 0, &UnsupportedError{Key: h.Key, Version: h.Version}
	}
	if !api.Supports(h.Version) {
		if h.Key == apiVersionsKey {
			return 0, nil // answered without a look at the body
		}
		return 0, &UnsupportedError{Key: h.Key, Version: h.Version}
	}
	w := walker{p: body, version: h.Version, flexible: h.Version >= api.Flexible}
	w.fields(api.body)
	if w.fault == "" && len(w.p) > 0 && !extraTags(h, w.p) {
		w.fail("", "bytes left over")
	}
	if w.fault != "" {
		return 0, fmt.Errorf("%s v%d: field %q at byte %d of %d: %s: %w", api.Name, h.Version, w.field, len(body)-len(w.p), len(body), w.fault, ErrMalformed)
	}
	return structCost + w.cost, nil
}

// extraTags tells of a second, empty section of tags: librdkafka, 2.2 to 2.16 at least, ends AlterUserScramCredentials so.
// Apache Kafka does not look behind any body.
func extraTags(h Header, rest []byte) bool {
	const alterUserScramCredentials = 51
	return h.Key == alterUserScramCredentials && len(rest) == 1 && rest[0] == 0
}

func (w *walker) fail(field, fault string) {
	if w.fault == "" {
		w.field, w.fault = field, fault
	}
}

func (w *walker) fields(n *node) {
	for _, f := range n.fields {
		if f.tag < 0 && w.version >= f.min && w.version <= f.max {
			w.value(f)
			if w.fault != "" {
				return
			}
		}
	}
	if w.flexible && n.kind != kindBare {
		w.tags(n)
	}
}

func (w *walker) value(f *node) {
	switch f.kind {
	case kindString:
		w.text(f, 2)
	case kindBytes:
		w.text(f, 4)
	case kindArray:
		w.array(f)
	default:
		w.skip(f, f.kind.width())
	}
}

func (w *walker) skip(f *node, n int) {
	if n > len(w.p) {
		w.fail(f.name, "body ends within it")
		return
	}
	w.p = w.p[n:]
}

// length reads the length of a string, bytes or array: -1 for null. width is that of versions that are not flexible.
func (w *walker) length(f *node, width int) int {
	n := -2
	switch {
	case w.flexible:
		n = int(w.uvarint(f)) - 1
	case len(w.p) < width:
		w.fail(f.name, "body ends within its length")
	case width == 2:
		n = int(int16(binary.BigEndian.Uint16(w.p)))
		w.p = w.p[2:]
	default:
		n = int(int32(binary.BigEndian.Uint32(w.p)))
		w.p = w.p[4:]
	}
	switch {
	case w.fault != "":
		return -1
	case n == -1 && w.version < f.null:
		w.fail(f.name, "null")
	case n < -1:
		w.fail(f.name, "negative length")
	case n > len(w.p):
		w.fail(f.name, "longer than the bytes left")
	}
	return n
}

func (w *walker) text(f *node, width int) {
	n := w.length(f, width)
	if w.fault != "" || n < 0 {
		return
	}
	if f.kind == kindString {
		w.cost += stringCost + int64(n)
	}
	w.p = w.p[n:]
}

func (w *walker) array(f *node) {
	n := w.length(f, 4)
	if w.fault != "" || n <= 0 {
		return
	}
	if size := f.item.kind.width(); size > 0 {
		w.cost += int64(n) * int64(size)
		if n > len(w.p)/size {
			w.fail(f.name, "more elements than the bytes left can hold")
			return
		}
		w.p = w.p[n*size:]
		return
	}
	for range n {
		w.pay(f, structCost)
		if f.item.kind == kindStruct {
			w.fields(f.item)
		} else {
			w.value(f.item)
		}
		if w.fault != "" {
			return
		}
	}
}

// tags reads the tagged fields at the end of a struct. Unknown ones are passed over, as KIP-482 asks.
func (w *walker) tags(n *node) {
	count := w.uvarint(n)
	for ; count > 0 && w.fault == ""; count-- {
		tag, size := w.uvarint(n), w.uvarint(n)
		switch {
		case w.fault != "":
			return
		case int64(size) > int64(len(w.p)):
			w.fail(n.name, "tagged field longer than the bytes left")
			return
		}
		w.pay(n, structCost)
		w.tagged(n, tag, int(size))
	}
}

// tagged checks the content of one tagged field, if it is known.
func (w *walker) tagged(n *node, tag uint32, size int) {
	rest := w.p[size:]
	w.p = w.p[:size:size]
	for _, f := range n.fields {
		if int64(f.tag) == int64(tag) && w.version >= f.min && w.version <= f.max {
			w.fields(f)
			if w.fault == "" && len(w.p) > 0 {
				w.fail(f.name, "bytes left over in a tagged field")
			}
		}
	}
	if w.fault == "" {
		w.p = rest
	}
}

// pay adds to the cost, which has a bound.
func (w *walker) pay(f *node, cost int64) {
	if w.cost += cost; w.cost > maxDecoded {
		w.fail(f.name, "too many elements")
	}
}

// uvarint reads an unsigned number of at most 32 bits in at most five bytes.
func (w *walker) uvarint(f *node) uint32 {
	v, n := uvarint(w.p)
	if n <= 0 {
		w.fail(f.name, "bad variable-length number")
		return 0
	}
	w.p = w.p[n:]
	return v
}

// uvarint decodes an unsigned number of at most 32 bits; n is 0 or below when p does not begin with one.
func uvarint(p []byte) (v uint32, n int) {
	for i := 0; i < len(p) && i < 5; i++ {
		b := p[i]
		if i == 4 && b > 0x0f {
			return 0, -1
		}
		v |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
