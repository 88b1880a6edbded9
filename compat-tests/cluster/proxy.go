package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Proxy forwards a TCP port to an address until it is cut. Cut closes every connection and refuses new ones; Heal ends that.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu struct {
		sync.Mutex
		cut   bool
		conns map[net.Conn]bool
	}
}

// NewProxy listens on a port of 127.0.0.1 and forwards to target.
func NewProxy(target string) (*Proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: l}
	p.mu.conns = map[net.Conn]bool{}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect instead of the target.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut closes all connections and refuses new ones until Heal.
func (p *Proxy) Cut() { p.setCut(true) }

// Heal lets connections through again.
func (p *Proxy) Heal() { p.setCut(false) }

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.setCut(true)
	p.running.Wait()
	return err
}

func (p *Proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.cut = cut
	for c := range p.mu.conns {
		if cut {
			_ = c.Close() // The copying goroutine sees it and cleans up.
		}
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.running.Go(func() { p.forward(in) })
	}
}

func (p *Proxy) forward(in net.Conn) {
	defer p.drop(in)
	if !p.keep(in) {
		return
	}
	out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(out)
	if !p.keep(out) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(in, out) // An error ends the connection, which is all there is to do.
		_ = in.Close()
	})
	_, _ = io.Copy(out, in)
	_ = out.Close()
	back.Wait()
}

// keep registers a connection; false when the link is cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.cut {
		return false
	}
	p.mu.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.conns, c)
	_ = c.Close() // Often closed already.
}
