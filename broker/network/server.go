package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/budget"
	"jackdaw/internal/run"
	"jackdaw/security"
	"jackdaw/security/sasl"
)

// Defaults of Options. Kafka: SocketServerConfigs, but for AuthTimeout: there only connections.max.idle.ms ends a peer that
// does not say who it is.
const (
	DefaultMaxRequestBytes = 100 << 20
	DefaultIdleTimeout     = 10 * time.Minute
	DefaultMaxInFlight     = 64
	DefaultAuthTimeout     = 30 * time.Second
)

// ListenerConfig is one listener.
type ListenerConfig struct {
	// Name as in the configuration: PLAINTEXT, INTERNAL, ...
	Name string
	// Addr is host:port to bind, host empty for all addresses, port 0 for any free one.
	Addr string
	// MaxConns bounds the connections of this listener; 0 is no bound. Kafka: listener.name.X.max.connections.
	MaxConns int
	// InterBroker marks the listener that brokers use among themselves: Options.MaxConns does not stop it.
	InterBroker bool
	// TLS, if not nil, is asked for the configuration of each accepted connection, so that keys can be replaced while the
	// server runs.
	TLS func() *tls.Config
	// Principal, if not nil, tells who a peer has proven to be by its certificate.
	Principal func(tls.ConnectionState) (security.Principal, error)
	// SASL, if not nil, is how a peer has to prove who it is before it may use anything.
	SASL *sasl.Settings
}

// Options configure a Server.
type Options struct {
	Listeners []ListenerConfig
	Handler   Handler
	// MaxRequestBytes is socket.request.max.bytes; 0 is the default.
	MaxRequestBytes int
	// MaxConns is max.connections, of all listeners but the inter-broker one together; 0 is no bound.
	MaxConns int
	// MaxConnsPerIP is max.connections.per.ip, 0 for no bound; the overrides by IP or host name go before it.
	MaxConnsPerIP          int
	MaxConnsPerIPOverrides map[string]int
	// IdleTimeout is connections.max.idle.ms; 0 is the default, below 0 is never.
	IdleTimeout time.Duration
	// AuthTimeout bounds the time from the accept until a peer has proven who it is, where it has to; 0 is the default.
	AuthTimeout time.Duration
	// FailedAuthDelay is how long a peer waits for the answer that it is not who it says.
	FailedAuthDelay time.Duration
	// MaxInFlight bounds the unmuted requests in work of one connection; 0 is the default.
	MaxInFlight int
	// SendBuffer and ReceiveBuffer are socket.send.buffer.bytes and socket.receive.buffer.bytes; <= 0 leaves the system's.
	SendBuffer, ReceiveBuffer int
	// Throttle, if not nil, is asked before each Respond for how long the client is to be held up: see Request.Throttle.
	Throttle func(*Request) time.Duration
	// ThrottleAccept, if not nil, is asked after each connection how long its listener is to take in no other. The
	// inter-broker listener does not count for the broker where there is another.
	ThrottleAccept func(listener string, counts bool) time.Duration
	// ThrottleConn, if not nil, is asked about each new connection. One that has to wait is closed after the wait.
	ThrottleConn func(netip.Addr) time.Duration
	// Budget bounds the bytes of requests in work; nil is no bound.
	Budget  *budget.Budget
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

func (o *Options) setDefaults() {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.AuthTimeout == 0 {
		o.AuthTimeout = DefaultAuthTimeout
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Server accepts and serves connections. New, Start, Run and Close are called once each, in that order; Close and
// StopAccepting may be called again. Kafka: SocketServer.
type Server struct {
	o      Options
	limits *limits
	events eventLog
	m      *serverMetrics
	frames framePool
	reads  readBufferPool
	bufs   bufPool
	group  *run.Group // set by Run before the first connection

	mu struct {
		sync.Mutex
		// listeners is never changed in place. running: each of them has an acceptor, or gets it from Run.
		listeners []*listener
		running   bool
		// closed: nothing is accepted any more.
		closed bool
		conns  map[*Conn]struct{}
		next   int64
		// stopping: no connection is added any more. empty is closed when the last one has gone after that.
		stopping bool
		empty    chan struct{}
	}
}

// New returns a server that does nothing yet.
func New(o Options) *Server {
	o.setDefaults()
	s := &Server{o: o, limits: newLimits(&o), m: newServerMetrics(o.Metrics)}
	s.events.lg = o.Logger
	s.mu.conns = make(map[*Conn]struct{})
	s.mu.empty = make(chan struct{})
	for _, l := range o.Listeners {
		s.mu.listeners = append(s.mu.listeners, newListener(l))
	}
	return s
}

// Start binds all listeners, so that their addresses are known; connections wait in the backlog until Run. The error names
// the listener, and then none is bound.
func (s *Server) Start() error {
	for _, l := range s.listeners() {
		if err := l.bind(); err != nil {
			s.StopAccepting()
			return err
		}
	}
	return nil
}

// Addr is the bound address of a listener, nil for an unknown one.
func (s *Server) Addr(name string) net.Addr {
	for _, l := range s.listeners() {
		if l.Name == name && l.ln != nil {
			return l.ln.Addr()
		}
	}
	return nil
}

// Limits are the bounds on connections that can be changed while the server runs, as in Options.
type Limits struct {
	MaxConns               int
	MaxConnsPerIP          int
	MaxConnsPerIPOverrides map[string]int
	// MaxConnsOf is ListenerConfig.MaxConns by listener name; nil leaves those as they are.
	MaxConnsOf map[string]int
}

// SetLimits replaces the bounds on connections; the error is that of a host name that cannot be resolved. Connections
// above a new bound stay until they end by themselves. Kafka: ConnectionQuotas.reconfigure.
func (s *Server) SetLimits(ctx context.Context, l Limits) error { return s.limits.set(ctx, l) }

// Run accepts and serves until ctx ends or Close has finished. When ctx ends, all connections are closed at once.
func (s *Server) Run(ctx context.Context) error {
	limits := Limits{MaxConns: s.o.MaxConns, MaxConnsPerIP: s.o.MaxConnsPerIP, MaxConnsPerIPOverrides: s.o.MaxConnsPerIPOverrides}
	if err := s.limits.set(ctx, limits); err != nil {
		return fmt.Errorf("max.connections.per.ip.overrides: %w", err)
	}
	s.group = run.New(ctx, s.o.Logger)
	for _, l := range s.setRunning() {
		s.startAcceptor(l)
	}
	if s.o.IdleTimeout > 0 {
		s.group.Go("network-idle", s.sweep)
	}
	select {
	case <-ctx.Done():
	case <-s.mu.empty:
	}
	s.StopAccepting()
	s.admitNoMore()
	s.eachConn((*Conn).close)
	s.group.Stop()
	return s.group.Wait()
}

// StopAccepting closes the listeners, and lets none be added; connections go on.
func (s *Server) StopAccepting() {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	for _, l := range s.listeners() {
		l.stop()
	}
}

// Close stops accepting, reads no more requests, sends the answers of those in work until ctx ends, and closes all
// connections. The error is ctx's if some had to be cut off.
func (s *Server) Close(ctx context.Context) error {
	s.StopAccepting()
	s.admitNoMore()
	s.eachConn((*Conn).drain)
	select {
	case <-s.mu.empty:
		return nil
	case <-ctx.Done():
	}
	n := s.eachConn((*Conn).close)
	return fmt.Errorf("%d connections had requests in work: %w", n, ctx.Err())
}

// eachConn calls f for all connections, without the lock, and tells how many there were.
func (s *Server) eachConn(f func(*Conn)) int {
	s.mu.Lock()
	all := make([]*Conn, 0, len(s.mu.conns))
	for c := range s.mu.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
	return len(all)
}

// admit makes a connection of an accepted socket. ok is false when the server stops, or the listener was removed meanwhile.
func (s *Server) admit(l *listener, nc net.Conn) (c *Conn, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.stopping || !slices.Contains(s.mu.listeners, l) {
		return nil, false
	}
	c = newConn(s, l, nc, s.mu.next)
	s.mu.next++
	s.mu.conns[c] = struct{}{}
	s.m.connections.WithLabelValues(l.Name).Inc()
	return c, true
}

// admitNoMore makes admit refuse, so that the connections there are, are all there will be.
func (s *Server) admitNoMore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.stopping = true
	s.checkEmptyLocked()
}

// gone forgets a connection that has ended.
func (s *Server) gone(c *Conn) {
	s.limits.removeIP(c.ip)
	s.limits.free(c.listener)
	s.m.connections.WithLabelValues(c.listener.Name).Dec()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.conns, c)
	s.checkEmptyLocked()
}

func (s *Server) checkEmptyLocked() {
	if s.mu.stopping && len(s.mu.conns) == 0 {
		select {
		case <-s.mu.empty:
		default:
			close(s.mu.empty)
		}
	}
}

// sweep closes idle connections.
func (s *Server) sweep(ctx context.Context) error {
	t := time.NewTicker(min(max(s.o.IdleTimeout/8, 10*time.Millisecond), time.Second))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			since := now.Add(-s.o.IdleTimeout)
			s.eachConn(func(c *Conn) {
				if c.idle(since) {
					s.events.log(eventIdle, c, errIdle)
					c.close()
				}
			})
		}
	}
}

var errIdle = errors.New("nothing sent or received for connections.max.idle.ms")
