package controller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/peer"
)

// looks is how many connections in a row must be refused before a broker is taken for dead. The second look is for a listener
// that was about to be opened again, or an answer that was not meant.
const looks = 2

// line is a connection to one life of one broker. It gathers the evidence that the process at its other end is gone: a
// connection over which the broker has answered ended, and then nobody listened at the address, again and again. A broker that
// is silent, or cannot be reached in another way, may live. So may one that never answered: its address may be wrong.
type line struct {
	dial func(ctx context.Context) (*peer.Conn, error)
	// conn is nil while there is no connection.
	conn *peer.Conn
	// proven says that the broker has answered once; ended that it then ended a connection, and that none was made since.
	// refused counts the refusals in a row since.
	proven, ended bool
	refused       int
}

// dead reports whether the evidence is complete.
func (l *line) dead() bool { return l.ended && l.refused >= looks }

// connect makes a connection if there is none.
func (l *line) connect(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	conn, err := l.dial(ctx)
	switch {
	case err == nil:
		l.conn, l.ended, l.refused = conn, false, 0
	case peer.IsRefused(err):
		l.refused++
	default:
		l.refused = 0
	}
	return err
}

// request sends req, on a new connection if there is none, and returns the answer.
func (l *line) request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	resp, err := l.conn.Request(ctx, req)
	if err != nil {
		l.lost(err)
		return nil, err
	}
	l.proven = true
	return resp, nil
}

// idle watches the connection until ctx ends, and then returns nil; a lost connection is made anew. It returns an error when
// there is no connection.
func (l *line) idle(ctx context.Context) error {
	for {
		if err := l.connect(ctx); err != nil {
			if ctx.Err() == nil {
				return err
			}
			return nil
		}
		err := l.conn.Idle(ctx)
		if err == nil {
			return nil
		}
		l.lost(err)
	}
}

func (l *line) lost(err error) {
	l.ended = l.proven && peer.IsReset(err)
	l.close()
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close() // nothing is in flight that anybody waits for
		l.conn = nil
	}
}
