package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errRefused ends a connection after the answer that refuses it.
var errRefused = errors.New("refused")

// admission is what becomes of a frame on a connection that has to authenticate.
type admission int

const (
	passes    admission = iota
	proves              // it is a part of the authentication
	misplaced           // the same, but at the wrong time: it is answered, and the connection closed
	dealtWith           // it was a token, and is answered
)

// awaitSASL bounds the time that a peer has to prove who it is, where it has to.
func (c *Conn) awaitSASL() error {
	if c.sasl == nil {
		return nil
	}
	if err := c.nc.SetReadDeadline(time.Now().Add(c.s.o.AuthTimeout)); err != nil {
		return err
	}
	if c.isDraining() {
		return errDrained
	}
	return nil
}

// admitRequest looks at a frame before it is decoded: little of what a stranger sends is worth that.
func (c *Conn) admitRequest(frame []byte) (admission, error) {
	now := time.Now()
	if c.sasl.Bare() {
		return dealtWith, c.bareToken(frame, now)
	}
	if len(frame) < 2 {
		return passes, nil // which is refused as malformed
	}
	key := kmsg.Key(binary.BigEndian.Uint16(frame))
	mine, err := c.sasl.Admit(key, now)
	switch {
	case err != nil && mine && key == kmsg.SASLHandshake:
		return misplaced, nil
	case err != nil:
		c.unauthenticated(err)
		return passes, errRefused
	case mine:
		return proves, nil
	}
	return passes, nil
}

// bareToken answers a token that came without a header, after SaslHandshake v0, in the same way.
func (c *Conn) bareToken(frame []byte, now time.Time) error {
	defer c.in.release()
	reply, _, err := c.prove(frame, now)
	if err != nil {
		c.unauthenticated(err)
		pause(c.ctx, c.s.o.FailedAuthDelay)
		return errRefused
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(reply)))
	_, err = c.nc.Write(append(out, reply...)) // nothing else is in work, so that nobody else writes
	c.touch()
	return err
}

// Prove takes a token of the client; see sasl.Server.Authenticate. It may be called from Handle, when SASL is not nil.
func (r *Request) Prove(token []byte) (reply []byte, lifetime time.Duration, err error) {
	return r.Conn.prove(token, time.Now())
}

func (c *Conn) prove(token []byte, now time.Time) (reply []byte, lifetime time.Duration, err error) {
	reply, lifetime, err = c.sasl.Authenticate(token, now)
	if err != nil || !c.sasl.Proven() {
		return reply, lifetime, err
	}
	c.SetPrincipal(c.sasl.Principal())
	c.s.m.authenticated.WithLabelValues(c.listener.Name).Inc()
	return reply, lifetime, c.nc.SetReadDeadline(time.Time{}) // a drain that this undoes is seen before the next frame
}

// Refuse answers a request of a peer that has not proven who it is, after a while, and closes the connection. It may be
// called from Handle. Kafka: DelayedAuthenticationFailureClose.
func (r *Request) Refuse(resp kmsg.Response, why error) {
	r.Conn.unauthenticated(why)
	pause(r.Conn.ctx, r.Conn.s.o.FailedAuthDelay)
	r.last = true
	r.Respond(resp)
}

// unauthenticated logs why a peer is not let in.
func (c *Conn) unauthenticated(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("not finished within %v: %w", c.s.o.AuthTimeout, err)
	}
	c.s.m.failed.WithLabelValues(c.listener.Name).Inc()
	c.s.events.log(eventAuthentication, c, err)
}
