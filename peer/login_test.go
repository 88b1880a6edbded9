package peer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/security/sasl"
)

// loginBroker asks for PLAIN, and answers what comes after it with error 41.
func loginBroker(t *testing.T, lifetime time.Duration) (*fakeBroker, *[]string) {
	t.Helper()
	s := sasl.NewServer(&sasl.Settings{
		Mechanisms: []string{sasl.Plain}, MaxReauth: map[string]time.Duration{sasl.Plain: lifetime},
		JAAS: map[string]sasl.Module{sasl.Plain: {
			Class: "org.apache.kafka.common.security.plain.PlainLoginModule", Options: map[string]string{"user_admin": "secret"},
		}},
	})
	var seen []string // the broker answers one after the other
	now := time.Now()
	return startBroker(t, func(_ int32, frame []byte) []byte {
		h, body, err := protocol.ParseRequest(frame)
		if err != nil {
			t.Error(err)
			return nil
		}
		req, err := protocol.DecodeChecked(h, body)
		if err != nil {
			t.Error(err)
			return nil
		}
		seen = append(seen, kmsg.NameForKey(h.Key))
		resp := req.ResponseKind()
		switch r := req.(type) {
		case *kmsg.SASLHandshakeRequest:
			_, err := s.Handshake(r.Mechanism, r.Version, now)
			resp.(*kmsg.SASLHandshakeResponse).ErrorCode = protocol.ErrorCode(err)
		case *kmsg.SASLAuthenticateRequest:
			a := resp.(*kmsg.SASLAuthenticateResponse)
			reply, life, err := s.Authenticate(r.SASLAuthBytes, now)
			a.SASLAuthBytes, a.SessionLifetimeMillis = reply, life.Milliseconds()
			a.ErrorCode, a.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
		case *kmsg.ControlledShutdownRequest:
			resp.(*kmsg.ControlledShutdownResponse).ErrorCode = kerr.NotController.Code
		}
		return resp.AppendTo(nil)
	}), &seen
}

func login(t *testing.T, mechanism, password string) Options {
	t.Helper()
	l, err := sasl.NewLogin(mechanism, sasl.Module{Options: map[string]string{"username": "admin", "password": password}})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Login: &l, Timeout: 20 * time.Second}
}

func TestDial_Login_AndAgainBeforeTheSessionEnds(t *testing.T) {
	b, seen := loginBroker(t, 100*time.Millisecond)
	c, err := Dial(t.Context(), b.addr, login(t, sasl.Plain, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Request(t.Context(), shutdownRequest()); err != nil {
		t.Fatal(err)
	}
	c.loginAgain = time.Now().Add(-time.Millisecond) // as if nine tenths of the session had passed
	if _, err := c.Request(t.Context(), shutdownRequest()); err != nil {
		t.Fatal(err)
	}
	if c.loginAgain.Before(time.Now().Add(-time.Second)) {
		t.Error("the next login is not planned")
	}
	const want = "SASLHandshake SASLAuthenticate ControlledShutdown SASLHandshake SASLAuthenticate ControlledShutdown"
	if got := strings.Join(*seen, " "); got != want {
		t.Errorf("requests %s", got)
	}
}

func TestDial_LoginRefused_TellsWhy(t *testing.T) {
	for _, tc := range []struct {
		mechanism, password string
		want                *kerr.Error
		text                string
	}{
		{sasl.Plain, "wrong", kerr.SaslAuthenticationFailed, "Authentication failed: Invalid username or password"},
		{sasl.ScramSHA256, "secret", kerr.UnsupportedSaslMechanism, "mechanism SCRAM-SHA-256"},
	} {
		b, _ := loginBroker(t, 0)
		_, err := Dial(t.Context(), b.addr, login(t, tc.mechanism, tc.password))
		var e *Error
		if !errors.Is(err, tc.want) || !errors.As(err, &e) || e.Op != "sasl authentication" || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", tc.mechanism, err)
		}
		if IsReset(err) || IsRefused(err) || IsTimeout(err) {
			t.Errorf("%s: taken for a broker that is gone: %v", tc.mechanism, err)
		}
	}
}

func TestLoginAgain_BeforeTheEnd(t *testing.T) {
	now := time.Unix(1000, 0)
	if got := loginAgain(10*time.Second, now); got != now.Add(9*time.Second) {
		t.Errorf("at %v", got)
	}
	if got := loginAgain(0, now); !got.IsZero() {
		t.Errorf("at %v, though the session does not end", got)
	}
}
