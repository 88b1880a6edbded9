package network

import (
	"context"
	"net"
	"time"

	"jackdaw/protocol"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handler answers requests. Handle runs on the goroutine of the connection's reader and must lead to exactly one call of
// Respond, RespondParts, NoResponse or Close on the request: before it returns or later, from any goroutine.
type Handler interface {
	Handle(r *Request)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(r *Request)

// Handle calls f.
func (f HandlerFunc) Handle(r *Request) { f(r) }

// Request is a request in work. Record bytes in Body alias the frame, which is reused as soon as the request was answered
// AND Handle has returned, or, after Unmute, as soon as Handle has returned.
type Request struct {
	protocol.Header
	// Body is the decoded request, kmsg's type for Key, at Version.
	Body kmsg.Request
	// Size is the size of the frame in bytes.
	Size int
	// Received is when the frame was complete.
	Received time.Time
	// Conn is the connection it came on.
	Conn *Conn
}

// Context ends when the connection closes.
func (r *Request) Context() context.Context { return r.Conn.ctx }

// Respond answers with resp, at the version of the request. resp is encoded before Respond returns.
func (r *Request) Respond(resp kmsg.Response) {}

// RespondParts answers with parts (FetchWriter). done, if not nil, is called exactly once when the parts were sent or dropped
// with the connection; they must stay as they are until then.
func (r *Request) RespondParts(parts []protocol.Part, done func()) {}

// NoResponse ends a request that has no answer: Produce with acks=0.
func (r *Request) NoResponse() {}

// Close closes the connection without an answer; err is logged (nil: not).
func (r *Request) Close(err error) {}

// Unmute lets the connection go on with the next request while this one is in work. Its answer keeps its place. Call it from Handle only.
func (r *Request) Unmute() {}

// Conn is a connection as handlers see it.
type Conn struct {
	ctx context.Context
}

// Listener is the name of the listener the connection came in by.
func (c *Conn) Listener() string { return "" }

// ID names the connection as Kafka does: local address and port, remote address and port, index.
func (c *Conn) ID() string { return "" }

// RemoteAddr is the peer's address; RemoteHost is it as Kafka gives client hosts: "/127.0.0.1".
func (c *Conn) RemoteAddr() net.Addr { return nil }

// RemoteHost is the peer's IP as Kafka writes client hosts: "/127.0.0.1".
func (c *Conn) RemoteHost() string { return "" }

// Principal is who the peer has proven to be: "User:ANONYMOUS" without authentication.
func (c *Conn) Principal() string { return "User:ANONYMOUS" }
