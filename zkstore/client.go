package zkstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/run"
)

// Config tells how to reach ZooKeeper.
type Config struct {
	// Servers are host:port of the ensemble's members.
	Servers []string
	// Chroot is prefixed to every path, "" or "/kafka". It is created by Start when it is not there.
	Chroot string
	// SessionTimeout is asked from ZooKeeper, which may change it. Default 18 s.
	SessionTimeout time.Duration
	// ConnectTimeout bounds Start's wait for the first session. Default is SessionTimeout.
	ConnectTimeout time.Duration
	// MaxInFlight bounds how many operations of one pipelined call are under way. Default 10.
	MaxInFlight int
	// MaxRequestBytes bounds a request; more ends in ErrTooLarge, since a server would cut the connection instead of
	// answering. Default 1048575, ZooKeeper's jute.maxbuffer.
	MaxRequestBytes int
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

func (c Config) withDefaults() Config {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 18 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = c.SessionTimeout
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 10
	}
	if c.MaxRequestBytes <= 0 {
		c.MaxRequestBytes = 0xfffff
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Chroot = strings.TrimSuffix(c.Chroot, "/")
	return c
}

// ParseConnect splits zookeeper.connect: host:port,host:port/chroot. A missing port is 2181.
func ParseConnect(connect string) (servers []string, chroot string, err error) {
	list := connect
	if i := strings.IndexByte(connect, '/'); i >= 0 {
		list, chroot = connect[:i], strings.TrimSuffix(connect[i:], "/")
	}
	for _, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		if strings.LastIndexByte(s, ':') <= strings.LastIndexByte(s, ']') {
			s += ":2181"
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 {
		return nil, "", fmt.Errorf("zookeeper.connect %q names no server", connect)
	}
	return servers, chroot, nil
}

// hook is one registration of OnSession.
type hook struct {
	name    string
	started func(ctx context.Context, s *Session) error
	expired func()
}

// Client keeps a session with ZooKeeper: it opens the first, and another whenever one is lost.
// Kafka: KafkaZkClient, ZooKeeperClient.
type Client struct {
	cfg   Config
	lg    *slog.Logger
	hooks []hook
	met   clientMetrics

	mu struct {
		sync.Mutex
		group   *run.Group
		session *Session
		// changed is closed when session or closed changes, and replaced.
		changed chan struct{}
		// former are the ids of this client's sessions that are over, whose ephemeral nodes may still be there.
		former map[int64]struct{}
		// dialErr is why the last connection failed.
		dialErr error
		closed  bool
	}
}

// NewClient allocates a client; Start connects it.
func NewClient(cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, lg: cfg.Logger.With("component", "zookeeper"), met: newMetrics(cfg.Metrics)}
	c.mu.former, c.mu.changed = map[int64]struct{}{}, make(chan struct{})
	return c
}

// OnSession registers hooks, before Start. In every new session the started hooks run in the order of registration, each
// with a context that ends with the session. When a session is over the expired hooks run in reverse order, those only
// whose started hook was called, and all must have returned before the next session is opened. An error of a started
// hook ends Start in the first session; in a later one it is logged and the session is given up for another. Either hook
// may be nil.
func (c *Client) OnSession(name string, started func(ctx context.Context, s *Session) error, expired func()) {
	c.hooks = append(c.hooks, hook{name, started, expired})
}

// Start opens the first session and runs its hooks. It fails after ConnectTimeout when no server can be reached, or with
// the error of a hook; the client is closed then. ctx bounds only the start.
func (c *Client) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.mu.closed || c.mu.group != nil {
		c.mu.Unlock()
		return errors.New("zookeeper client: started or closed already")
	}
	g := run.New(context.WithoutCancel(ctx), c.lg)
	c.mu.group = g
	c.mu.Unlock()

	first := newOutcome()
	g.Go("zk-session", func(ctx context.Context) error { return c.keep(ctx, first) })
	timer := time.NewTimer(c.cfg.ConnectTimeout)
	defer timer.Stop()
	var err error
	select {
	case <-first.done:
		err = first.err
	case <-ctx.Done():
		err = fmt.Errorf("zookeeper: %w", context.Cause(ctx))
	case <-first.connected:
		// The hooks have their own bounds.
		select {
		case <-first.done:
			err = first.err
		case <-ctx.Done():
			err = fmt.Errorf("zookeeper: %w", context.Cause(ctx))
		}
	case <-timer.C:
		err = c.unreachable()
	}
	if err != nil {
		c.Close()
	}
	return err
}

// unreachable is the error of a start without a session.
func (c *Client) unreachable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.mu.dialErr
	if err == nil {
		err = errors.New("no answer")
	}
	return fmt.Errorf("zookeeper: no session with %s within %v (zookeeper.connection.timeout.ms): %w",
		strings.Join(c.cfg.Servers, ","), c.cfg.ConnectTimeout, err)
}

// Close runs the expired hooks of the current session, closes it at the server, so that its ephemeral nodes are gone,
// and ends all goroutines. It may be called again.
func (c *Client) Close() {
	c.mu.Lock()
	c.mu.closed = true
	c.changedLocked()
	g := c.mu.group
	c.mu.Unlock()
	if g != nil {
		g.Stop()
	}
}

// Session returns the current session, nil while there is none.
func (c *Client) Session() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.session
}

// WaitSession returns the current session, or the next one when there is none: it has been established, but its hooks may
// not have run yet. It fails when ctx ends or the client is closed.
func (c *Client) WaitSession(ctx context.Context) (*Session, error) {
	for {
		c.mu.Lock()
		s, ch, closed := c.mu.session, c.mu.changed, c.mu.closed
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
		if closed {
			return nil, errClosed
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errClosed ends what waits for a client that is closed.
var errClosed = errors.New("zookeeper client: closed")

// outcome is the result of the first session's start.
type outcome struct {
	connected, done chan struct{}
	once            sync.Once
	connectOnce     sync.Once
	err             error
}

func newOutcome() *outcome {
	return &outcome{connected: make(chan struct{}), done: make(chan struct{})}
}

func (o *outcome) connect() { o.connectOnce.Do(func() { close(o.connected) }) }

func (o *outcome) set(err error) {
	o.once.Do(func() {
		o.err = err
		close(o.done)
	})
}

// keep opens one session after the other until the client is closed.
func (c *Client) keep(ctx context.Context, first *outcome) error {
	closing := run.New(context.WithoutCancel(ctx), c.lg)
	defer func() { _ = closing.Wait() }()
	defer first.set(errClosed)
	for isFirst, failures := true, 0; ctx.Err() == nil; {
		s, err := c.open(ctx, closing)
		if err != nil {
			first.set(err)
			return nil
		}
		first.connect()
		err = c.live(ctx, s, func() {
			isFirst, failures = false, 0
			first.set(nil)
		})
		if err != nil && isFirst {
			first.set(err)
			return nil
		}
		if err != nil {
			failures++
			c.lg.Error("zookeeper session given up", "session", s, "err", err)
			pause(ctx, min(time.Duration(failures)*200*time.Millisecond, 5*time.Second))
		}
	}
	return nil
}

// live runs one session from its hooks to its end. It returns the error of a hook that failed while the session was
// good; nil when the session ended or the client is closed.
func (c *Client) live(ctx context.Context, s *Session, ready func()) error {
	c.setSession(s)
	n, err := c.runStarted(s)
	failed := err != nil && s.ctx.Err() == nil
	if err == nil {
		ready()
		s.waitOver(ctx)
	}
	if ctx.Err() == nil && !failed {
		c.met.expires.Inc()
	}
	c.setSession(nil)
	// From here on no operation of the session starts, and those under way end without a result.
	s.end(ErrSessionExpired)
	for _, h := range slices.Backward(c.hooks[:n]) {
		if h.expired != nil {
			h.expired()
		}
	}
	s.close()
	if failed {
		return err
	}
	return nil
}

// runStarted calls the started hooks and returns how many were called.
func (c *Client) runStarted(s *Session) (n int, err error) {
	for _, h := range c.hooks {
		n++
		if h.started == nil {
			continue
		}
		if err := h.started(s.ctx, s); err != nil {
			return n, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return n, nil
}

// setSession publishes the current session; when it is over its id is remembered.
func (c *Client) setSession(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.mu.session; old != nil {
		c.mu.former[old.ID()] = struct{}{}
	}
	c.mu.session = s
	c.changedLocked()
}

// changedLocked wakes WaitSession.
func (c *Client) changedLocked() {
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
}

// addFormer makes the session of an earlier run of this process count as this client's own.
func (c *Client) addFormer(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.former[id] = struct{}{}
}

// isFormer reports whether a session id belongs to an earlier session of this client.
func (c *Client) isFormer(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.mu.former[id]
	return ok
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
