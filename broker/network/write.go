package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"jackdaw/protocol"
)

const (
	// sendfileMin is the size in bytes from which records are sent from their file. Smaller ranges are cheaper to copy into one write.
	sendfileMin = 16 << 10
	// maxGather bounds the pieces of one gathered write.
	maxGather = 64
	// writeStep is the size in bytes of one write: after each, the connection counts as alive.
	writeStep = 256 << 10
)

// write is the writer goroutine: it sends what becomes ready while the reader is busy or waits for a frame.
func (c *Conn) write(context.Context) error {
	for {
		select {
		case <-c.wakeWriter:
		case <-c.ctx.Done():
			return nil
		}
		c.mu.Lock()
		if !c.mu.writing && !c.mu.closed {
			c.flushLocked()
		}
		c.mu.Unlock()
	}
}

// flushLocked sends all answers whose turn it is. It unlocks while it writes; c.mu.writing keeps others away.
func (c *Conn) flushLocked() {
	c.mu.writing = true
	for c.mu.head != nil && c.mu.head.state == ready {
		first, n := c.takeReadyLocked()
		c.mu.Unlock()
		err := c.out.send(first)
		c.settle(first)
		if err != nil {
			c.close()
		}
		c.mu.Lock()
		c.mu.queued -= n
		if c.mu.closed {
			c.mu.queued = 0
			break
		}
	}
	c.mu.writing = false
	c.signal(c.wakeReader) // it may go on reading now
}

// takeReadyLocked unlinks the ready requests at the head of the queue; they stay counted until they are sent.
func (c *Conn) takeReadyLocked() (first *Request, n int) {
	first = c.mu.head
	last := first
	for n = 1; last.next != nil && last.next.state == ready; n++ {
		last = last.next
	}
	c.mu.head, last.next = last.next, nil
	if c.mu.head == nil {
		c.mu.tail = nil
	}
	return first, n
}

// settle marks a list of requests as sent, measures them and gives their memory back.
func (c *Conn) settle(first *Request) {
	now := time.Now()
	c.mu.Lock()
	for r := first; r != nil; r = r.next {
		r.state = sent
	}
	c.mu.Unlock()
	for r := first; r != nil; {
		a, next := r.answer, r.next
		r.answer, r.next = answer{}, nil
		c.s.release(a)
		c.s.m.observe(r, now)
		r = next
	}
}

// release gives back what an answer holds.
func (s *Server) release(a answer) {
	if a.buf != nil {
		s.bufs.put(a.buf)
	}
	if a.done != nil {
		a.done()
	}
}

// sender writes answers to the socket. Only who holds Conn.mu.writing uses it.
type sender struct {
	c       *Conn
	vec     [][]byte // pieces of the write that is gathered
	bufs    net.Buffers
	scratch *[]byte // copies of small file ranges in vec
	raw     rawSender
}

// send writes the answers of a list of requests.
func (w *sender) send(first *Request) error {
	defer w.reset()
	for r := first; r != nil; r = r.next {
		if r.answer.buf != nil {
			if err := w.add(*r.answer.buf); err != nil {
				return err
			}
		}
		for _, p := range r.answer.parts {
			if err := w.part(p); err != nil {
				return err
			}
		}
	}
	return w.flush(false)
}

func (w *sender) reset() {
	clear(w.vec[:cap(w.vec)])
	w.vec = w.vec[:0]
	if w.scratch != nil {
		w.c.s.frames.put(w.scratch)
		w.scratch = nil
	}
}

// add gathers bytes.
func (w *sender) add(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if len(w.vec) == maxGather {
		if err := w.flush(true); err != nil {
			return err
		}
	}
	w.vec = append(w.vec, p)
	return nil
}

// part gathers or sends one part.
func (w *sender) part(p protocol.Part) error {
	f := p.Range
	switch {
	case f.File == nil:
		return w.add(p.Bytes)
	case f.Len < sendfileMin:
		return w.copySmall(f)
	}
	if err := w.flush(true); err != nil {
		return err
	}
	if fd, ok := f.File.Fd(); ok && w.c.raw != nil && canSendfile {
		return w.raw.sendfile(w.c, fd, f.Pos, f.Len)
	}
	return w.copyLarge(f)
}

// copySmall reads a small range into scratch memory and gathers that.
func (w *sender) copySmall(f protocol.FileRange) error {
	if f.Len == 0 {
		return nil
	}
	if w.scratch != nil && len(*w.scratch)+f.Len > cap(*w.scratch) {
		if err := w.flush(true); err != nil {
			return err
		}
	}
	if w.scratch == nil {
		w.scratch = w.c.s.frames.get(smallFrame)
		*w.scratch = (*w.scratch)[:0]
	}
	at := len(*w.scratch)
	*w.scratch = (*w.scratch)[:at+f.Len]
	p := (*w.scratch)[at:]
	if err := readRange(f.File, p, f.Pos); err != nil {
		return err
	}
	return w.add(p)
}

// copyLarge sends a range through memory, where sendfile is not possible.
func (w *sender) copyLarge(f protocol.FileRange) error {
	buf := w.c.s.frames.get(smallFrame)
	defer w.c.s.frames.put(buf)
	for f.Len > 0 {
		p := (*buf)[:min(f.Len, cap(*buf))]
		if err := readRange(f.File, p, f.Pos); err != nil {
			return err
		}
		if err := w.writeAll(p); err != nil {
			return err
		}
		f.Pos += int64(len(p))
		f.Len -= len(p)
	}
	return nil
}

// flush writes what is gathered. more says that something follows at once.
func (w *sender) flush(more bool) error {
	if len(w.vec) == 0 {
		return nil
	}
	var err error
	switch {
	case more && w.c.raw != nil && canSendfile:
		for _, p := range w.vec {
			if err = w.raw.sendMore(w.c, p); err != nil {
				break
			}
		}
	case len(w.vec) == 1:
		err = w.writeAll(w.vec[0])
	default:
		err = w.writeVec()
	}
	w.vec = w.vec[:0]
	if w.scratch != nil {
		*w.scratch = (*w.scratch)[:0]
	}
	return err
}

// writeAll writes in pieces, so that a slow peer that reads is told from one that does not.
func (w *sender) writeAll(p []byte) error {
	for len(p) > 0 {
		n, err := w.c.nc.Write(p[:min(len(p), writeStep)])
		if n > 0 {
			w.c.touch()
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// writeVec writes many pieces with one system call, if they are small: under TLS as one record where they fit one.
func (w *sender) writeVec() error {
	total := 0
	for _, p := range w.vec {
		total += len(p)
	}
	if total > writeStep {
		for _, p := range w.vec {
			if err := w.writeAll(p); err != nil {
				return err
			}
		}
		return nil
	}
	if w.c.raw == nil {
		return w.writeJoined(total)
	}
	w.bufs = w.vec
	_, err := w.bufs.WriteTo(w.c.nc)
	w.c.touch()
	return err
}

func (w *sender) writeJoined(total int) error {
	buf := w.c.s.frames.get(total)
	defer w.c.s.frames.put(buf)
	p := (*buf)[:0]
	for _, piece := range w.vec {
		p = append(p, piece...)
	}
	return w.writeAll(p)
}

// readRange fills p from a file. An end of the file within is an error: the length was promised to the peer.
func readRange(f io.ReaderAt, p []byte, pos int64) error {
	n, err := f.ReadAt(p, pos)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(p), pos, err)
}
