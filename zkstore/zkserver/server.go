package zkserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"jackdaw/internal/run"
	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zktree"
)

// Options configure a server. The zero value of a field means its default.
type Options struct {
	// Addr is host:port; default 127.0.0.1:2181. Port 0 takes a free one, see Server.Addr.
	Addr string
	// Dir is the data directory, created when it is not there. Required.
	Dir string
	// FS defaults to the machine's.
	FS vfs.FS
	// Tick is the unit of session timeouts: sessions have at least 2 and at most 20. Default 2 s.
	Tick time.Duration
	// MaxClientConns bounds the connections from one address. Default 60, negative for no bound.
	MaxClientConns int
	// MaxRequestBytes bounds a request. Default 1048575, ZooKeeper's jute.maxbuffer.
	MaxRequestBytes int
	// SnapshotBytes of journal cause a snapshot. Default 16 MiB.
	SnapshotBytes int64
	// NoSync leaves out the fsync of the journal: changes survive a crash of the process, not of the machine.
	NoSync bool
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:2181"
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Tick == 0 {
		o.Tick = 2 * time.Second
	}
	if o.MaxClientConns == 0 {
		o.MaxClientConns = 60
	}
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 0xfffff
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = 16 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server is a ZooKeeper server of one machine. ZooKeeper: ZooKeeperServer, standalone.
type Server struct {
	opts  Options
	lg    *slog.Logger
	ln    net.Listener
	store *store
	stats stats
	// dirty wakes the commit goroutine.
	dirty     chan struct{}
	closeOnce sync.Once
	closeErr  error

	mu struct {
		sync.Mutex
		tree  *zktree.Tree
		conns map[zktree.WatcherID]*conn
		// bySession has the connection that carries a session now.
		bySession map[zktree.SessionID]*conn
		byAddr    map[netip.Addr]int
		lastConn  zktree.WatcherID
		lastID    zktree.SessionID
		// group holds the changes that are not yet on disk, after groupHeader free bytes; empty when there are none.
		group []byte
		// durable is the zxid up to which all is on disk.
		durable int64
		// gated are the connections with answers that wait for durable to grow.
		gated map[*conn]struct{}
		// dead is why the server cannot go on; nil while it can.
		dead error
		// stop ends Run and done is closed when it has returned; nil until it is called.
		stop   context.CancelFunc
		done   chan struct{}
		closed bool
	}
}

// Open locks the directory, rebuilds the tree and listens. Connections are served once Run runs.
func Open(o Options) (*Server, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("zookeeper server: no data directory")
	}
	lg := o.Logger.With("component", "zkserver")
	st, tree, err := openStore(o.FS, o.Dir, !o.NoSync, lg)
	if err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Addr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("zookeeper server: %w", err), st.close())
	}
	s := &Server{opts: o, lg: lg, ln: ln, store: st, dirty: make(chan struct{}, 1)}
	s.stats.start = o.Now()
	s.mu.tree = tree
	s.mu.conns = map[zktree.WatcherID]*conn{}
	s.mu.bySession = map[zktree.SessionID]*conn{}
	s.mu.byAddr = map[netip.Addr]int{}
	s.mu.gated = map[*conn]struct{}{}
	s.mu.durable = tree.Zxid()
	s.mu.lastID = firstSession(tree, o.Now())
	lg.Info("zookeeper server opened", "dir", o.Dir, "addr", ln.Addr().String(), "zxid", tree.Zxid(), "nodes", tree.Counts().Nodes)
	return s, nil
}

// firstSession gives the id after which new ones are counted: larger than all before it, also of sessions that are over.
// ZooKeeper: SessionTrackerImpl.initializeNextSessionId.
func firstSession(t *zktree.Tree, now time.Time) zktree.SessionID {
	const bitsOfTime = 40
	fromClock := zktree.SessionID(now.UnixMilli()&(1<<bitsOfTime-1)) << 16
	return max(fromClock, t.MaxSession())
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Run serves until ctx ends, Close is called, or the disk fails, which is its only error. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.mu.closed || s.mu.done != nil {
		again := !s.mu.closed
		s.mu.Unlock()
		if again {
			return errors.New("zookeeper server: running already")
		}
		return nil
	}
	s.mu.stop, s.mu.done = cancel, make(chan struct{})
	s.mu.tree.TouchAll(s.opts.Now())
	s.mu.Unlock()
	defer close(s.mu.done)

	g := run.New(ctx, s.lg)
	g.Go("zk-commit", s.commitLoop)
	g.Go("zk-expiry", s.expiryLoop)
	g.Go("zk-accept", func(ctx context.Context) error { return s.acceptLoop(ctx, g) })
	<-g.Context().Done()
	_ = s.ln.Close()
	s.closeConns()
	g.Stop()
	return g.Wait()
}

// Close stops Run, waits for it, and closes the journal. Sessions stay open for the next start.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.mu.closed = true
		stop, done := s.mu.stop, s.mu.done
		s.mu.Unlock()
		if done != nil {
			stop()
			<-done
		}
		s.closeErr = s.store.close()
		if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.closeErr = errors.Join(s.closeErr, err)
		}
	})
	return s.closeErr
}

// closeConns ends all connections.
func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mu.conns {
		c.abort()
	}
}

// acceptLoop takes connections.
func (s *Server) acceptLoop(ctx context.Context, g *run.Group) error {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil //nolint:nilerr // stopped, which is no fault
			}
			s.lg.Warn("accept", "err", err)
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
			continue
		}
		c := s.admit(nc)
		if c == nil {
			_ = nc.Close()
			continue
		}
		g.Go("zk-read", func(ctx context.Context) error { c.read(ctx); return nil })
		g.Go("zk-write", func(ctx context.Context) error { c.write(ctx); return nil })
		if ctx.Err() != nil {
			c.abort()
			return nil //nolint:nilerr // stopped, which is no fault
		}
	}
}

// admit makes the state of a new connection; nil when its address has too many.
func (s *Server) admit(nc net.Conn) *conn {
	addr := remoteAddr(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := s.opts.MaxClientConns; most > 0 && s.mu.byAddr[addr] >= most {
		s.lg.Warn("too many connections from one address", "addr", addr, "max", most)
		return nil
	}
	s.mu.byAddr[addr]++
	s.mu.lastConn++
	c := newConn(s, nc, s.mu.lastConn, addr)
	s.mu.conns[c.id] = c
	return c
}

// release takes the state of a connection back. Its session lives on.
func (s *Server) release(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.mu.conns[c.id]; !ok {
		return
	}
	delete(s.mu.conns, c.id)
	delete(s.mu.gated, c)
	if s.mu.byAddr[c.addr]--; s.mu.byAddr[c.addr] == 0 {
		delete(s.mu.byAddr, c.addr)
	}
	if s.mu.bySession[c.session] == c {
		delete(s.mu.bySession, c.session)
	}
	s.mu.tree.Forget(c.id)
}

// remoteAddr is the peer's address without the port; the zero value where there is none.
func remoteAddr(nc net.Conn) netip.Addr {
	ap, err := netip.ParseAddrPort(nc.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
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
