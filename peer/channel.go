package peer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// retryBackoff is the pause before another attempt. Kafka: NodeToControllerRequestThread polls with 100 ms,
// AlterPartitionManager retries after 50 ms.
const retryBackoff = 50 * time.Millisecond

// lookInterval is how often a request that waits looks whether another broker has become controller. A controller that is paused
// or cut off does not answer, and its connection may stay open for long.
const lookInterval = 100 * time.Millisecond

// ChannelOptions say how a ControllerChannel finds the controller.
type ChannelOptions struct {
	Options
	// Lookup returns the address of the active controller; false while none is known. It must not block.
	Lookup func() (addr string, ok bool)
	// Backoff is the pause after a failure; 0 is 50 ms.
	Backoff time.Duration
	// Dial makes the connection; nil is Dial of this package.
	Dial func(ctx context.Context, addr string, o Options) (*Conn, error)
}

// ControllerChannel carries requests to the active controller, one in flight, and asks again when the controller moved, was
// not reached, or did not answer. Its methods are safe for concurrent use; requests wait for each other.
// Kafka: NodeToControllerChannelManager.
type ControllerChannel struct {
	o ChannelOptions
	// turn holds a token while nobody uses conn.
	turn chan struct{}
	// conn belongs to the holder of the token.
	conn *Conn

	mu struct {
		sync.Mutex
		closed bool
		// stops end the requests under way.
		stops map[*request]struct{}
	}
}

// request is a Request under way.
type request struct{ stop context.CancelCauseFunc }

// NewControllerChannel allocates a channel; it connects at the first request.
func NewControllerChannel(o ChannelOptions) *ControllerChannel {
	o.Options = o.Options.withDefaults()
	if o.Backoff <= 0 {
		o.Backoff = retryBackoff
	}
	if o.Dial == nil {
		o.Dial = Dial
	}
	c := &ControllerChannel{o: o, turn: make(chan struct{}, 1)}
	c.mu.stops = map[*request]struct{}{}
	c.turn <- struct{}{}
	return c
}

// Request asks the active controller and returns its answer. It goes on until a broker answers that does not refuse with
// NOT_CONTROLLER, or ctx ends, or the channel is closed. A request whose answer was lost is sent again, so that it may be
// executed twice. The response belongs to the caller.
func (c *ControllerChannel) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &request{stop: stop}
	if !c.enter(r) {
		return nil, ErrClosed
	}
	defer c.leave(r)
	select {
	case <-c.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	for {
		resp, err := c.try(ctx, req)
		if err == nil && !notController(resp) {
			return resp, nil
		}
		c.disconnect()
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *ControllerChannel) enter(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return false
	}
	c.mu.stops[r] = struct{}{}
	return true
}

func (c *ControllerChannel) leave(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.stops, r)
}

// errNoController says that no controller is known.
var errNoController = errors.New("no controller is known")

// try makes one attempt on the present connection, or on a new one when the controller has another address.
func (c *ControllerChannel) try(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	addr, ok := c.o.Lookup()
	if !ok {
		return nil, errNoController
	}
	if c.conn != nil && c.conn.Addr() != addr {
		c.disconnect()
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	w := c.watch(addr, leave)
	defer w.stop()
	if c.conn == nil {
		conn, err := c.o.Dial(ctx, addr, c.o.Options)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	return c.conn.Request(ctx, req)
}

// errMoved ends a request to a broker that is not the controller any more.
var errMoved = errors.New("another broker is controller")

// watcher ends a request when the controller moves.
type watcher struct {
	mu struct {
		sync.Mutex
		timer *time.Timer
		done  bool
	}
}

func (c *ControllerChannel) watch(addr string, leave context.CancelCauseFunc) *watcher {
	w := &watcher{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.timer = time.AfterFunc(lookInterval, func() {
		now, ok := c.o.Lookup()
		if ok && now != addr {
			leave(errMoved)
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.mu.done {
			w.mu.timer.Reset(lookInterval)
		}
	})
	return w
}

func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.done = true
	w.mu.timer.Stop()
}

func (c *ControllerChannel) disconnect() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is in flight on it
		c.conn = nil
	}
}

// pause waits before the next attempt.
func (c *ControllerChannel) pause(ctx context.Context) error {
	t := time.NewTimer(c.o.Backoff)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notController reports whether the answer says that the broker asked is not the controller.
func notController(resp kmsg.Response) bool {
	var code int16
	switch r := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		code = r.ErrorCode
	case *kmsg.AllocateProducerIDsResponse:
		code = r.ErrorCode
	case *kmsg.ControlledShutdownResponse:
		code = r.ErrorCode
	}
	return code == kerr.NotController.Code
}

// Close ends the channel and the requests that wait for it. It is idempotent.
func (c *ControllerChannel) Close() error {
	c.mu.Lock()
	c.mu.closed = true
	for r := range c.mu.stops {
		r.stop(ErrClosed)
	}
	c.mu.Unlock()
	// The requests give up the turn at once; then the connection is idle.
	<-c.turn
	c.disconnect()
	c.turn <- struct{}{}
	return nil
}
