package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"jackdaw/protocol"
)

// errDrained ends a reader because the server stops.
var errDrained = errors.New("server stops")

// serve is the reader of a connection: it reads, decodes and handles one request after the other until the connection ends.
func (c *Conn) serve(context.Context) error {
	defer c.s.gone(c)
	defer c.close()
	defer c.in.release()
	if err := c.secure(); err != nil {
		c.insecure(err)
		return nil
	}
	for {
		if err := c.serveOne(); err != nil {
			_ = c.finishRun() // a connection that is gone is no news
			c.ended(err)
			return nil
		}
	}
}

// serveOne reads one request, and if no other has come that joins it, takes all that were read to the point where the next may be.
func (c *Conn) serveOne() error {
	if c.isDraining() {
		return errDrained
	}
	if err := c.awaitQuota(); err != nil {
		return err
	}
	frame, err := c.in.next()
	if err != nil {
		return err
	}
	// An answer to an earlier request may have muted the connection meanwhile.
	if err := c.awaitQuota(); err != nil {
		return err
	}
	var pass admission
	if c.sasl != nil {
		if pass, err = c.admitRequest(frame); pass == dealtWith || err != nil {
			return err
		}
	}
	r, err := c.decode(frame)
	if err != nil {
		return err
	}
	if pass == proves {
		r.SASL = c.sasl
	}
	r.last = pass == misplaced
	c.enqueue(r)
	c.run = append(c.run, r)
	if c.joins(r) {
		return nil
	}
	if err := c.finishRun(); err != nil {
		return err
	}
	c.in.release()
	if r.last {
		return errRefused
	}
	return nil
}

// Bounds of a run of requests that are handled together.
const (
	maxRun   = 64
	runBytes = 1 << 20
	// runFor is how long the first of a run may wait for the others to be read.
	runFor = 500 * time.Microsecond
)

// joins tells whether the next request is to be handled together with r, which is kept until then: it has come as a whole, and both
// are Produce, which is pipelined. They are appended with fewer writes, and answered with one.
func (c *Conn) joins(r *Request) bool {
	if r.Key != produceKey || r.last || c.mutedUntil.Load() != 0 || len(c.run) == maxRun || r.Received.Sub(c.run[0].Received) > runFor {
		return false
	}
	bytes := 0
	for _, q := range c.run {
		bytes += q.Size
	}
	return bytes < runBytes && c.mayQueue() && c.in.hold(produceKey) // what may cost a system call comes last
}

// mayQueue tells whether another request may be in work.
func (c *Conn) mayQueue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.mu.closed && !c.mu.draining && c.mu.queued < c.s.o.MaxInFlight
}

// finishRun has the requests handled that were read, sends the answers that are ready, and waits until more may be read. It
// comes before anything else that the reader waits for.
func (c *Conn) finishRun() error {
	if len(c.run) > 0 {
		c.handle(c.run)
	}
	err := c.await(func() bool { return c.mayReadLocked(c.run) })
	clear(c.run)
	c.run = c.run[:0]
	c.in.releaseHeld()
	return err
}

// awaitQuota waits until the client may use the broker again.
func (c *Conn) awaitQuota() error {
	if c.mutedUntil.Load() == 0 {
		return nil
	}
	if err := c.finishRun(); err != nil {
		return err
	}
	c.setReserving(true)
	defer c.setReserving(false)
	for {
		d := time.Until(time.Unix(0, c.mutedUntil.Load()))
		if d <= 0 {
			return nil
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-c.wakeReader: // the writer has sent something, or the server stops
			t.Stop()
			if c.isDraining() {
				return errDrained
			}
		case <-c.ctx.Done():
			t.Stop()
			return net.ErrClosed
		}
	}
}

// decode makes a request of a frame. What kmsg will allocate is reserved before it does.
func (c *Conn) decode(frame []byte) (*Request, error) {
	h, body, err := protocol.ParseRequest(frame)
	if err != nil {
		return nil, err
	}
	cost, err := protocol.Check(h, body)
	if err != nil {
		return nil, err
	}
	if cost > provenStep {
		if err := c.in.reserve(int64(len(frame)) + cost); err != nil {
			return nil, err
		}
	}
	req, err := protocol.DecodeChecked(h, body)
	if err != nil {
		return nil, err
	}
	return &Request{Header: h, Body: req, Size: len(frame), Received: time.Now(), Conn: c}, nil
}

func (c *Conn) enqueue(r *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		r.state = dropped
		return
	}
	if c.mu.tail == nil {
		c.mu.head = r
	} else {
		c.mu.tail.next = r
	}
	c.mu.tail = r
	c.mu.queued++
	r.handled = true
}

// handle calls the handler. A panic costs the connection, not the broker: the request that caused it must not be able to
// take all others with it.
func (c *Conn) handle(run []*Request) {
	defer func() {
		if p := recover(); p != nil {
			c.s.o.Logger.Error("request handler panicked", "key", run[0].Key, "version", run[0].Version, "conn", c.id,
				"err", fmt.Errorf("%v", p), "stack", string(debug.Stack()))
			c.close()
		}
		c.mu.Lock()
		for _, r := range run {
			r.handled = false
		}
		c.mu.Unlock()
	}()
	c.s.o.Handler.Handle(run)
}

// mayReadLocked tells whether the next request may be read after those of a run.
func (c *Conn) mayReadLocked(run []*Request) bool {
	for _, r := range run {
		if r.unmuted && c.mu.queued >= c.s.o.MaxInFlight || !r.unmuted && r.state != sent {
			return false
		}
	}
	return true
}

// await sends what is ready until the condition holds. It is called by the reader only.
func (c *Conn) await(condition func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.mu.closed:
			return net.ErrClosed
		case c.mu.head != nil && c.mu.head.state == ready && !c.mu.writing:
			c.flushLocked()
			continue
		case condition():
			return nil
		}
		c.mu.waiting = true
		c.mu.Unlock()
		select {
		case <-c.wakeReader:
		case <-c.ctx.Done():
		}
		c.mu.Lock()
		c.mu.waiting = false
		if c.ctx.Err() != nil {
			return net.ErrClosed
		}
	}
}

// ended logs why the connection ends, after its requests in work have been answered if the peer only stopped sending.
func (c *Conn) ended(err error) {
	var size *sizeError
	var unsupported *protocol.UnsupportedError
	switch {
	case errors.Is(err, errRefused):
	case c.sasl != nil && !c.sasl.Proven() && !c.isDraining() && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		c.unauthenticated(err)
	case errors.As(err, &size):
		c.s.events.log(eventSize, c, err)
	case errors.As(err, &unsupported):
		c.s.events.log(eventUnsupported, c, err)
	case errors.Is(err, protocol.ErrMalformed):
		c.s.events.log(eventMalformed, c, err)
	case errors.Is(err, io.EOF), errors.Is(err, errDrained), errors.Is(err, os.ErrDeadlineExceeded):
		_ = c.await(func() bool { return c.mu.queued == 0 })
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
	default:
		c.s.o.Logger.Debug("connection lost", "conn", c.id, "err", err)
	}
}
