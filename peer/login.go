package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// login proves to the other side who this broker is, at the start and again before a session ends (KIP-368). After an
// error the connection is of no use. Kafka: SaslClientAuthenticator.
func (c *Conn) login(ctx context.Context) error {
	err := c.authenticate(ctx)
	if err == nil {
		return nil
	}
	var known *Error
	if !errors.As(err, &known) {
		err = &Error{Addr: c.addr, Op: "sasl authentication", Err: err}
	}
	c.err = err
	_ = c.nc.Close() // the first error is the one that counts
	return err
}

func (c *Conn) authenticate(ctx context.Context) error {
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.SetVersion(1)
	hello.Mechanism = c.o.Login.Mechanism
	resp, err := c.request(ctx, hello)
	if err != nil {
		return err
	}
	if h := resp.(*kmsg.SASLHandshakeResponse); h.ErrorCode != 0 {
		return fmt.Errorf("mechanism %s, enabled are %v: %w", hello.Mechanism, h.SupportedMechanisms, kerr.ErrorForCode(h.ErrorCode))
	}
	client, token := c.o.Login.Begin()
	for token != nil {
		a, err := c.prove(ctx, token)
		if err != nil {
			return err
		}
		if token, err = client.Next(a.SASLAuthBytes); err != nil {
			return err
		}
		c.loginAgain = loginAgain(time.Duration(a.SessionLifetimeMillis)*time.Millisecond, time.Now())
	}
	return nil
}

func (c *Conn) prove(ctx context.Context, token []byte) (*kmsg.SASLAuthenticateResponse, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SetVersion(1)
	req.SASLAuthBytes = token
	resp, err := c.request(ctx, req)
	if err != nil {
		return nil, err
	}
	a := resp.(*kmsg.SASLAuthenticateResponse)
	if a.ErrorCode == 0 {
		return a, nil
	}
	text := ""
	if a.ErrorMessage != nil {
		text = *a.ErrorMessage
	}
	return nil, fmt.Errorf("%s: %w", text, kerr.ErrorForCode(a.ErrorCode))
}

// loginAgain is early enough before the end of a session.
func loginAgain(lifetime time.Duration, now time.Time) time.Time {
	if lifetime <= 0 {
		return time.Time{}
	}
	return now.Add(lifetime * 9 / 10)
}
