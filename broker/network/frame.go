package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// readBufferSize is the buffer of each connection in bytes: frames that fit cost one system call, and no more memory.
	readBufferSize = 8 << 10
	// provenStep is how many bytes of a larger frame must have come before memory for more of it is taken. Memory grows
	// by growth after that.
	provenStep = smallFrame
	growth     = 4
)

// sizeError is a frame size that is not allowed. Kafka: InvalidReceiveException.
type sizeError struct{ size, limit int }

func (e *sizeError) Error() string {
	switch {
	case e.size>>16 == tlsHandshake:
		return fmt.Sprintf("invalid receive (size = %d): the peer speaks TLS, and this listener does not", e.size)
	case e.size > 0:
		return fmt.Sprintf("invalid receive (size = %d larger than %d)", e.size, e.limit)
	}
	return fmt.Sprintf("invalid receive (size = %d)", e.size)
}

// tlsHandshake are the first two bytes of a TLS connection.
const tlsHandshake = 0x1603

// frameReader reads the frames of one connection. Small ones are not copied out of its buffer, larger ones are read
// straight into a pooled frame, and what comes behind them into the buffer by the same system call.
type frameReader struct {
	c        *Conn
	buf      []byte // nil while nothing is in it and nothing comes
	r, w     int
	big      *[]byte // pooled memory of the last frame, nil if that lies in buf
	reserved int64   // bytes of the budget that it has
	held     heldFrames
	raw      rawReader
}

// heldFrames are frames that are kept while another is read.
type heldFrames struct {
	big      []*[]byte
	reserved int64 // together; no reservation that is larger than the whole budget has others beside it
	inBuffer bool  // one of them lies in the reader's buffer, which must stay as it is
}

// next reads a frame, without its size. It is good until release, or after hold until releaseHeld.
func (f *frameReader) next() ([]byte, error) {
	if err := f.need(4); err != nil {
		return nil, err
	}
	size, limit := int(int32(binary.BigEndian.Uint32(f.buf[f.r:]))), f.limit()
	if size <= 0 || size > limit {
		return nil, &sizeError{size: size, limit: limit}
	}
	if size+4 > readBufferSize {
		return f.large(size)
	}
	if err := f.need(size + 4); err != nil {
		return nil, err
	}
	if err := f.reserve(int64(size)); err != nil {
		return nil, err
	}
	p := f.buf[f.r+4 : f.r+4+size : f.r+4+size]
	f.r += size + 4
	return p, nil
}

// limit is the size of the largest frame that may come now.
func (f *frameReader) limit() int {
	most := f.c.s.o.MaxRequestBytes
	if f.c.sasl != nil {
		if n, ok := f.c.sasl.MaxReceive(); ok {
			return min(most, n)
		}
	}
	return most
}

// produceKey is the key of the one API that is pipelined.
const produceKey = 0

// comes tells whether the next frame has come as a whole, to the buffer or at least to the socket, and is a request of an API.
func (f *frameReader) comes(key int16) bool {
	have := f.buf[f.r:f.w]
	if len(have) < 6 {
		return false
	}
	size := int32(binary.BigEndian.Uint32(have))
	if size < 2 || int16(binary.BigEndian.Uint16(have[4:])) != key {
		return false
	}
	missing := 4 + int64(size) - int64(len(have))
	return missing <= 0 || int64(f.raw.waiting()) >= missing
}

// hold keeps the last frame while the next is read, if that has come as a whole, is a request of an API, and can be read without a
// wait and without moving what is in the buffer.
func (f *frameReader) hold(key int16) bool {
	if !f.comes(key) {
		return false
	}
	size := int(binary.BigEndian.Uint32(f.buf[f.r:]))
	inBuffer := f.held.inBuffer || f.big == nil
	switch {
	case size > f.limit():
		return false
	case size+4 > readBufferSize && inBuffer, size+4 <= readBufferSize && f.w-f.r < size+4:
		return false
	}
	if b := f.c.s.o.Budget; b != nil && !b.TryReserve(int64(size)) {
		return false
	}
	if f.big != nil {
		f.held.big = append(f.held.big, f.big)
	}
	f.held.inBuffer = inBuffer
	f.held.reserved += f.reserved
	f.big, f.reserved = nil, 0
	if f.c.s.o.Budget != nil {
		f.reserved = int64(size)
	}
	return true
}

// releaseHeld gives back what held frames have taken.
func (f *frameReader) releaseHeld() {
	for i, b := range f.held.big {
		f.c.s.frames.put(b)
		f.held.big[i] = nil
	}
	if f.held.reserved > 0 {
		f.c.s.o.Budget.Release(f.held.reserved)
	}
	f.held = heldFrames{big: f.held.big[:0]}
}

// need reads until n bytes are in the buffer; n must fit.
func (f *frameReader) need(n int) error {
	if f.r == f.w {
		f.r, f.w = 0, 0
	}
	if f.r+n > readBufferSize {
		f.w = copy(f.buf, f.buf[f.r:f.w])
		f.r = 0
	}
	for f.w-f.r < n {
		if _, err := f.read(nil, true); err != nil {
			return f.partial(err)
		}
	}
	return nil
}

// read reads what has come into big and, if ahead, what follows behind what is in the buffer. It waits until something has
// come, and returns how much of big is filled.
func (f *frameReader) read(big []byte, ahead bool) (n int, err error) {
	switch {
	case f.c.raw != nil && canReadv:
		n, err = f.raw.read(f, big, ahead)
	case len(big) > 0:
		n, err = f.c.nc.Read(big)
	default:
		f.takeBuffer()
		n, err = f.c.nc.Read(f.buf[f.w:])
	}
	if n == 0 {
		return 0, err
	}
	f.c.touch()
	f.w += max(n-len(big), 0)
	return min(n, len(big)), nil // an error comes again
}

// takeBuffer makes sure that there is one.
func (f *frameReader) takeBuffer() {
	if f.buf == nil {
		f.buf = f.c.s.reads.get()
	}
}

// lendBuffer gives it away if nothing is in it.
func (f *frameReader) lendBuffer() {
	if f.buf != nil && f.r == f.w {
		f.c.s.reads.put(f.buf)
		f.buf, f.r, f.w = nil, 0, 0
	}
}

// partial tells an end within a frame from one between frames.
func (f *frameReader) partial(err error) error {
	if errors.Is(err, io.EOF) && f.w > f.r {
		return io.ErrUnexpectedEOF
	}
	return err
}

// large reads a frame that does not fit the buffer. What has come already is copied, the rest is read in place.
func (f *frameReader) large(size int) ([]byte, error) {
	if err := f.reserve(int64(min(size, provenStep))); err != nil {
		return nil, err
	}
	f.big = f.c.s.frames.get(min(size, provenStep))
	have := copy((*f.big)[:min(size, cap(*f.big))], f.buf[f.r+4:f.w])
	f.r, f.w = 0, 0
	for {
		step := min(size, cap(*f.big))
		for have < step {
			m, err := f.read((*f.big)[have:step], step == size)
			have += m
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return nil, err
			}
		}
		if have == size {
			return (*f.big)[:size:size], nil
		}
		if err := f.grow(have, size); err != nil {
			return nil, err
		}
	}
}

// grow takes more memory for a frame of which have bytes have come.
func (f *frameReader) grow(have, size int) error {
	if err := f.reserve(int64(size)); err != nil {
		return err
	}
	next := f.c.s.frames.get(min(size, have*growth))
	copy((*next)[:have], (*f.big)[:have])
	f.c.s.frames.put(f.big)
	f.big = next
	return nil
}

// reserve makes the reservation n bytes, if it is less. It gives back the old one before it waits for the new: otherwise
// connections that all wait for more could keep each other waiting for ever.
func (f *frameReader) reserve(n int64) error {
	b := f.c.s.o.Budget
	if b == nil || n <= f.reserved {
		return nil
	}
	if f.reserved > 0 {
		b.Release(f.reserved)
		f.reserved = 0
	}
	if !b.TryReserve(n) {
		if err := f.c.finishRun(); err != nil {
			return err
		}
		f.c.setReserving(true)
		err := b.Reserve(f.c.ctx, n)
		f.c.setReserving(false)
		if err != nil {
			return err
		}
	}
	f.reserved = n
	return nil
}

// release gives back what the last frame has taken.
func (f *frameReader) release() {
	if f.big != nil {
		f.c.s.frames.put(f.big)
		f.big = nil
	}
	if f.reserved > 0 {
		f.c.s.o.Budget.Release(f.reserved)
		f.reserved = 0
	}
}

func (c *Conn) setReserving(on bool) {
	c.mu.Lock()
	c.mu.reserving = on
	c.mu.Unlock()
}
