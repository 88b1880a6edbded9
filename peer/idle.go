package peer

import (
	"context"
	"errors"
	"os"
	"time"
)

// errUnasked is the fault of a peer that sends what nobody asked for.
var errUnasked = errors.New("bytes without a request")

// Idle waits on a connection without a request until ctx ends, and then returns nil: the connection can be used again. Before
// that it returns the error by which the peer ended the connection. That a peer is silent is none.
func (c *Conn) Idle(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	if err := c.idle(ctx); err != nil {
		if c.closed.Load() {
			err = ErrClosed
		}
		c.err = &Error{Addr: c.addr, Op: "idle", Err: err}
		_ = c.nc.Close() // the first error is the one that counts
	}
	return c.err
}

func (c *Conn) idle(ctx context.Context) error {
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	})
	var one [1]byte
	n, err := c.nc.Read(one[:])
	if !stop() {
		<-interrupted // the next Request sets its own deadline
	}
	switch {
	case n > 0:
		return errUnasked
	case ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	default:
		return err
	}
}
