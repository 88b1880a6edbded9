package network

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"jackdaw/security"
)

// secure makes the TLS handshake of a connection under TLS, and learns from it who the peer is. Kafka: SslTransportLayer.
func (c *Conn) secure() error {
	tc, ok := c.nc.(*tls.Conn)
	if !ok {
		return c.awaitSASL()
	}
	if err := c.within(c.s.o.AuthTimeout, tc.Handshake); err != nil {
		return handshakeError(err, c.s.o.AuthTimeout)
	}
	c.touch()
	f := c.listener.Principal
	if f == nil || c.sasl != nil {
		return c.awaitSASL()
	}
	p, err := f(tc.ConnectionState())
	if err != nil {
		return err
	}
	c.SetPrincipal(p)
	if p != security.Anonymous {
		c.s.m.authenticated.WithLabelValues(c.listener.Name).Inc()
	}
	return nil
}

// insecure logs why a handshake has failed, unless the peer only went away, as a probe does.
func (c *Conn) insecure(err error) {
	if errors.Is(err, errDrained) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return
	}
	c.s.m.failed.WithLabelValues(c.listener.Name).Inc()
	c.s.events.log(eventHandshake, c, err)
}

// within bounds the time of what reads and writes. A drain that comes meanwhile ends it, or is found by who looks next.
func (c *Conn) within(d time.Duration, f func() error) error {
	if err := c.nc.SetDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	if c.isDraining() {
		return errDrained
	}
	if err := f(); err != nil {
		return err
	}
	return c.nc.SetDeadline(time.Time{})
}

// handshakeError says in words what a peer does that does not get through a handshake.
func handshakeError(err error, limit time.Duration) error {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		return fmt.Errorf("the peer does not speak TLS, as this listener does: %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("not finished within %v: %w", limit, err)
	}
	return err
}
