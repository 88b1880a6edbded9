package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptPause is how long an acceptor rests after a failure that is not its end, such as having no file descriptor left.
const acceptPause = 100 * time.Millisecond

// listener is one bound listener. Kafka: Acceptor.
type listener struct {
	ListenerConfig
	ln      net.Listener
	stopped chan struct{} // closed by stop
	once    sync.Once
}

func newListener(c ListenerConfig) *listener {
	return &listener{ListenerConfig: c, stopped: make(chan struct{})}
}

func (l *listener) bind() error {
	ln, err := net.Listen("tcp", l.Addr) //nolint:noctx // binding does not block, but for a host name to resolve
	if err != nil {
		return fmt.Errorf("listener %s at %s: %w", l.Name, l.Addr, err)
	}
	l.ln = ln
	return nil
}

func (l *listener) stop() {
	l.once.Do(func() {
		close(l.stopped)
		if l.ln != nil {
			_ = l.ln.Close() // a listener has nothing to lose
		}
	})
}

// accept takes in connections until the listener is stopped.
func (s *Server) accept(ctx context.Context, l *listener) error {
	for {
		if err := s.limits.waitRoom(ctx, l, false); err != nil {
			return nil //nolint:nilerr // stopped, which is no fault
		}
		nc, err := l.ln.Accept()
		switch {
		case err == nil:
			// Another listener may have taken the room meanwhile.
			if err := s.limits.waitRoom(ctx, l, true); err != nil {
				_ = nc.Close() // nothing was sent
				return nil     //nolint:nilerr // stopped, which is no fault
			}
			if f := s.o.ThrottleAccept; f != nil {
				pause(ctx, f(l.Name, !l.InterBroker || len(s.listeners()) == 1)) // those behind it wait in the backlog
			}
			s.welcome(l, nc)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			s.events.log(eventAccept, nil, err)
			if !pause(ctx, acceptPause) {
				return nil
			}
		}
	}
}

// welcome starts serving an accepted connection, for which there is room, or closes it if its address has too many.
func (s *Server) welcome(l *listener, nc net.Conn) {
	ip := addrIP(nc.RemoteAddr())
	if most, ok := s.limits.addIP(ip); !ok {
		s.limits.free(l)
		s.m.rejected.Inc()
		_ = nc.Close() // nothing was sent
		s.events.log(eventPerIP, nil, fmt.Errorf("%s has %d connections already", ip, most))
		return
	}
	if f := s.o.ThrottleConn; f != nil {
		if d := f(ip); d > 0 {
			s.refuseLater(l, nc, ip, d)
			return
		}
	}
	s.tune(nc)
	if l.TLS != nil {
		nc = tls.Server(nc, l.TLS()) // the handshake is the reader's
	}
	c, ok := s.admit(l, nc)
	if !ok {
		s.limits.removeIP(ip)
		s.limits.free(l)
		_ = nc.Close() // nothing was sent
		return
	}
	s.group.Go("network-reader", c.serve)
}

// refuseLater closes a connection of an address that makes too many, after it has kept the client waiting: at once it would
// come again at once. It counts as open meanwhile. Kafka: ConnectionQuotas, throttled sockets.
func (s *Server) refuseLater(l *listener, nc net.Conn, ip netip.Addr, d time.Duration) {
	s.m.rejected.Inc()
	s.group.Go("network-throttled", func(ctx context.Context) error {
		pause(ctx, d)
		s.limits.removeIP(ip)
		s.limits.free(l)
		_ = nc.Close() // nothing was sent
		return nil
	})
}

// tune sets the socket's buffers. Failure is no reason to refuse a client: the system's buffers serve, too.
func (s *Server) tune(nc net.Conn) {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if s.o.SendBuffer > 0 {
		_ = tc.SetWriteBuffer(s.o.SendBuffer)
	}
	if s.o.ReceiveBuffer > 0 {
		_ = tc.SetReadBuffer(s.o.ReceiveBuffer)
	}
}

// pause waits; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
