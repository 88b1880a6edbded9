package zkserver

import (
	"encoding/binary"
	"errors"

	"jackdaw/zkstore/zktree"
)

// errMalformed tells that a request is shorter than its fields, or longer.
var errMalformed = errors.New("malformed request")

// decoder reads jute, ZooKeeper's encoding: big-endian numbers, lengths of four bytes, -1 for null. After the first
// value that is not there, all are zero and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int32() int32 {
	if p := d.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if p := d.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (d *decoder) bool() bool {
	p := d.take(1)
	return p != nil && p[0] != 0
}

// bytes returns a copy, nil for null.
func (d *decoder) bytes() []byte {
	n := d.int32()
	if n == -1 {
		return nil
	}
	p := d.take(int(n))
	if d.bad {
		return nil
	}
	return append(make([]byte, 0, len(p)), p...)
}

// string returns "" for null.
func (d *decoder) string() string {
	n := d.int32()
	if n == -1 {
		return ""
	}
	return string(d.take(int(n)))
}

// count returns the length of a vector whose elements have at least least bytes; 0 for null.
func (d *decoder) count(least int) int {
	n := d.int32()
	if n == -1 {
		return 0
	}
	if n < 0 || int(n) > len(d.b)/least {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	out := make([]string, 0, d.count(4))
	for range cap(out) {
		out = append(out, d.string())
	}
	return out
}

func (d *decoder) acl() []zktree.ACL {
	out := make([]zktree.ACL, 0, d.count(12))
	for range cap(out) {
		out = append(out, zktree.ACL{Perms: zktree.Perm(d.int32()), Scheme: d.string(), ID: d.string()})
	}
	return out
}

// encoder appends jute.
type encoder struct{ b []byte }

func (e *encoder) int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// bytes writes nil as null.
func (e *encoder) bytes(v []byte) {
	if v == nil {
		e.int32(-1)
		return
	}
	e.int32(int32(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) string(v string) {
	e.int32(int32(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) strings(v []string) {
	e.int32(int32(len(v)))
	for _, s := range v {
		e.string(s)
	}
}

func (e *encoder) acl(v []zktree.ACL) {
	e.int32(int32(len(v)))
	for _, a := range v {
		e.int32(int32(a.Perms))
		e.string(a.Scheme)
		e.string(a.ID)
	}
}

func (e *encoder) stat(s zktree.Stat) {
	e.int64(s.CZxid)
	e.int64(s.MZxid)
	e.int64(s.CTimeMs)
	e.int64(s.MTimeMs)
	e.int32(s.Version)
	e.int32(s.CVersion)
	e.int32(s.AVersion)
	e.int64(int64(s.EphemeralOwner))
	e.int32(s.DataLength)
	e.int32(s.NumChildren)
	e.int64(s.PZxid)
}

// frame starts a message: room for its length, to be set by finish.
func frame() *encoder { return &encoder{b: make([]byte, 4, 128)} }

// finish sets the length of a message that frame started.
func (e *encoder) finish() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}
