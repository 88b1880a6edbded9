package peer

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/security/sasl"
)

const (
	defaultTimeout          = 30 * time.Second
	defaultMaxResponseBytes = 100 << 20
	// firstRead is the least room for the start of a response: small responses come with one read.
	firstRead = 4 << 10
	// keepBytes bounds the buffer that stays with an idle Conn; a larger one is given back to the collector.
	keepBytes = 16 << 20
)

// ErrClosed is returned by Request after Close.
var ErrClosed = errors.New("connection closed")

// Options say how to reach another broker.
type Options struct {
	// ClientID is sent with each request. Kafka uses the sender's broker id, and broker-N-fetcher-M for fetchers.
	ClientID string
	// TLS gives the configuration of a connection to a host; nil is for a listener without TLS.
	TLS func(host string) *tls.Config
	// Login is who the broker proves to be; nil is for a listener without SASL.
	Login *sasl.Login
	// Timeout bounds the connection set-up and each request; 0 is 30 s.
	Timeout time.Duration
	// ReadBuffer and WriteBuffer are the socket buffers in bytes; 0 leaves what the system has.
	ReadBuffer, WriteBuffer int
	// MaxResponseBytes bounds the size that a peer may announce for a response; 0 is 100 MiB.
	MaxResponseBytes int
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = defaultMaxResponseBytes
	}
	return o
}

// Conn is a connection to another broker with one request in flight. After an error it is of no use any more, and each
// further Request returns that error. Kafka: NetworkClient, InterBrokerSendThread.
type Conn struct {
	addr   string
	o      Options
	nc     net.Conn
	corr   int32
	err    error
	out    []byte
	in     []byte
	closed atomic.Bool
	// loginAgain is when the broker has to prove itself again; zero is never.
	loginAgain time.Time
}

// Dial connects to addr (host:port).
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &Error{Addr: addr, Op: "connect", Err: err}
	}
	if err := setBuffers(nc, o); err != nil {
		return nil, &Error{Addr: addr, Op: "connect", Err: errors.Join(err, nc.Close())}
	}
	if o.TLS != nil {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, &Error{Addr: addr, Op: "connect", Err: errors.Join(err, nc.Close())}
		}
		tc := tls.Client(nc, o.TLS(host))
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, &Error{Addr: addr, Op: "tls handshake", Err: errors.Join(err, nc.Close())}
		}
		nc = tc
	}
	c := newConn(nc, addr, o)
	if o.Login != nil {
		if err := c.login(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// newConn takes over an established connection.
func newConn(nc net.Conn, addr string, o Options) *Conn {
	return &Conn{addr: addr, o: o.withDefaults(), nc: nc}
}

func setBuffers(nc net.Conn, o Options) error {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	if o.ReadBuffer > 0 {
		if err := tc.SetReadBuffer(o.ReadBuffer); err != nil {
			return err
		}
	}
	if o.WriteBuffer > 0 {
		return tc.SetWriteBuffer(o.WriteBuffer)
	}
	return nil
}

// Addr returns the address that the connection was made to.
func (c *Conn) Addr() string { return c.addr }

// Request sends req at the version that is set in it and returns the response. The response, and all it points to, is
// valid until the next Request. An error is an *Error, or the error of ctx when that ended the wait.
func (c *Conn) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if !c.loginAgain.IsZero() && time.Now().After(c.loginAgain) {
		if err := c.login(ctx); err != nil {
			return nil, err
		}
	}
	return c.request(ctx, req)
}

func (c *Conn) request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if c.err != nil {
		return nil, c.err
	}
	resp, err := c.exchange(ctx, req)
	if err != nil {
		c.err = c.failure(ctx, req, err)
		_ = c.nc.Close() // the first error is the one that counts
		return nil, c.err
	}
	return resp, nil
}

func (c *Conn) failure(ctx context.Context, req kmsg.Request, err error) error {
	op := kmsg.NameForKey(req.Key())
	switch {
	case c.closed.Load():
		err = ErrClosed
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return &Error{Addr: c.addr, Op: op, Err: err}
}

func (c *Conn) exchange(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := c.nc.SetDeadline(time.Now().Add(c.o.Timeout)); err != nil {
		return nil, err
	}
	// A ctx that ends makes the read or write return at once. stop may come too late to prevent that: then the next
	// Request sets its own deadline, after this function has returned.
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.nc.SetDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-interrupted
		}
	}()
	c.corr++
	c.out = protocol.AppendRequest(c.out[:0], c.o.ClientID, c.corr, req)
	if _, err := c.nc.Write(c.out); err != nil {
		return nil, err
	}
	frame, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	corr, body, err := protocol.ParseResponse(req.Key(), req.GetVersion(), frame)
	if err != nil {
		return nil, err
	}
	if corr != c.corr {
		return nil, fmt.Errorf("response with correlation id %d to request %d", corr, c.corr)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("response body: %w", err)
	}
	return resp, nil
}

// readFrame reads one response into the buffer of the connection.
func (c *Conn) readFrame() ([]byte, error) {
	if cap(c.in) < firstRead || cap(c.in) > keepBytes {
		c.in = make([]byte, firstRead)
	}
	buf := c.in[:cap(c.in)]
	n, err := io.ReadAtLeast(c.nc, buf, 4)
	if err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(buf)))
	if size < 4 || size > c.o.MaxResponseBytes {
		return nil, fmt.Errorf("response of %d bytes, allowed are 4 to %d", size, c.o.MaxResponseBytes)
	}
	if n > 4+size {
		return nil, fmt.Errorf("%d bytes more than the response has", n-4-size)
	}
	if 4+size > len(buf) {
		grown := make([]byte, max(4+size, min(2*len(buf), keepBytes)))
		copy(grown, buf[:n])
		buf = grown
	}
	c.in = buf
	if _, err := io.ReadFull(c.nc, buf[n:4+size]); err != nil {
		return nil, err
	}
	return buf[4 : 4+size], nil
}

// Close ends the connection, and a Request that waits. It is idempotent and safe from any goroutine.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.nc.Close()
}
