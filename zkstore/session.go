package zkstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"jackdaw/internal/run"
)

// Session is one ZooKeeper session. Its methods may be called from any goroutine; after Done they fail with
// ErrSessionExpired.
type Session struct {
	c  *Client
	lg *slog.Logger
	// ctx ends with the session and with the client.
	ctx    context.Context //nolint:containedctx // the session is the lifetime
	cancel context.CancelCauseFunc
	conn   *zk.Conn
	link   *link
	// id is 0 until the session is established.
	id atomic.Int64
	// established is closed by the first event of a session.
	established chan struct{}
	// gone is closed by the library when its goroutines have ended.
	gone    <-chan zk.Event
	closing *run.Group
	// calls are the operations under way.
	calls   *run.Group
	watches watchTable
	// guardOnce starts guard.
	guardOnce sync.Once
}

// ID is the session id that ZooKeeper gave, the owner of the session's ephemeral nodes.
func (s *Session) ID() int64 { return s.id.Load() }

// String gives the id as ZooKeeper logs it.
func (s *Session) String() string { return fmt.Sprintf("0x%x", s.id.Load()) }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Connected reports whether there is a connection that carries the session right now.
func (s *Session) Connected() bool { return s.conn.State() == zk.StateHasSession }

// open connects until there is a session; it fails only when ctx ends or the chroot cannot be made.
// One zk.Conn serves one session: the library would silently open another when a session expires.
func (c *Client) open(ctx context.Context, closing *run.Group) (*Session, error) {
	s := &Session{c: c, lg: c.lg, established: make(chan struct{}), closing: closing}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.calls = run.New(context.WithoutCancel(ctx), nil)
	s.watches.init()
	s.link = newLink(s.ctx, c) //nolint:contextcheck // the session's own, made of ctx above
	conn, gone, err := zk.Connect(c.cfg.Servers, c.cfg.SessionTimeout,
		zk.WithDialer(s.link.dial), zk.WithHostProvider(s.link), zk.WithEventCallback(s.onEvent),
		zk.WithLogger(debugLogger{c.lg}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	s.conn, s.gone = conn, gone
	select {
	case <-s.established:
	case <-ctx.Done():
		s.end(ErrSessionExpired)
		s.close()
		return nil, fmt.Errorf("zookeeper: %w", context.Cause(ctx))
	}
	s.id.Store(conn.SessionID())
	c.lg.Info("zookeeper session established", "session", s, "server", conn.Server(), "timeout", s.link.timeout())
	err = s.keepWatch(s.ctx) //nolint:contextcheck // as above
	if err == nil {
		err = s.ensureChroot(s.ctx) //nolint:contextcheck // as above
	}
	if err != nil && s.ctx.Err() == nil {
		s.end(ErrSessionExpired)
		s.close()
		return nil, err
	}
	return s, nil
}

// ensureChroot creates the chroot when it is not there. Its parents need not be readable when it is.
func (s *Session) ensureChroot(ctx context.Context) error {
	root := s.c.cfg.Chroot
	if root == "" {
		return nil
	}
	if _, _, err := s.Get(ctx, "/"); err == nil {
		return nil
	} else if !errors.Is(err, ErrNoNode) {
		return fmt.Errorf("zookeeper chroot %s: %w", root, err)
	}
	for i := 1; i <= len(root); i++ {
		if i < len(root) && root[i] != '/' {
			continue
		}
		if err := s.createAbs(ctx, root[:i]); err != nil && !errors.Is(err, ErrNodeExists) {
			return fmt.Errorf("zookeeper chroot %s: create %s: %w", root, root[:i], err)
		}
	}
	return nil
}

// onEvent is called by the goroutines of the library and must not block.
func (s *Session) onEvent(e zk.Event) {
	switch {
	case e.Type == zk.EventSession && e.State == zk.StateHasSession:
		s.hasSession()
	case e.Type == zk.EventSession && e.State == zk.StateExpired:
		s.lg.Warn("zookeeper session expired", "session", s)
		s.end(ErrSessionExpired)
	case e.Type == zk.EventSession && e.State == zk.StateDisconnected:
		s.link.lost(s.ctx.Err() == nil)
	case e.Type >= zk.EventNodeCreated && e.Type <= zk.EventNodeChildrenChanged:
		path, ok := s.relative(e.Path)
		if ok {
			s.watches.fire(Event{Type: EventType(e.Type), Path: path})
		}
	}
}

// hasSession is called on every connection that carries the session.
func (s *Session) hasSession() {
	s.link.found()
	select {
	case <-s.established:
		s.watches.fireAll(Event{Type: Reconnected})
	default:
		close(s.established)
	}
}

// end marks the session as over. What is under way ends at once.
func (s *Session) end(cause error) {
	s.cancel(cause)
	s.link.cut()
	s.watches.fireAll(Event{Type: SessionOver})
}

// waitOver returns when the session is over: ZooKeeper said so, nothing was heard of it for the session timeout, or the
// client is closed.
func (s *Session) waitOver(ctx context.Context) {
	timer := time.NewTimer(s.link.timeout())
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		left := s.link.left(time.Now())
		if left <= 0 {
			s.lg.Warn("zookeeper session taken as expired: no answer for its timeout", "session", s, "timeout", s.link.timeout())
			return
		}
		timer.Reset(left)
	}
}

// close ends the connection, after the session was closed at the server if it can be reached. It waits only for a good
// connection; the rest of the library's goroutines end on their own, and Client.Close waits for them.
func (s *Session) close() {
	done := make(chan struct{})
	s.closing.Go("zk-close", func(context.Context) error {
		s.conn.Close()
		s.link.drop()
		for range s.gone {
			// Drained until it is closed.
		}
		s.calls.Stop()
		close(done)
		return nil
	})
	if s.link.isGood() {
		<-done
	}
}

// abs gives the path at the server.
func (s *Session) abs(path string) string {
	root := s.c.cfg.Chroot
	if root == "" {
		return path
	}
	if path == "/" {
		return root
	}
	return root + path
}

// relative undoes abs.
func (s *Session) relative(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, s.c.cfg.Chroot)
	if rest == "" {
		rest = "/"
	}
	return rest, ok
}

// debugLogger takes what the library says; what matters is logged by the session itself.
type debugLogger struct{ lg *slog.Logger }

// Printf implements zk.Logger.
func (l debugLogger) Printf(format string, args ...any) {
	l.lg.Debug("zookeeper library", "text", fmt.Sprintf(format, args...))
}
