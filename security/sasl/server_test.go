package sasl

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/security"
)

var epoch = time.Unix(1_700_000_000, 0)

// listener has alice with the password secret, by each mechanism, and sessions that last for three seconds by PLAIN.
func listener(t testing.TB) *Settings {
	t.Helper()
	s := &Settings{
		Mechanisms: []string{Plain, ScramSHA256, ScramSHA512}, MaxReauth: map[string]time.Duration{Plain: 3 * time.Second}, MaxReceive: 1000,
		JAAS: map[string]Module{Plain: {plainClass, map[string]string{"user_alice": "secret", "user_bob": "other"}}},
	}
	s.Credential = func(mechanism, user string) (Credential, bool) {
		iterations := 4096
		switch user {
		case "alice", "a,l=ice":
		case "weak":
			iterations = 100
		default:
			return Credential{}, false
		}
		c, err := NewCredential(mechanism, []byte("salt"), "secret", iterations)
		if err != nil {
			t.Fatal(err)
		}
		return c, true
	}
	return s
}

// login goes through an exchange.
func login(t *testing.T, s *Server, mechanism, user, password string, now time.Time) (lifetime time.Duration, err error) {
	t.Helper()
	l, err := NewLogin(mechanism, Module{Options: map[string]string{"username": user, "password": password}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Handshake(mechanism, 1, now); err != nil {
		return 0, err
	}
	c, token := l.Begin()
	for token != nil {
		reply, life, err := s.Authenticate(token, now)
		if err != nil {
			return 0, err
		}
		if token, err = c.Next(reply); err != nil {
			t.Fatal(err)
		}
		lifetime = life
	}
	return lifetime, nil
}

func TestServer_Login_ByPassword(t *testing.T) {
	for _, tc := range []struct{ name, mechanism, user, password, told string }{
		{name: "PLAIN", mechanism: Plain, user: "alice", password: "secret"},
		{name: "SCRAM-SHA-256", mechanism: ScramSHA256, user: "alice", password: "secret"},
		{name: "SCRAM-SHA-512", mechanism: ScramSHA512, user: "alice", password: "secret"},
		{name: "a name that is escaped", mechanism: ScramSHA512, user: "a,l=ice", password: "secret"},
		{name: "PLAIN, wrong password", mechanism: Plain, user: "alice", password: "other", told: "Authentication failed: Invalid username or password"},
		{name: "PLAIN, unknown user", mechanism: Plain, user: "eve", password: "secret", told: "Authentication failed: Invalid username or password"},
		{name: "SCRAM, wrong password", mechanism: ScramSHA256, user: "alice", password: "other", told: "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"},
		{name: "SCRAM, unknown user", mechanism: ScramSHA512, user: "eve", password: "secret", told: "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"},
		{name: "SCRAM, too few iterations", mechanism: ScramSHA512, user: "weak", password: "secret", told: "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"},
	} {
		s := NewServer(listener(t))
		_, err := login(t, s, tc.mechanism, tc.user, tc.password, epoch)
		if tc.told != "" {
			if !errors.Is(err, kerr.SaslAuthenticationFailed) || *protocol.ErrorMessage(err) != tc.told || s.Proven() {
				t.Errorf("%s: %v, told %q", tc.name, err, *protocol.ErrorMessage(err))
			}
			continue
		}
		if err != nil || !s.Proven() || s.Principal() != security.User(tc.user) {
			t.Errorf("%s: %v, %v", tc.name, s.Principal(), err)
		}
	}
}

// The exchange of RFC 7677, section 3, with the nonce of its server.
func TestScram_ExampleOfTheRFC_Accepted(t *testing.T) {
	c, err := NewCredential(ScramSHA256, []byte("W"+"[m\x8e"), "pencil", 4096)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseCredential("salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096")
	if err != nil {
		t.Fatal(err)
	}
	if c, err = NewCredential(ScramSHA256, parsed.Salt, "pencil", 4096); err != nil || !slices.Equal(c.StoredKey, parsed.StoredKey) || !slices.Equal(c.ServerKey, parsed.ServerKey) {
		t.Errorf("credential of the example: %v", err)
	}
	s := &scram{mechanism: ScramSHA256, find: func(string, string) (Credential, bool) { return parsed, true }}
	if _, _, err := s.step([]byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")); err != nil {
		t.Fatal(err)
	}
	s.nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	s.exchange = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=" + s.nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	reply, who, err := s.step([]byte("c=biws,r=" + s.nonce + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
	if err != nil || who == nil || who.name != "user" || string(reply) != "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Errorf("%s, %v", reply, err)
	}
}

// librdkafka sends its own nonce twice.
func TestScram_NonceWithMoreInFront_AcceptedAsInKafka(t *testing.T) {
	c := &scramClient{mechanism: ScramSHA256, user: "alice", password: "secret"}
	s := &scram{mechanism: ScramSHA256, find: listener(t).Credential}
	reply, _, err := s.step(c.first())
	if err != nil {
		t.Fatal(err)
	}
	final, _, err := c.next([]byte(strings.Replace(string(reply), "r=", "r="+c.own, 1)))
	if err != nil {
		t.Fatal(err)
	}
	// The client's proof is over what it thinks the server has said.
	s.exchange = strings.Replace(s.exchange, ",r="+s.nonce+",s=", ",r="+c.own+s.nonce+",s=", 1)
	if _, who, err := s.step(final); err != nil || who == nil {
		t.Errorf("%v", err)
	}
}

func TestServer_Tokens_ThatAreNone_Refused(t *testing.T) {
	const general = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
	for _, tc := range []struct{ mechanism, token, told string }{
		{Plain, "", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"},
		{Plain, "a\x00b\x00c\x00d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"},
		{Plain, "\x00\x00secret", "Authentication failed: username not specified"},
		{Plain, "\x00alice\x00", "Authentication failed: password not specified"},
		{Plain, "bob\x00alice\x00secret", "Authentication failed: Client requested an authorization id that is different from username"},
		{ScramSHA256, "", general},
		{ScramSHA256, "y,,n=alice,r=abc", general},
		{ScramSHA256, "n,,n=,r=abc", general},
		{ScramSHA256, "n,,n=al=ice,r=abc", general},
		{ScramSHA256, "n,a=bob,n=alice,r=abc", "Authentication failed: Client requested an authorization id that is different from username"},
	} {
		s := NewServer(listener(t))
		if _, err := s.Handshake(tc.mechanism, 1, epoch); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Authenticate([]byte(tc.token), epoch)
		if err == nil || *protocol.ErrorMessage(err) != tc.told {
			t.Errorf("%s %q: %v", tc.mechanism, tc.token, err)
		}
	}
}

func TestServer_Admit_OnlyWhatComesNext(t *testing.T) {
	admit := func(s *Server, key kmsg.Key, now time.Time, wantMine, wantErr bool) {
		t.Helper()
		mine, err := s.Admit(key, now)
		if mine != wantMine || (err != nil) != wantErr {
			t.Errorf("%s: %v, %v", key.Name(), mine, err)
		}
	}
	s := NewServer(listener(t))
	admit(s, kmsg.ApiVersions, epoch, true, false)
	admit(s, kmsg.SASLHandshake, epoch, true, false)
	admit(s, kmsg.SASLAuthenticate, epoch, true, true)
	admit(s, kmsg.Metadata, epoch, true, true)
	if all, err := s.Handshake("GSSAPI", 1, epoch); !errors.Is(err, kerr.UnsupportedSaslMechanism) || !slices.Equal(all, listener(t).Mechanisms) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := s.Handshake(Plain, 0, epoch); err != nil || !s.Bare() {
		t.Errorf("handshake v0: %v", err)
	}
	admit(s, kmsg.SASLAuthenticate, epoch, true, false)
	admit(s, kmsg.ApiVersions, epoch, true, true)
	if n, ok := s.MaxReceive(); n != 1000 || !ok {
		t.Errorf("bound %d, %v", n, ok)
	}
	if _, _, err := s.Authenticate([]byte("\x00alice\x00secret"), epoch); err != nil || s.Bare() {
		t.Errorf("%v", err)
	}
	if _, ok := s.MaxReceive(); ok {
		t.Error("still bounded")
	}
	admit(s, kmsg.Produce, epoch, false, false)
	admit(s, kmsg.Produce, epoch.Add(3*time.Second), false, false)
	admit(s, kmsg.Produce, epoch.Add(3*time.Second+1), false, true)
	admit(s, kmsg.SASLHandshake, epoch.Add(4*time.Second), true, false)

	forEver := NewServer(listener(t))
	if life, err := login(t, forEver, ScramSHA256, "alice", "secret", epoch); err != nil || life != 0 {
		t.Errorf("%v, %v", life, err)
	}
	admit(forEver, kmsg.SASLHandshake, epoch.Add(time.Hour), false, false) // answered as out of place
	admit(forEver, kmsg.Produce, epoch.Add(time.Hour), false, false)
}

func TestServer_LoginAgain_SameUserAndMechanismOnly(t *testing.T) {
	for _, tc := range []struct{ name, mechanism, user, password, told string }{
		{name: "the same", mechanism: Plain, user: "alice", password: "secret"},
		{name: "another user", mechanism: Plain, user: "bob", password: "other", told: "Cannot change principals during re-authentication from User.alice: User.bob"},
		{name: "another mechanism", mechanism: ScramSHA256, user: "alice", password: "secret", told: "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for re-authentication of mechanism 'PLAIN'"},
	} {
		s := NewServer(listener(t))
		if life, err := login(t, s, Plain, "alice", "secret", epoch); err != nil || life != 3*time.Second {
			t.Fatalf("%v, %v", life, err)
		}
		later := epoch.Add(2500 * time.Millisecond)
		if mine, err := s.Admit(kmsg.SASLHandshake, later); !mine || err != nil {
			t.Fatalf("%s: %v, %v", tc.name, mine, err)
		}
		_, err := login(t, s, tc.mechanism, tc.user, tc.password, later)
		if tc.told != "" {
			if err == nil || *protocol.ErrorMessage(err) != tc.told {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if _, err := s.Admit(kmsg.Produce, epoch.Add(5*time.Second)); err != nil {
			t.Errorf("the session was not prolonged: %v", err)
		}
		// Twice within a second is once too often: the handshake is answered as out of place.
		if mine, err := s.Admit(kmsg.SASLHandshake, later.Add(time.Second-1)); mine || err != nil {
			t.Errorf("again at once: %v, %v", mine, err)
		}
	}
}

func TestParseCredential_Text_AsKafka(t *testing.T) {
	const good = "salt=YQ==,stored_key=Yg==,server_key=Yw==,iterations=4096"
	c, err := ParseCredential(good)
	if err != nil || string(c.Salt) != "a" || string(c.StoredKey) != "b" || string(c.ServerKey) != "c" || c.Iterations != 4096 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "salt=YQ==", good + ",iterations=1", good + ",x=y", strings.Replace(good, "4096", "many", 1), strings.Replace(good, "Yg==", "?", 1)} {
		if _, err := ParseCredential(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestScramClient_ServerThatLies_Refused(t *testing.T) {
	for _, challenge := range []string{
		"", "r=other,s=c2FsdA==,i=4096", "r=OWNx,s=c2FsdA==,i=10", "r=OWNx,s=c2FsdA==,i=999999999", "e=other-error",
	} {
		c := &scramClient{mechanism: ScramSHA256, user: "alice", password: "secret"}
		c.first()
		if _, _, err := c.next([]byte(strings.Replace(challenge, "OWN", c.own, 1))); err == nil {
			t.Errorf("%q was accepted", challenge)
		}
	}
	c := &scramClient{mechanism: ScramSHA256, user: "alice", password: "secret"}
	c.first()
	if _, _, err := c.next([]byte("r=" + c.own + "x,s=c2FsdA==,i=4096")); err != nil {
		t.Fatal(err)
	}
	for _, final := range []string{"", "v=", "v=AAAA", "e=invalid-proof"} {
		if _, _, err := c.next([]byte(final)); err == nil {
			t.Errorf("%q was accepted", final)
		}
	}
}

func FuzzServer(f *testing.F) {
	f.Add(uint8(0), []byte("\x00alice\x00secret"), []byte(""))
	f.Add(uint8(1), []byte("n,,n=alice,r=abc"), []byte("c=biws,r=abc,p=AAAA"))
	settings := listener(f)
	f.Fuzz(func(t *testing.T, which uint8, first, second []byte) {
		s := NewServer(settings)
		if _, err := s.Handshake(settings.Mechanisms[int(which)%3], int16(which)&1, epoch); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Authenticate(first, epoch)
		if err == nil && !s.Proven() {
			_, _, err = s.Authenticate(second, epoch)
		}
		if s.Proven() && which%3 != 0 {
			t.Errorf("proven by %q, %q", first, second)
		}
		_ = err
	})
}
