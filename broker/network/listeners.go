package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Listeners are the names of the listeners that there are.
func (s *Server) Listeners() []string {
	var out []string
	for _, l := range s.listeners() {
		out = append(out, l.Name)
	}
	return out
}

// AddListener binds one more listener; it takes connections in at once while the server runs. The bound of its
// connections comes by SetLimits. Kafka: SocketServer.addListeners.
func (s *Server) AddListener(c ListenerConfig) error {
	if slices.Contains(s.Listeners(), c.Name) {
		return fmt.Errorf("listener %s is there already", c.Name)
	}
	l := newListener(c)
	if err := l.bind(); err != nil {
		return err
	}
	s.mu.Lock()
	closed, running := s.mu.closed, s.mu.running
	if !closed {
		s.mu.listeners = append(slices.Clone(s.mu.listeners), l)
	}
	s.mu.Unlock()
	if closed {
		l.stop()
		return errors.New("the server stops")
	}
	if running {
		s.startAcceptor(l)
	}
	return nil
}

// RemoveListener closes a listener, and each of its connections as soon as its requests in work are answered.
// Kafka: SocketServer.removeListeners. Differs from Kafka: that drops the answers, also the one to who removes the
// listener that he came in by.
func (s *Server) RemoveListener(name string) {
	s.mu.Lock()
	i := slices.IndexFunc(s.mu.listeners, func(l *listener) bool { return l.Name == name })
	if i < 0 {
		s.mu.Unlock()
		return
	}
	l := s.mu.listeners[i]
	s.mu.listeners = slices.Delete(slices.Clone(s.mu.listeners), i, i+1)
	s.mu.Unlock()
	l.stop()
	s.eachConn(func(c *Conn) {
		if c.listener == l {
			c.drain()
		}
	})
}

// listeners returns the listeners of now; the slice is never changed.
func (s *Server) listeners() []*listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.listeners
}

// setRunning lets AddListener start acceptors from now on, and returns the listeners that have none yet.
func (s *Server) setRunning() []*listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.running = true
	return s.mu.listeners
}

func (s *Server) startAcceptor(l *listener) {
	s.group.Go("network-acceptor-"+l.Name, func(ctx context.Context) error { return s.accept(ctx, l) })
}
