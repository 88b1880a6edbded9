package record

import (
	"errors"
	"fmt"
	"io"
)

var (
	errRunOut = errors.New("records end before their count is reached")
	errVarint = errors.New("variable-length number is too long")
)

// cursor reads record bytes: from memory, or, for compressed batches, from a stream through a small buffer. Errors
// stick: after the first, all reads give zero, and err says why.
type cursor struct {
	buf   []byte
	pos   int
	src   io.Reader // nil: buf is all there is
	base  int64     // uncompressed bytes before buf
	limit int64     // uncompressed bytes allowed
	err   error
}

// offset is the number of uncompressed bytes read so far.
func (c *cursor) offset() int64 { return c.base + int64(c.pos) }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.pos = len(c.buf)
	c.src = nil
}

// fill makes at least one byte readable. The buffer must be spent.
func (c *cursor) fill() bool {
	if c.src == nil {
		c.fail(errRunOut)
		return false
	}
	c.base += int64(len(c.buf))
	c.pos = 0
	c.buf = c.buf[:cap(c.buf)]
	for range 100 {
		n, err := c.src.Read(c.buf)
		if n > 0 {
			c.buf = c.buf[:n]
			if c.base+int64(n) > c.limit {
				c.fail(fmt.Errorf("records unfold to more than %d bytes", c.limit))
				return false
			}
			return true
		}
		if err != nil {
			c.buf = c.buf[:0]
			if errors.Is(err, io.EOF) {
				err = errRunOut
			}
			c.fail(err)
			return false
		}
	}
	c.buf = c.buf[:0]
	c.fail(io.ErrNoProgress)
	return false
}

// atEnd tells whether nothing follows.
func (c *cursor) atEnd() bool {
	if c.err != nil {
		return false
	}
	if c.pos < len(c.buf) {
		return false
	}
	if c.src == nil {
		return true
	}
	if c.fill() {
		return false
	}
	if errors.Is(c.err, errRunOut) {
		c.err = nil
		return true
	}
	return false
}

func (c *cursor) byte() byte {
	if c.pos == len(c.buf) && !c.fill() {
		return 0
	}
	b := c.buf[c.pos]
	c.pos++
	return b
}

// signed32 undoes the zigzag, which makes small numbers of both signs short.
func signed32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }

// signed64 is signed32 for 64 bits.
func signed64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// varint reads a zigzag number of at most 32 bits.
func (c *cursor) varint() int32 {
	if p := c.buf[c.pos:]; len(p) >= 2 { // nearly all are of one or two bytes
		u := uint32(p[0])
		if u < 0x80 {
			c.pos++
			return signed32(u)
		}
		if p[1] < 0x80 {
			c.pos += 2
			u = u&0x7f | uint32(p[1])<<7
			return signed32(u)
		}
	}
	return c.longVarint()
}

// longVarint is varint for numbers of any size, and at the end of the buffer.
func (c *cursor) longVarint() int32 {
	var u uint32
	for shift := uint(0); shift < 35; shift += 7 {
		b := c.byte()
		u |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return signed32(u)
		}
	}
	c.fail(errVarint)
	return 0
}

// varlong reads a zigzag number of at most 64 bits.
func (c *cursor) varlong() int64 {
	if p := c.buf[c.pos:]; len(p) > 0 && p[0] < 0x80 {
		c.pos++
		return signed64(uint64(p[0]))
	}
	var u uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b := c.byte()
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return signed64(u)
		}
	}
	c.fail(errVarint)
	return 0
}

// skip passes over n bytes.
func (c *cursor) skip(n int64) {
	for {
		have := int64(len(c.buf) - c.pos)
		if n <= have {
			c.pos += int(n)
			return
		}
		n -= have
		c.pos = len(c.buf)
		if !c.fill() {
			return
		}
	}
}

// bytes reads n bytes: aliasing the source if that is memory, else appended to *scratch, which grows only with what is
// really there.
func (c *cursor) bytes(n int64, scratch *[]byte) []byte {
	if have := int64(len(c.buf) - c.pos); n <= have && c.src == nil {
		c.pos += int(n)
		return c.buf[c.pos-int(n) : c.pos : c.pos]
	}
	start := len(*scratch)
	for n > 0 {
		if c.pos == len(c.buf) && !c.fill() {
			return nil
		}
		take := min(n, int64(len(c.buf)-c.pos))
		*scratch = append(*scratch, c.buf[c.pos:c.pos+int(take)]...)
		c.pos += int(take)
		n -= take
	}
	end := len(*scratch)
	return (*scratch)[start:end:end]
}
