package network

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"jackdaw/security"
	"jackdaw/security/ssl"
)

const stores = "../../security/keystore/testdata/"

func sslContext(t testing.TB, keys string, change ...func(*ssl.Settings)) *ssl.Context {
	t.Helper()
	location, password, trust := stores+keys, "secret1", stores+"trust.jks"
	s := ssl.Settings{
		Protocol: "TLSv1.3", ClientAuth: "requested", KeystoreType: "PKCS12", KeystoreLocation: &location, KeystorePassword: &password,
		TruststoreType: "JKS", TruststoreLocation: &trust, PrincipalMappingRules: "RULE:^CN=(.*?),.*$/$1/",
	}
	for _, f := range change {
		f(&s)
	}
	c, err := ssl.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clientTLS(t testing.TB, keys string) *tls.Config {
	return sslContext(t, keys).Client("localhost")
}

// secured are a listener without TLS and one with it.
func secured(t testing.TB) []ListenerConfig {
	c := sslContext(t, "keys.pkcs12")
	return []ListenerConfig{
		{Name: "PLAINTEXT", Addr: "127.0.0.1:0"},
		{Name: "SSL", Addr: "127.0.0.1:0", TLS: c.Server, Principal: c.Principal},
	}
}

func (c *client) overTLS(cfg *tls.Config) *client {
	return &client{t: c.t, Conn: tls.Client(c.Conn, cfg)}
}

// lines collects what is logged.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		l.mu.Lock()
		all := l.buf.String()
		l.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not in the log:\n%s", text, all)
		}
	}
}

func logged() (*lines, *slog.Logger) {
	l := &lines{}
	return l, slog.New(slog.NewTextHandler(l, nil))
}

func TestTLS_ClientWithCertificate_IsWhoItSays(t *testing.T) {
	who := make(chan security.Principal, 1)
	s := startServer(t, Options{Listeners: secured(t)}, func(r *Request) {
		who <- r.Conn.Principal()
		answerAll(r)
	})
	c := dial(t, s, "SSL").overTLS(clientTLS(t, "keys.pkcs12"))
	for i := range 3 {
		c.send(metadataRequest(), produceRequest(1, make([]byte, 300_000*i)))
		for j := range 2 {
			if p := receive(t, who); p != security.User("broker") {
				t.Errorf("principal %s", p)
			}
			c.expect(int32(2*i + j + 1))
		}
	}
	none := clientTLS(t, "keys.pkcs12")
	none.Certificates = nil
	c = dial(t, s, "SSL").overTLS(none)
	c.send(metadataRequest())
	if p := receive(t, who); p != security.Anonymous {
		t.Errorf("principal %s without a certificate", p)
	}
	c.expect(1)
}

func TestTLS_NoRuleForTheName_Closed(t *testing.T) {
	out, lg := logged()
	c := sslContext(t, "keys.pkcs12", func(s *ssl.Settings) { s.PrincipalMappingRules = "RULE:^CN=nobody$/x/" })
	s := startServer(t, Options{Logger: lg, Listeners: []ListenerConfig{{Name: "SSL", Addr: "127.0.0.1:0", TLS: c.Server, Principal: c.Principal}}}, answerAll)
	dial(t, s, "SSL").overTLS(clientTLS(t, "keys.pkcs12")).expectClosed()
	out.await(t, "Failed to map name for 'CN=broker,OU=Kafka,O=Jackdaw'")
}

// What does not speak TLS, or does and should not, costs its own connection and a line that says so.
func TestTLS_WrongProtocol_ClosedWithTheReason(t *testing.T) {
	for _, tc := range []struct{ name, listener, send, want string }{
		{"Kafka without TLS on a TLS port", "SSL", frame(3, 1, false, "\xff\xff\xff\xff"), "the peer does not speak TLS, as this listener does"},
		{"HTTP on a TLS port", "SSL", "GET / HTTP/1.1\r\n\r\n", "the peer does not speak TLS, as this listener does"},
		{"TLS on a port without", "PLAINTEXT", "\x16\x03\x01\x00\xf5\x01\x00\x00", "the peer speaks TLS, and this listener does not"},
		{"a handshake of nonsense", "SSL", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", "TLS handshake failed"},
		{"a record that is too long", "SSL", "\x16\x03\x01\xff\xff", "TLS handshake failed"},
		{"an alert", "SSL", "\x15\x03\x01\x00\x02\x02\x28", "TLS handshake failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, lg := logged()
			s := startServer(t, Options{Logger: lg, Listeners: secured(t)}, answerAll)
			c := dial(t, s, tc.listener)
			if _, err := c.Write([]byte(tc.send)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
			out.await(t, tc.want)
		})
	}
}

func TestTLS_UnfinishedHandshake_ClosedAndInNobodysWay(t *testing.T) {
	out, lg := logged()
	s := startServer(t, Options{Logger: lg, Listeners: secured(t), AuthTimeout: 2 * time.Second}, answerAll)
	var slow []*client
	for i := range 20 {
		c := dial(t, s, "SSL")
		if _, err := c.Write([]byte("\x16\x03\x01\x02\x00\x01\x00")[:i%8]); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	c := dial(t, s, "SSL").overTLS(clientTLS(t, "keys.pkcs12"))
	c.send(metadataRequest())
	c.expect(1)
	for _, c := range slow {
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatal(err)
		}
	}
	out.await(t, "not finished within 2s")
	c.send(metadataRequest()) // the limit was that of the handshake
	c.expect(2)
}

func TestTLS_ServerStops_HandshakeEnds(t *testing.T) {
	s := startServer(t, Options{Listeners: secured(t)}, answerAll)
	idle, half := dial(t, s, "SSL").overTLS(clientTLS(t, "keys.pkcs12")), dial(t, s, "SSL")
	idle.send(metadataRequest())
	idle.expect(1)
	if _, err := half.Write([]byte("\x16\x03")); err != nil {
		t.Fatal(err)
	}
	idle.send(metadataRequest()) // answered later than the other one was accepted
	idle.expect(2)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	idle.expectClosed()
}

func TestTLS_KeysReplaced_NextConnectionSeesThem(t *testing.T) {
	source := ssl.NewSource(sslContext(t, "keys.pkcs12"))
	s := startServer(t, Options{Listeners: []ListenerConfig{{Name: "SSL", Addr: "127.0.0.1:0", TLS: source.Server}}}, answerAll)
	old := dial(t, s, "SSL").overTLS(clientTLS(t, "keys.pkcs12"))
	old.send(metadataRequest())
	old.expect(1)
	source.Replace(sslContext(t, "keys.pkcs12", func(s *ssl.Settings) { s.ClientAuth = "required" }))
	none := clientTLS(t, "keys.pkcs12")
	none.Certificates = nil
	c := dial(t, s, "SSL").overTLS(none)
	if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate: %v", err)
	}
	old.send(metadataRequest())
	old.expect(2)
}
