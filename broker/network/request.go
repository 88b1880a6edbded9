package network

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/assert"
	"jackdaw/protocol"
	"jackdaw/security/sasl"
)

// Handler answers requests. Handle gets one, or several Produce requests that have come together, in order. It runs on the goroutine of
// the connection's reader and must lead to exactly one call of Respond, RespondParts, NoResponse or Close on each request: before it
// returns or later, from any goroutine. The slice is good until it returns.
type Handler interface {
	Handle(run []*Request)
}

// HandlerFunc makes a function that takes one request at a time a Handler.
type HandlerFunc func(r *Request)

// Handle calls f for each request.
func (f HandlerFunc) Handle(run []*Request) {
	for _, r := range run {
		f(r)
	}
}

// Request is a request in work. Record bytes in Body alias the frame, which is reused as soon as the request was answered
// AND Handle has returned, or, after Unmute, as soon as Handle has returned. Kafka: RequestChannel.Request.
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
	// SASL is not nil for SaslHandshake and SaslAuthenticate where they belong.
	SASL *sasl.Server

	// throttle belongs to who answers.
	throttle time.Duration
	// last: the connection is closed after the answer.
	last bool

	// The rest is guarded by Conn.mu.

	state   requestState
	unmuted bool
	handled bool // Handle has not returned yet: then the reader sends what is ready
	answer  answer
	next    *Request // in the order of arrival
}

type requestState uint8

const (
	inWork  requestState = iota
	ready                // answered; what there is to send waits for its turn
	sent                 // written, or there was nothing to write
	dropped              // the connection was closed first
)

// answer is what is sent for a request: buf, or parts, or nothing.
type answer struct {
	buf   *[]byte // from the server's pool, and returned to it
	parts []protocol.Part
	done  func()
}

// Context ends when the connection closes.
func (r *Request) Context() context.Context { return r.Conn.ctx }

// Throttle holds the client up because it uses more than its quota: the answer is sent at once, but no further request is
// handled for d. It comes before the answer, which has to say so. The longest of several counts. Kafka: KIP-219.
func (r *Request) Throttle(d time.Duration) {
	if d <= 0 {
		return
	}
	r.throttle = max(r.throttle, d)
	r.Conn.mute(time.Now().Add(d))
}

// Respond answers with resp, at the version of the request. resp is encoded before Respond returns.
func (r *Request) Respond(resp kmsg.Response) {
	if f := r.Conn.s.o.Throttle; f != nil {
		r.Throttle(f(r))
	}
	if t, ok := resp.(kmsg.SetThrottleResponse); ok && r.throttle > 0 {
		t.SetThrottle(int32(r.throttle.Milliseconds()))
	}
	buf := r.Conn.s.bufs.get()
	*buf = protocol.AppendResponse((*buf)[:0], r.Header, resp)
	r.finish(answer{buf: buf})
}

// RespondParts answers with parts, as a protocol.FetchWriter makes them: they are the whole response, size included.
// They must stay as they are until done, if it is not nil, is called: exactly once, when they were sent or dropped with the connection.
func (r *Request) RespondParts(parts []protocol.Part, done func()) {
	r.finish(answer{parts: parts, done: done})
}

// NoResponse ends a request that has no answer: Produce with acks=0.
func (r *Request) NoResponse() { r.finish(answer{}) }

// Close closes the connection without an answer to this request. err says why, for the log; nil is not logged.
func (r *Request) Close(err error) {
	if err != nil {
		r.Conn.s.events.log(eventClosed, r.Conn, err)
	}
	r.Conn.close()
	r.finish(answer{})
}

// Unmute lets the connection go on with the next request while this one is in work, up to Options.MaxInFlight. Its answer
// keeps its place in the order. It may be called from Handle only.
func (r *Request) Unmute() {
	c := r.Conn
	c.mu.Lock()
	first := !c.mu.writer
	r.unmuted, c.mu.writer = true, true
	c.mu.Unlock()
	if first {
		c.s.group.Go("network-writer", c.write)
	}
}

// finish hands in the answer, and wakes who has to send it.
func (r *Request) finish(a answer) {
	c := r.Conn
	c.mu.Lock()
	again := r.state == ready || r.state == sent
	late := r.state == dropped
	if !again && !late {
		r.state, r.answer = ready, a
		if c.mu.head.state == ready && !r.handled {
			c.wakeLocked()
		}
	}
	c.mu.Unlock()
	assert.That(!again, "a request is answered once", "key", r.Key, "correlation", r.CorrelationID)
	if again || late {
		c.s.release(a)
	}
}
