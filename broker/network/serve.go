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
			c.ended(err)
			return nil
		}
	}
}

// serveOne takes one request from the socket to the point where the next may be read.
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
		_ = c.flush() // a connection that is gone is no news
		return err
	}
	if pass == proves {
		r.SASL = c.sasl
	}
	r.last = pass == misplaced
	c.enqueue(r)
	c.handle(r)
	if !c.gathers(r) {
		if err := c.await(func() bool { return c.mayReadLocked(r) }); err != nil {
			return err
		}
	}
	c.in.release()
	if r.last {
		return errRefused
	}
	return nil
}

// gatherFor bounds how long an answer waits for those of requests that came with it.
const gatherFor = 500 * time.Microsecond

// gathers tells whether the answer to r can wait for the next one, so that both go out in one write: the next request has
// come as a whole, and both are Produce, which is pipelined.
func (c *Conn) gathers(r *Request) bool {
	return c.mutedUntil.Load() == 0 && c.mayGather(r) && c.in.comes(produceKey) // what may cost a system call comes last
}

// mayGather tells whether the answer to r can wait at all.
func (c *Conn) mayGather(r *Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.unmuted && !c.mu.closed && !c.mu.draining && c.mu.queued < c.s.o.MaxInFlight &&
		c.mu.head != nil && r.Received.Sub(c.mu.head.Received) < gatherFor
}

// flush sends the answers that are ready, before the reader waits for something else or gives up.
func (c *Conn) flush() error { return c.await(func() bool { return true }) }

// awaitQuota waits until the client may use the broker again.
func (c *Conn) awaitQuota() error {
	if c.mutedUntil.Load() == 0 {
		return nil
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
	c.mu.current = r
}

// handle calls the handler. A panic costs the connection, not the broker: the request that caused it must not be able to
// take all others with it.
func (c *Conn) handle(r *Request) {
	defer func() {
		if p := recover(); p != nil {
			c.s.o.Logger.Error("request handler panicked", "key", r.Key, "version", r.Version, "conn", c.id,
				"err", fmt.Errorf("%v", p), "stack", string(debug.Stack()))
			c.close()
		}
		c.mu.Lock()
		c.mu.current = nil
		c.mu.Unlock()
	}()
	c.s.o.Handler.Handle(r)
}

// mayReadLocked tells whether the next request may be read after r.
func (c *Conn) mayReadLocked(r *Request) bool {
	if r.unmuted {
		return c.mu.queued < c.s.o.MaxInFlight
	}
	return r.state == sent
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
