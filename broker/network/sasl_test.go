package network

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/security"
	"jackdaw/security/sasl"
)

// guarded is a listener that alice may use, and how the broker's handlers answer.
func guarded(life time.Duration) ([]ListenerConfig, HandlerFunc) {
	s := &sasl.Settings{
		Mechanisms: []string{sasl.Plain}, MaxReceive: 1000, MaxReauth: map[string]time.Duration{sasl.Plain: life},
		JAAS: map[string]sasl.Module{sasl.Plain: {
			Class: "org.apache.kafka.common.security.plain.PlainLoginModule", Options: map[string]string{"user_alice": "secret"},
		}},
	}
	return []ListenerConfig{{Name: "SASL", Addr: "127.0.0.1:0", SASL: s}}, func(r *Request) {
		resp := r.Body.ResponseKind()
		var err error
		switch req := r.Body.(type) {
		case *kmsg.SASLHandshakeRequest:
			err = kerr.IllegalSaslState
			if r.SASL != nil {
				_, err = r.SASL.Handshake(req.Mechanism, req.Version, r.Received)
			}
			resp.(*kmsg.SASLHandshakeResponse).ErrorCode = protocol.ErrorCode(err)
		case *kmsg.SASLAuthenticateRequest:
			_, _, err = r.Prove(req.SASLAuthBytes)
			resp.(*kmsg.SASLAuthenticateResponse).ErrorCode = protocol.ErrorCode(err)
		}
		if err != nil && r.SASL != nil {
			r.Refuse(resp, err)
			return
		}
		r.Respond(resp)
	}
}

func handshake(version int16) kmsg.Request {
	r := kmsg.NewPtrSASLHandshakeRequest()
	r.SetVersion(version)
	r.Mechanism = sasl.Plain
	return r
}

func token(text string) kmsg.Request {
	r := kmsg.NewPtrSASLAuthenticateRequest()
	r.SetVersion(1)
	r.SASLAuthBytes = []byte(text)
	return r
}

const alice = "\x00alice\x00secret"

func TestSASL_Login_ThenEverything(t *testing.T) {
	listeners, handle := guarded(0)
	who := make(chan security.Principal, 1)
	s := startServer(t, Options{Listeners: listeners, AuthTimeout: 2 * time.Second}, func(r *Request) {
		if r.Key == int16(kmsg.Produce) {
			who <- r.Conn.Principal()
		}
		handle(r)
	})
	c := dial(t, s, "SASL")
	c.send(handshake(1), token(alice), produceRequest(1, make([]byte, 100_000))) // a client that does not wait
	c.expect(1)
	c.expect(2)
	if p := receive(t, who); p != security.User("alice") {
		t.Errorf("principal %s", p)
	}
	c.expect(3)
	time.AfterFunc(2100*time.Millisecond, func() { c.send(metadataRequest()) }) // the time for the login does not count any more
	c.expect(4)
}

func TestSASL_BareTokens_AnsweredBare(t *testing.T) {
	listeners, handle := guarded(0)
	s := startServer(t, Options{Listeners: listeners}, handle)
	c := dial(t, s, "SASL")
	c.send(handshake(0))
	c.expect(1)
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(alice))), alice...)); err != nil {
		t.Fatal(err)
	}
	if p, err := c.frame(); err != nil || len(p) != 0 {
		t.Fatalf("answer %q, %v", p, err)
	}
	c.send(metadataRequest())
	c.expect(2)
}

// What a stranger may not do costs his connection, and only that; the log says why.
func TestSASL_Strangers_ClosedWithTheReason(t *testing.T) {
	raw := func(r kmsg.Request) string { return string(protocol.AppendRequest(nil, "test", 1, r)) }
	for _, tc := range []struct {
		name, send string
		answers    int
		want       string
	}{
		{"Metadata", raw(metadataRequest()), 0, "Unexpected Kafka request of type Metadata during SASL handshake"},
		{"Produce of a megabyte", raw(produceRequest(1, make([]byte, 1<<20))), 0, "larger than 1000"},
		{"a token at once", raw(token(alice)), 0, "Unexpected Kafka request of type SASLAuthenticate during SASL handshake"},
		{"Metadata in place of a token", raw(handshake(1)) + raw(metadataRequest()), 1, "Unexpected Kafka request of type Metadata during SASL authentication"},
		{"two handshakes", raw(handshake(1)) + raw(handshake(1)), 2, ""},
		{"a wrong password", raw(handshake(1)) + raw(token("\x00alice\x00wrong")), 2, "Authentication failed: Invalid username or password"},
		{"a wrong bare token", raw(handshake(0)) + "\x00\x00\x00\x01x", 1, "expected 3 tokens, got 1"},
		{"an empty bare token", raw(handshake(0)) + "\x00\x00\x00\x00", 1, "invalid receive (size = 0)"},
		{"one byte", "\x00\x00\x00\x01x", 0, "authentication failed"},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", 0, "larger than 1000"},
		{"nothing", "", 0, "not finished within 300ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			listeners, handle := guarded(0)
			out, lg := logged()
			o := Options{Listeners: listeners, Logger: lg, FailedAuthDelay: time.Millisecond}
			if tc.send == "" {
				o.AuthTimeout = 300 * time.Millisecond
			}
			s := startServer(t, o, handle)
			c := dial(t, s, "SASL")
			if _, err := c.Write([]byte(tc.send)); err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
				t.Fatal(err)
			}
			n := 0
			for _, err := c.frame(); err == nil; _, err = c.frame() {
				n++
			}
			if n != tc.answers {
				t.Errorf("%d answers, want %d", n, tc.answers)
			}
			out.await(t, tc.want)
		})
	}
}

func TestSASL_SessionExpired_NextRequestCloses(t *testing.T) {
	listeners, handle := guarded(50 * time.Millisecond)
	s := startServer(t, Options{Listeners: listeners}, handle)
	c := dial(t, s, "SASL")
	c.send(handshake(1), token(alice))
	c.expect(1)
	c.expect(2)
	p := protocol.AppendRequest(nil, "test", 3, metadataRequest())
	for {
		if _, err := c.Write(p); err != nil {
			return // closed
		}
		if _, err := c.frame(); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("never closed")
		} else if err != nil {
			return
		}
	}
}

func TestSASL_ServerStops_StrangersAreDropped(t *testing.T) {
	listeners, handle := guarded(0)
	s := startServer(t, Options{Listeners: listeners}, handle)
	silent, half := dial(t, s, "SASL"), dial(t, s, "SASL")
	half.send(handshake(1))
	half.expect(1)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	half.expectClosed()
	silent.expectClosed()
}
