package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/security"
	"jackdaw/security/sasl"
)

// Conn is one connection. Its methods are safe for concurrent use. Kafka: KafkaChannel.
type Conn struct {
	s        *Server
	listener *listener
	nc       net.Conn
	raw      syscall.RawConn // of a plain TCP connection, for sendfile; else nil
	number   int64
	id       string
	ip       netip.Addr
	host     string
	ctx      context.Context // ends with the connection
	cancel   context.CancelFunc

	// activeAt is the time of the last byte in or out, in nanoseconds since 1970.
	activeAt atomic.Int64
	// mutedUntil is when the next request may be handled, in nanoseconds since 1970; 0 before the first throttle.
	mutedUntil atomic.Int64

	principal atomic.Pointer[security.Principal]
	client    atomic.Pointer[Client]
	// sasl is the reader's; nil on a listener without SASL.
	sasl *sasl.Server

	in frameReader
	// run are requests that were read and wait to be handled together. It is the reader's.
	run []*Request
	out sender

	// wakeReader and wakeWriter hold at most one token each.
	wakeReader, wakeWriter chan struct{}

	mu struct {
		sync.Mutex
		// head and tail are the requests that are not yet sent, in order of arrival.
		head, tail *Request
		queued     int
		// waiting: the reader waits for answers and can be woken to send them.
		waiting bool
		// reserving: the reader waits for memory, or for the end of a throttle.
		reserving bool
		// writing: someone is at the socket; only he may send, and he looks for more before he leaves.
		writing bool
		// writer: the writer goroutine has been started.
		writer   bool
		draining bool
		closed   bool
	}
}

// Client is what a client has told about its software (KIP-511).
type Client struct{ Name, Version string }

func newConn(s *Server, l *listener, nc net.Conn, index int64) *Conn {
	c := &Conn{s: s, listener: l, nc: nc, number: index, wakeReader: make(chan struct{}, 1), wakeWriter: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(s.group.Context())
	c.id = nc.LocalAddr().String() + "-" + nc.RemoteAddr().String() + "-" + strconv.FormatInt(index, 10)
	c.ip = addrIP(nc.RemoteAddr())
	c.host = "/" + hostOf(c.ip)
	if tc, ok := nc.(*net.TCPConn); ok {
		if raw, err := tc.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	if l.SASL != nil {
		c.sasl = sasl.NewServer(l.SASL)
	}
	c.in.c, c.out.c = c, c
	c.touch()
	return c
}

// Listener is the name of the listener the connection came in by.
func (c *Conn) Listener() string { return c.listener.Name }

// InterBroker tells whether it came in by the listener brokers use among themselves.
func (c *Conn) InterBroker() bool { return c.listener.InterBroker }

// ID names the connection as Kafka does: local address, remote address, running number.
func (c *Conn) ID() string { return c.id }

// Number counts the connections of the server in the order in which they were accepted.
func (c *Conn) Number() int64 { return c.number }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// RemoteHost is the peer's IP as Kafka writes the hosts of clients: "/127.0.0.1".
func (c *Conn) RemoteHost() string { return c.host }

// Host is the peer's IP as Java writes it, which is what the hosts of ACLs are compared with: "127.0.0.1", "0:0:0:0:0:0:0:1".
func (c *Conn) Host() string { return c.host[1:] }

// Principal is who the peer has proven to be, security.Anonymous without authentication.
func (c *Conn) Principal() security.Principal {
	if p := c.principal.Load(); p != nil {
		return *p
	}
	return security.Anonymous
}

// SetPrincipal is called by authentication, before the first request that is not its own.
func (c *Conn) SetPrincipal(p security.Principal) { c.principal.Store(&p) }

// Client is the client's software, as it said in ApiVersions; zero before that.
func (c *Conn) Client() Client {
	if p := c.client.Load(); p != nil {
		return *p
	}
	return Client{}
}

// SetClient remembers the client's software from a valid ApiVersions request.
func (c *Conn) SetClient(req *kmsg.ApiVersionsRequest) {
	c.client.Store(&Client{Name: req.ClientSoftwareName, Version: req.ClientSoftwareVersion})
}

// hostOf writes an address as Java does, which does not shorten IPv6. Java: InetAddress.getHostAddress.
func hostOf(ip netip.Addr) string {
	if !ip.Is6() {
		return ip.String()
	}
	b := ip.As16()
	g := func(i int) int { return int(b[2*i])<<8 | int(b[2*i+1]) }
	return fmt.Sprintf("%x:%x:%x:%x:%x:%x:%x:%x", g(0), g(1), g(2), g(3), g(4), g(5), g(6), g(7))
}

// touch notes that bytes have moved.
func (c *Conn) touch() { c.activeAt.Store(time.Now().UnixNano()) }

// mute lets no request be handled before a time.
func (c *Conn) mute(until time.Time) {
	for {
		old := c.mutedUntil.Load()
		if old >= until.UnixNano() || c.mutedUntil.CompareAndSwap(old, until.UnixNano()) {
			return
		}
	}
}

// idle tells whether nothing has moved since the given time, although the peer could have moved it: no request is in
// work, or an answer is stuck in the socket.
func (c *Conn) idle(since time.Time) bool {
	if c.activeAt.Load() >= since.UnixNano() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.mu.queued == 0 || c.mu.writing) && !c.mu.reserving
}

// drain ends the connection as soon as its requests in work are answered.
func (c *Conn) drain() {
	c.mu.Lock()
	c.mu.draining = true
	c.signal(c.wakeReader)
	c.mu.Unlock()
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // the reader stops waiting for a frame
}

func (c *Conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.draining
}

// close ends the connection at once. What was answered and not sent is dropped.
func (c *Conn) close() {
	c.mu.Lock()
	if c.mu.closed {
		c.mu.Unlock()
		return
	}
	c.mu.closed = true
	var unsent []answer
	for r := c.mu.head; r != nil; r = r.next {
		if r.state == ready {
			unsent = append(unsent, r.answer)
		}
		r.state, r.answer = dropped, answer{}
	}
	c.mu.head, c.mu.tail, c.mu.queued = nil, nil, 0
	c.mu.Unlock()
	c.cancel()
	_ = c.nc.Close() // nothing is left to be told to the peer
	for _, a := range unsent {
		c.s.release(a)
	}
}

// signal puts a token into one of the wake channels.
func (c *Conn) signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wakeLocked wakes someone who can send.
func (c *Conn) wakeLocked() {
	switch {
	case c.mu.writing: // he looks again before he leaves
	case c.mu.waiting:
		c.signal(c.wakeReader)
	default:
		c.signal(c.wakeWriter)
	}
}
