package zkstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// openACL gives everybody every right, as Kafka does unless zookeeper.set.acl is on.
func openACL() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// suspectBytes of request that lose the connection maxLosses times are taken as the cause of the losses: a server whose
// jute.maxbuffer is lower than ours cuts the connection without an answer.
const (
	suspectBytes = 64 << 10
	maxLosses    = 3
)

// reply is the result of one call of the library.
type reply[T any] struct {
	v   T
	err error
}

// once calls the library one time. The call cannot be taken back: when ctx or the session ends first, it goes on, and
// its result is dropped.
func once[T any](ctx context.Context, s *Session, f func(*zk.Conn) (T, error)) (T, error) {
	var zero T
	if s.ctx.Err() != nil {
		return zero, ErrSessionExpired
	}
	if ctx.Err() != nil {
		return zero, context.Cause(ctx)
	}
	ch := make(chan reply[T], 1)
	s.calls.Go("zk-call", func(context.Context) error {
		begin := time.Now()
		v, err := f(s.conn)
		if err == nil {
			s.c.met.observe(begin)
		}
		ch <- reply[T]{v, err}
		return nil
	})
	select {
	case r := <-ch:
		if r.err != nil && s.ctx.Err() != nil {
			return zero, ErrSessionExpired
		}
		return r.v, translate(r.err)
	case <-s.ctx.Done():
		return zero, ErrSessionExpired
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// retry calls the library until the connection holds. After a loss the operation may have been done: resolve is asked
// when the repetition fails, and returns ok if the failure is only the echo of the first attempt. resolve may be nil.
func retry[T any](ctx context.Context, s *Session, size int, f func(*zk.Conn) (T, error), resolve func(ctx context.Context, failed error) (T, bool, error)) (T, error) {
	var zero T
	if size > s.c.cfg.MaxRequestBytes {
		return zero, fmt.Errorf("%d bytes, limit %d: %w", size, s.c.cfg.MaxRequestBytes, ErrTooLarge)
	}
	for losses := 0; ; {
		v, err := once(ctx, s, f)
		switch {
		case errors.Is(err, ErrConnectionLoss):
			if losses++; losses >= maxLosses && size >= suspectBytes {
				return zero, fmt.Errorf("%d bytes, lost the connection %d times: %w", size, losses, ErrTooLarge)
			}
			pause(ctx, min(time.Duration(losses)*5*time.Millisecond, 200*time.Millisecond))
		case err == nil || losses == 0 || resolve == nil || final(err):
			return v, err
		default:
			back, done, rerr := resolve(ctx, err)
			if rerr != nil {
				return zero, rerr
			}
			if done {
				return back, nil
			}
			return v, err
		}
	}
}

// final errors do not depend on the state of the tree.
func final(err error) bool {
	return errors.Is(err, ErrSessionExpired) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// translate turns the library's errors into those of this package.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return ErrNoNode
	case errors.Is(err, zk.ErrNodeExists):
		return ErrNodeExists
	case errors.Is(err, zk.ErrBadVersion):
		return ErrBadVersion
	case errors.Is(err, zk.ErrNotEmpty):
		return ErrNotEmpty
	case errors.Is(err, zk.ErrNoChildrenForEphemerals):
		return ErrNoChildrenForEphemerals
	case errors.Is(err, zk.ErrNoAuth):
		return ErrNoAuth
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved):
		return ErrSessionExpired
	case errors.Is(err, zk.ErrShortBuffer):
		return ErrTooLarge
	case isLoss(err):
		return fmt.Errorf("%w: %w", ErrConnectionLoss, err)
	default:
		return fmt.Errorf("zookeeper: %w", err)
	}
}

// isLoss is true for errors of the connection rather than of the operation.
func isLoss(err error) bool {
	var ne net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &ne)
}

// wrap adds the operation and the path.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}
