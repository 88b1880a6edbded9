package group

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// The primitives of Kafka's messages: keys are not flexible, values are (KIP-482). kmsg has no types for these records.

func appendInt16(b []byte, v int16) []byte   { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte   { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendUvarint(b []byte, v int) []byte   { return binary.AppendUvarint(b, uint64(v)) }
func appendString(b []byte, s string) []byte { return append(appendInt16(b, int16(len(s))), s...) }

// appendLen begins a compact array.
func appendLen(b []byte, n int) []byte { return appendUvarint(b, n+1) }

func appendCompact(b []byte, s string) []byte { return append(appendUvarint(b, len(s)+1), s...) }

func appendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return appendCompact(b, *s)
}

func appendCompacts(b []byte, l []string) []byte {
	b = appendLen(b, len(l))
	for _, s := range l {
		b = appendCompact(b, s)
	}
	return b
}

// appendNoTags ends a struct without tagged fields.
func appendNoTags(b []byte) []byte { return append(b, 0) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

var errShort = errors.New("record is cut off or malformed")

// reader reads primitives. After the first thing that does not fit, bad is set and all is zero.
type reader struct {
	p   []byte
	bad bool
}

// take returns the next n bytes.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.p) {
		r.bad, r.p = true, nil
		return nil
	}
	out := r.p[:n]
	r.p = r.p[n:]
	return out
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.p)
	if n <= 0 || v > 1<<31-1 {
		r.bad, r.p = true, nil
		return 0
	}
	r.take(n)
	return int(v)
}

func (r *reader) topicID() (id metadata.TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

// string reads a string of a key.
func (r *reader) string() string { return string(r.take(int(r.int16()))) }

// len reads the length of a compact array, each element of which takes at least a byte.
func (r *reader) len() int {
	n := r.uvarint() - 1
	if n > len(r.p) {
		r.bad, r.p = true, nil
		return 0
	}
	return max(0, n)
}

func (r *reader) compact() string { return string(r.take(max(0, r.uvarint()-1))) }

func (r *reader) nullable() *string {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	s := string(r.take(n - 1))
	return &s
}

func (r *reader) compacts() []string {
	var out []string
	for range r.len() {
		out = append(out, r.compact())
	}
	return out
}

// tags reads tagged fields and hands each to f; nil skips all.
func (r *reader) tags(f func(tag int, p []byte)) {
	for range r.uvarint() {
		if r.bad {
			return
		}
		tag := r.uvarint()
		if p := r.take(r.uvarint()); f != nil && !r.bad {
			f(tag, p)
		}
	}
}

func (r *reader) partitions() assignor.Partitions {
	out := assignor.Partitions{}
	for range r.len() {
		t := r.topicID()
		for range r.len() {
			out[t] = append(out[t], r.int32())
		}
		r.tags(nil)
	}
	for t := range out {
		slices.Sort(out[t])
	}
	return out
}
