package zkserver

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"jackdaw/zkstore/zktree"
)

const (
	// handshakeTimeout is how long a connection may be silent before it has a session.
	handshakeTimeout = 10 * time.Second
	// writeTimeout is how long a client may not read.
	writeTimeout = 30 * time.Second
	// maxQueued answers stop the reading of requests; ZooKeeper: globalOutstandingLimit.
	maxQueued = 1000
	// maxQueuedBytes of answers and events end the connection of a client that does not read them.
	maxQueuedBytes = 64 << 20
)

// conn is one connection. ZooKeeper: NIOServerCnxn.
type conn struct {
	s    *Server
	nc   net.Conn
	id   zktree.WatcherID
	addr netip.Addr
	// session is set by the handshake, under Server.mu.
	session zktree.SessionID

	mu struct {
		sync.Mutex
		queue []message
		bytes int
		// ready is the zxid up to which messages may be sent.
		ready int64
		// finished tells that the connection is closed once the queue is empty.
		finished bool
	}
	// wake tells the writer, and room the reader, that the queue has changed.
	wake, room chan struct{}
	closed     chan struct{}
	closeOnce  sync.Once
}

// message is an answer or event that may be sent when gate is durable.
type message struct {
	b    []byte
	gate int64
}

func newConn(s *Server, nc net.Conn, id zktree.WatcherID, addr netip.Addr) *conn {
	return &conn{
		s: s, nc: nc, id: id, addr: addr,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// abort closes the connection at once. It may be called from anywhere, with any lock.
func (c *conn) abort() {
	c.closeOnce.Do(func() {
		close(c.closed)
		_ = c.nc.Close()
	})
}

// signal sends without waiting; one signal stands for many.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// enqueue adds a message for the writer.
func (c *conn) enqueue(b []byte, gate, durable int64) {
	c.mu.Lock()
	c.mu.queue = append(c.mu.queue, message{b, gate})
	c.mu.bytes += len(b)
	c.mu.ready = max(c.mu.ready, durable)
	over := c.mu.bytes > maxQueuedBytes
	c.mu.Unlock()
	if over {
		c.abort()
	}
	if gate <= durable {
		signal(c.wake)
	}
}

// release lets messages up to a zxid go, and reports whether these are all that wait.
func (c *conn) release(durable int64) (all bool) {
	c.mu.Lock()
	c.mu.ready = max(c.mu.ready, durable)
	n := len(c.mu.queue)
	all = n == 0 || c.mu.queue[n-1].gate <= durable
	c.mu.Unlock()
	signal(c.wake)
	return all
}

// finish closes the connection when everything is sent.
func (c *conn) finish() {
	c.mu.Lock()
	c.mu.finished = true
	c.mu.Unlock()
	signal(c.wake)
}

// take moves the messages that may be sent to batch. done tells that none is left and none will come.
func (c *conn) take(batch net.Buffers) (out net.Buffers, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.mu.queue) && c.mu.queue[n].gate <= c.mu.ready {
		batch = append(batch, c.mu.queue[n].b)
		c.mu.bytes -= len(c.mu.queue[n].b)
		c.mu.queue[n].b = nil
		n++
	}
	c.mu.queue = c.mu.queue[n:]
	if len(c.mu.queue) == 0 {
		c.mu.queue = nil
	}
	return batch, c.mu.finished && len(c.mu.queue) == 0
}

// write sends queued messages in order until the connection ends.
func (c *conn) write(ctx context.Context) {
	defer c.abort()
	for {
		select {
		case <-c.wake:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
		batch, done := c.take(nil)
		if len(batch) > 0 {
			c.s.stats.sent.Add(int64(len(batch)))
			_ = c.nc.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := batch.WriteTo(c.nc); err != nil {
				return
			}
			signal(c.room)
		}
		if done {
			return
		}
	}
}

// waitRoom blocks while too many answers wait; false when the connection has ended.
func (c *conn) waitRoom() bool {
	for {
		c.mu.Lock()
		full := len(c.mu.queue) >= maxQueued
		c.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-c.room:
		case <-c.closed:
			return false
		}
	}
}

// read serves the connection until it ends.
func (c *conn) read(ctx context.Context) {
	defer c.s.release(c)
	err := c.serve()
	if err == nil {
		// A last message may still be on its way.
		c.finish()
		select {
		case <-c.closed:
		case <-ctx.Done():
		}
		return
	}
	c.abort()
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && ctx.Err() == nil {
		c.s.lg.Debug("zookeeper connection ended", "addr", c.addr, "err", err)
	}
}

// serve does the handshake and then one request after the other. Nil means that the server ends the connection after
// its last message.
func (c *conn) serve() error {
	_ = c.nc.SetReadDeadline(time.Now().Add(handshakeTimeout))
	var head [4]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return err
	}
	if cmd, ok := fourLetter(head); ok {
		c.enqueue(c.s.answer(cmd), 0, 0)
		return nil
	}
	req, err := c.body(head)
	if err != nil {
		return err
	}
	ok, err := c.s.connect(c, req)
	if err != nil || !ok {
		return err
	}
	_ = c.nc.SetReadDeadline(time.Time{})
	for c.waitRoom() {
		if _, err := io.ReadFull(c.nc, head[:]); err != nil {
			return err
		}
		req, err := c.body(head)
		if err != nil {
			return err
		}
		if c.s.handle(c, req) {
			return nil
		}
	}
	return net.ErrClosed
}

// body reads a message of the length in head.
func (c *conn) body(head [4]byte) ([]byte, error) {
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	if n < 0 || n > c.s.opts.MaxRequestBytes {
		return nil, &lengthError{n: n, most: c.s.opts.MaxRequestBytes}
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.nc, b)
	return b, err
}
