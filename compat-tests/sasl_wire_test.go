//go:build compat

package compat

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

func (s *secured) dialSASL(t *testing.T) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(s.addrs["SASL_PLAINTEXT"][0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func handshake(mechanism string) kmsg.Request {
	r := kmsg.NewPtrSASLHandshakeRequest()
	r.Mechanism = mechanism
	return r
}

func token(text string) kmsg.Request {
	r := kmsg.NewPtrSASLAuthenticateRequest()
	r.SASLAuthBytes = []byte(text)
	return r
}

const alice, wrong = "\x00alice\x00alice-secret", "\x00alice\x00wrong"

// bare sends a token without a header, and returns the answer.
func bare(t *testing.T, c *wire.Conn, text string) ([]byte, error) {
	t.Helper()
	if err := c.WriteRaw(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		t.Fatal(err)
	}
	return c.ReadFrame(wire.Timeout)
}

func closedNow(t *testing.T, c *wire.Conn, what string) {
	t.Helper()
	if _, err := c.ReadFrame(wire.Timeout); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("%s: %v, want the connection closed", what, err)
	}
}

// rawSASL is case S29: exchanges that clients really make, and some that they should not.
func (s *secured) rawSASL(t *testing.T) {
	t.Run("handshake v0 with bare tokens", func(t *testing.T) {
		c := s.dialSASL(t)
		if h := do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 0); h.ErrorCode != 0 {
			t.Fatalf("handshake: %d", h.ErrorCode)
		}
		if got, err := bare(t, c, alice); err != nil || len(got) != 0 {
			t.Fatalf("answer %q, %v", got, err)
		}
		do[*kmsg.ApiVersionsResponse](t, c, kmsg.NewPtrApiVersionsRequest(), 3)
		do[*kmsg.MetadataResponse](t, c, wire.NewMetadata(), 12)
		c = s.dialSASL(t)
		do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 0)
		if got, err := bare(t, c, wrong); !errors.Is(err, wire.ErrClosed) {
			t.Errorf("wrong password: %q, %v", got, err)
		}
	})
	for version := range int16(3) {
		c := s.dialSASL(t)
		do[*kmsg.ApiVersionsResponse](t, c, kmsg.NewPtrApiVersionsRequest(), 3)
		if h := do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 1); h.ErrorCode != 0 || len(h.SupportedMechanisms) != 1 {
			t.Errorf("handshake: %+v", h)
		}
		a := do[*kmsg.SASLAuthenticateResponse](t, c, token(alice), version)
		life := a.SessionLifetimeMillis
		if a.ErrorCode != 0 || version == 0 && life != 0 || version > 0 && (life <= 0 || life > 3000) {
			t.Errorf("v%d: %+v", version, a)
		}
		do[*kmsg.MetadataResponse](t, c, wire.NewMetadata(), 12)
	}
	t.Run("wrong password", func(t *testing.T) {
		c := s.dialSASL(t)
		do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 1)
		began := time.Now()
		a := do[*kmsg.SASLAuthenticateResponse](t, c, token(wrong), 2)
		if a.ErrorCode != kerr.SaslAuthenticationFailed.Code || deref(a.ErrorMessage) != "Authentication failed: Invalid username or password" {
			t.Errorf("%d, %s", a.ErrorCode, deref(a.ErrorMessage))
		}
		if took := time.Since(began); took < 90*time.Millisecond {
			t.Errorf("answered after %v, connection.failed.authentication.delay.ms is 100", took)
		}
		closedNow(t, c, "after the refusal")
	})
	t.Run("unknown mechanism", func(t *testing.T) {
		c := s.dialSASL(t)
		h := do[*kmsg.SASLHandshakeResponse](t, c, handshake("SCRAM-SHA-512"), 1)
		if h.ErrorCode != kerr.UnsupportedSaslMechanism.Code || strings.Join(h.SupportedMechanisms, ",") != "PLAIN" {
			t.Errorf("%+v", h)
		}
		closedNow(t, c, "after the refusal")
	})
	t.Run("out of place", s.outOfPlace)
	t.Run("again", s.loginAgain)
}

func (s *secured) outOfPlace(t *testing.T) {
	c := s.dialSASL(t)
	if _, err := c.WriteRequest(wire.NewMetadata(), 12); err != nil {
		t.Fatal(err)
	}
	closedNow(t, c, "Metadata before the login")

	c = s.dialSASL(t)
	if _, err := c.WriteRequest(token(alice), 2); err != nil {
		t.Fatal(err)
	}
	closedNow(t, c, "a token before the handshake")

	c = s.dialSASL(t)
	do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 1)
	if h := do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 1); h.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("a second handshake: %d", h.ErrorCode)
	}
	closedNow(t, c, "after a second handshake")

	c = s.dialSASL(t)
	if err := c.WriteRaw(binary.BigEndian.AppendUint32(nil, 524288+1)); err != nil {
		t.Fatal(err)
	}
	closedNow(t, c, "a frame larger than sasl.server.max.receive.size")

	c = s.dialSASL(t)
	do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), 1)
	do[*kmsg.SASLAuthenticateResponse](t, c, token(alice), 2)
	if a := do[*kmsg.SASLAuthenticateResponse](t, c, token(alice), 2); a.ErrorCode != kerr.IllegalSaslState.Code {
		t.Errorf("a token after the login: %d", a.ErrorCode)
	}
}

// loginAgain is KIP-368: sessions on SASL_PLAINTEXT last for three seconds.
func (s *secured) loginAgain(t *testing.T) {
	enter := func(version int16) *wire.Conn {
		c := s.dialSASL(t)
		do[*kmsg.SASLHandshakeResponse](t, c, handshake("PLAIN"), version)
		if version == 1 {
			do[*kmsg.SASLAuthenticateResponse](t, c, token(alice), 2)
		} else if _, err := bare(t, c, alice); err != nil {
			t.Fatal(err)
		}
		return c
	}
	stays, other, mechanism, expires, old := enter(1), enter(1), enter(1), enter(1), enter(0)
	pause(t, 2500*time.Millisecond)
	do[*kmsg.SASLHandshakeResponse](t, stays, handshake("PLAIN"), 1)
	if a := do[*kmsg.SASLAuthenticateResponse](t, stays, token(alice), 2); a.ErrorCode != 0 || a.SessionLifetimeMillis <= 0 {
		t.Errorf("again: %+v", a)
	}
	do[*kmsg.SASLHandshakeResponse](t, other, handshake("PLAIN"), 1)
	a := do[*kmsg.SASLAuthenticateResponse](t, other, token("\x00bob\x00bob-secret"), 2)
	if want := "Cannot change principals during re-authentication from User.alice: User.bob"; deref(a.ErrorMessage) != want {
		t.Errorf("as another user: %d, %s", a.ErrorCode, deref(a.ErrorMessage))
	}
	// Apache Kafka closes the connection without an answer.
	if h, err := mechanism.Do(handshake("SCRAM-SHA-512"), 1); err == nil && h.(*kmsg.SASLHandshakeResponse).ErrorCode != kerr.UnsupportedSaslMechanism.Code {
		t.Errorf("with another mechanism: %+v", h)
	}
	pause(t, 1500*time.Millisecond)
	do[*kmsg.MetadataResponse](t, stays, wire.NewMetadata(), 12)
	for what, c := range map[string]*wire.Conn{"an expired session": expires, "an expired session by handshake v0": old} {
		if _, err := c.WriteRequest(wire.NewMetadata(), 12); err != nil {
			t.Fatal(err)
		}
		closedNow(t, c, what)
	}
}
