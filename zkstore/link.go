package zkstore

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// link makes the connections of one session, watches when the server was last heard of, and paces attempts. It is the
// library's dialer and host provider, which resolves names anew for each attempt.
type link struct {
	ctx     context.Context //nolint:containedctx // ends with the session, as the link does
	c       *Client
	servers []string

	mu struct {
		sync.Mutex
		next int
		// failures counts attempts since the last good connection.
		failures int
		conn     *tracked
		// good tells that conn carries the session.
		good bool
		// quit tells the library to give up.
		quit bool
		// watched tells that the library has a watch, so that it sends one restoring request on each new connection.
		watched bool
		// heard is when bytes last came, or when the session began.
		heard time.Time
		// negotiated is the session timeout that the server gave.
		negotiated time.Duration
		lostAt     time.Time
	}
}

func newLink(ctx context.Context, c *Client) *link {
	l := &link{ctx: ctx, c: c, servers: append([]string(nil), c.cfg.Servers...)}
	rand.Shuffle(len(l.servers), func(i, j int) { l.servers[i], l.servers[j] = l.servers[j], l.servers[i] })
	l.mu.negotiated = c.cfg.SessionTimeout
	l.mu.heard = time.Now()
	return l
}

// Init implements zk.HostProvider.
func (l *link) Init([]string) error { return nil }

// Len implements zk.HostProvider.
func (l *link) Len() int { return len(l.servers) }

// Next implements zk.HostProvider. retryStart, which makes the library look whether it is closed, and drop what waits to
// be sent, is true only at the end.
func (l *link) Next() (server string, retryStart bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server = l.servers[l.mu.next%len(l.servers)]
	l.mu.next++
	return server, l.mu.quit || l.ctx.Err() != nil
}

// Connected implements zk.HostProvider.
func (l *link) Connected() {}

// dial implements zk.Dialer. Attempts after the first round are spread out.
func (l *link) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	l.mu.Lock()
	failures := l.mu.failures
	l.mu.failures++
	l.mu.Unlock()
	if rounds := failures / len(l.servers); rounds > 0 {
		d := min(50*time.Millisecond<<min(rounds-1, 10), time.Second)
		pause(l.ctx, d/2+rand.N(d/2))
	}
	if l.ctx.Err() != nil {
		return nil, ErrSessionExpired
	}
	timeout := l.dialTimeout()
	nc, err := (&net.Dialer{Timeout: timeout}).DialContext(l.ctx, network, addr)
	if err != nil {
		l.c.noteDial(err)
		return nil, err
	}
	return l.track(nc, timeout)
}

// dialTimeout bounds an attempt so that all servers can be tried within a session timeout.
func (l *link) dialTimeout() time.Duration {
	d := l.c.cfg.SessionTimeout / time.Duration(len(l.servers)+1)
	return min(max(d, 500*time.Millisecond), 10*time.Second)
}

// track makes nc the connection of the session.
func (l *link) track(nc net.Conn, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, errors.Join(ErrSessionExpired, nc.Close())
	}
	t := &tracked{Conn: nc, l: l, shakeBy: time.Now().Add(timeout), restored: make(chan struct{}), closed: make(chan struct{})}
	if !l.mu.watched {
		t.restore()
	}
	l.mu.conn = t
	return t, nil
}

// noteDial keeps the reason of the last failure for the error of Start.
func (c *Client) noteDial(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.dialErr = err
}

// found is called when a connection carries the session.
func (l *link) found() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.failures, l.mu.good = 0, true
	l.c.met.syncConnects.Inc()
	l.mu.heard = time.Now()
	if !l.mu.lostAt.IsZero() {
		l.c.lg.Info("zookeeper connection is back", "after", time.Since(l.mu.lostAt).Round(time.Millisecond))
		l.mu.lostAt = time.Time{}
	}
}

// lost is called when a connection ended, or an attempt failed. wanted tells that the session is to go on.
func (l *link) lost(wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.good && wanted {
		l.mu.lostAt = time.Now()
		l.c.met.disconnects.Inc()
		l.c.lg.Warn("zookeeper connection lost, reconnecting", "last_heard_ago", time.Since(l.mu.heard).Round(time.Millisecond))
	}
	l.mu.good = false
}

// cut ends a connection that does not carry the session, so that the library does not wait for it. A good one is left
// for the close of the session.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.quit = true
	if l.mu.conn != nil && !l.mu.good {
		_ = l.mu.conn.Close()
	}
}

// drop ends the connection.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.conn != nil {
		_ = l.mu.conn.Close()
	}
}

func (l *link) isGood() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.good
}

// timeout is the session timeout.
func (l *link) timeout() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.negotiated
}

// left is how long the session lives without a sign of the server.
func (l *link) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.heard.Add(l.mu.negotiated).Sub(now)
}

// keepWatch leaves a watch that never fires with the library. See tracked.restored.
func (s *Session) keepWatch(ctx context.Context) error {
	abs := s.abs("/zookeeper/jackdaw")
	_, err := retry(ctx, s, 0, func(c *zk.Conn) (bool, error) {
		exists, _, _, err := c.ExistsW(abs)
		return exists, err
	}, nil)
	if err != nil {
		return err
	}
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.link.mu.watched = true
	return nil
}

// tracked is a connection that tells when it was read from, and holds answers back until watches are restored.
type tracked struct {
	net.Conn
	l *link
	// shakeBy is when the handshake must be over: the library alone would wait for many session timeouts.
	shakeBy time.Time
	// head holds the begin of the first message: length, protocol version, session timeout. got counts all bytes.
	// Both belong to the reader.
	head [12]byte
	got  int
	// restored is closed when the library has sent its watches to the server of a new connection. It sends them with the
	// last zxid that it has seen, and reads that number while answers may come in and raise it: the events in between
	// would be lost. So no answer is let through before.
	restored    chan struct{}
	restoreOnce sync.Once
	closed      chan struct{}
	closeOnce   sync.Once
}

// Read implements net.Conn. It is called by one goroutine at a time.
func (t *tracked) Read(p []byte) (int, error) {
	if t.shaken() {
		select {
		case <-t.restored:
		case <-t.closed:
		}
	}
	n, err := t.Conn.Read(p)
	if n > 0 {
		t.heard(p[:n])
	}
	return n, err
}

// shaken reports whether the whole handshake was read.
func (t *tracked) shaken() bool {
	return t.got >= len(t.head) && t.got >= 4+int(binary.BigEndian.Uint32(t.head[:]))
}

// Write implements net.Conn. The library writes one request at a time: length, xid, operation.
func (t *tracked) Write(p []byte) (int, error) {
	const opSetWatches = 101
	n, err := t.Conn.Write(p)
	if len(p) >= 12 && binary.BigEndian.Uint32(p[8:]) == opSetWatches {
		t.restore()
	}
	return n, err
}

func (t *tracked) restore() { t.restoreOnce.Do(func() { close(t.restored) }) }

// Close implements net.Conn.
func (t *tracked) Close() error {
	t.closeOnce.Do(func() { close(t.closed) })
	return t.Conn.Close()
}

// heard notes the time, and the session timeout in the first message. A session id of 0 has timeout 0.
func (t *tracked) heard(p []byte) {
	first := t.got < len(t.head)
	if first {
		copy(t.head[t.got:], p)
	}
	t.got += len(p)
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.l.mu.heard = time.Now()
	if ms := binary.BigEndian.Uint32(t.head[8:]); first && t.got >= len(t.head) && ms > 0 {
		t.l.mu.negotiated = time.Duration(ms) * time.Millisecond
	}
}

// SetReadDeadline implements net.Conn; before the handshake is over no deadline is later than shakeBy.
func (t *tracked) SetReadDeadline(at time.Time) error {
	if t.got < len(t.head) && (at.IsZero() || at.After(t.shakeBy)) {
		at = t.shakeBy
	}
	return t.Conn.SetReadDeadline(at)
}
