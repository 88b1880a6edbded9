package sasl

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"jackdaw/protocol"
	"jackdaw/security"
)

// bearerToken makes a token of claims, signed by key, or with nil by nobody.
func bearerToken(t *testing.T, claims jwt.MapClaims, key *ecdsa.PrivateKey, kid string) string {
	t.Helper()
	var method jwt.SigningMethod = jwt.SigningMethodES256
	var with any = key
	if key == nil {
		method, with = jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = kid
	text, err := token.SignedString(with)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func claims(change func(jwt.MapClaims)) jwt.MapClaims {
	now := time.Now().Unix()
	c := jwt.MapClaims{"sub": "alice", "iat": now - 10, "exp": now + 100, "iss": "issuer", "aud": "kafka", "scope": "read write"}
	if change != nil {
		change(c)
	}
	return c
}

// show lets a client show a token, and acknowledge what is wrong with it.
func show(t *testing.T, s *Settings, message string) (server *Server, lifetime time.Duration, challenge string, err error) {
	t.Helper()
	server = NewServer(s)
	if _, err := server.Handshake(OAuthBearer, 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	reply, lifetime, err := server.Authenticate([]byte(message), time.Now())
	if err == nil && !server.Proven() {
		challenge = string(reply)
		_, _, err = server.Authenticate([]byte{1}, time.Now())
	}
	return server, lifetime, challenge, err
}

func bearing(token string) string { return "n,,\x01auth=Bearer " + token + "\x01\x01" }

func oauthSettings(tokens Tokens, options map[string]string) *Settings {
	return &Settings{Mechanisms: []string{OAuthBearer}, Tokens: tokens, JAAS: map[string]Module{OAuthBearer: {Options: options}}}
}

func TestBearer_Unsecured_AsInKafka(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := bearerToken(t, claims(nil), nil, "")
	scoped := map[string]string{"unsecuredValidatorRequiredScope": "write admin"}
	for _, tc := range []struct {
		name, message string
		options       map[string]string
		challenge     string // "" is let in
	}{
		{name: "good", message: bearing(good)},
		{name: "with an authorization id and extensions", message: "n,a=alice,\x01x=y\x01auth=bearer " + good + "\x01z=1\x01\x01"},
		{name: "expired", message: bearing(bearerToken(t, claims(func(c jwt.MapClaims) { c["exp"] = time.Now().Unix() - 1 }), nil, "")), challenge: `{"status":"invalid_token"}`},
		{name: "no expiry", message: bearing(bearerToken(t, claims(func(c jwt.MapClaims) { delete(c, "exp") }), nil, "")), challenge: `{"status":"invalid_token"}`},
		{name: "of the future", message: bearing(bearerToken(t, claims(func(c jwt.MapClaims) { c["iat"] = time.Now().Unix() + 50 }), nil, "")), challenge: `{"status":"invalid_token"}`},
		{name: "nobody's", message: bearing(bearerToken(t, claims(func(c jwt.MapClaims) { delete(c, "sub") }), nil, "")), challenge: `{"status":"invalid_token"}`},
		{name: "signed", message: bearing(bearerToken(t, claims(nil), key, "1")), challenge: `{"status":"invalid_token"}`},
		{name: "not a token", message: bearing("abc"), challenge: `{"status":"invalid_token"}`},
		{name: "scope that is missing", message: bearing(good), options: scoped, challenge: `{"status":"insufficient_scope","scope":"write admin"}`},
		{name: "another claim for the name", message: bearing(good), options: map[string]string{"unsecuredValidatorPrincipalClaimName": "nick"}, challenge: `{"status":"invalid_token"}`},
	} {
		s, lifetime, challenge, err := show(t, oauthSettings(Tokens{}, tc.options), tc.message)
		if challenge != tc.challenge {
			t.Errorf("%s: challenge %s, %v", tc.name, challenge, err)
		}
		if tc.challenge != "" {
			if err == nil || *protocol.ErrorMessage(err) != tc.challenge || s.Proven() {
				t.Errorf("%s: refused with %v", tc.name, err)
			}
			continue
		}
		if err != nil || s.Principal() != security.User("alice") || lifetime < 90*time.Second || lifetime > 100*time.Second {
			t.Errorf("%s: %v for %v, %v", tc.name, s.Principal(), lifetime, err)
		}
	}
	for message, want := range map[string]string{
		"": "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER",
		"n,a=bob,\x01auth=Bearer " + good + "\x01\x01": "Authentication failed: Client requested an authorization id (bob) that is different from the token's principal name (alice)",
	} {
		if _, _, _, err := show(t, oauthSettings(Tokens{}, nil), message); err == nil || *protocol.ErrorMessage(err) != want {
			t.Errorf("%q: %v", message, err)
		}
	}
}

func TestBearer_BetweenBrokers_OwnTokenIsGood(t *testing.T) {
	l, err := NewLogin(OAuthBearer, Module{Options: map[string]string{"unsecuredLoginStringClaim_sub": "admin"}})
	if err != nil {
		t.Fatal(err)
	}
	_, first := l.Begin()
	if s, _, _, err := show(t, oauthSettings(Tokens{}, nil), string(first)); err != nil || s.Principal() != security.User("admin") {
		t.Errorf("%v", err)
	}
	c, _ := l.Begin()
	if token, err := c.Next([]byte(`{"status":"invalid_token"}`)); err != nil || string(token) != "\x01" {
		t.Errorf("after a refusal: %q, %v", token, err)
	}
}

func TestBearer_Signed_ByKeysOfTheEndpoint(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(map[string]any{"keys": []map[string]string{
		{"kty": "EC", "kid": "one", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}, {"kty": "oct", "kid": "secret", "k": "AAAA"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		fmt.Fprintf(w, "%s", set)
	}))
	defer server.Close()
	keys := NewKeys(server.URL, time.Hour)
	s := oauthSettings(Tokens{URL: server.URL, Keys: keys, Audience: []string{"kafka", "others"}, Issuer: "issuer", Skew: 5 * time.Second, SubClaim: "sub"}, nil)
	signed := func(change func(jwt.MapClaims), k *ecdsa.PrivateKey, kid string) string {
		return bearing(bearerToken(t, claims(change), k, kid))
	}
	if _, _, challenge, _ := show(t, s, signed(nil, key, "one")); challenge == "" {
		t.Error("let in before the keys are there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- keys.Run(ctx, func(err error) { t.Error(err) }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(time.Minute); len(*keys.keys.Load()) == 0; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no keys")
		}
	}
	for _, tc := range []struct {
		name, message string
		in            bool
	}{
		{"good", signed(nil, key, "one"), true},
		{"within the skew", signed(func(c jwt.MapClaims) { c["exp"] = time.Now().Unix() - 2 }, key, "one"), true},
		{"expired", signed(func(c jwt.MapClaims) { c["exp"] = time.Now().Unix() - 20 }, key, "one"), false},
		{"by another key", signed(nil, other, "one"), false},
		{"by an unknown key", signed(nil, other, "two"), false},
		{"by nobody", signed(nil, nil, "one"), false},
		{"of another issuer", signed(func(c jwt.MapClaims) { c["iss"] = "x" }, key, "one"), false},
		{"for others", signed(func(c jwt.MapClaims) { c["aud"] = []string{"x"} }, key, "one"), false},
		{"for several", signed(func(c jwt.MapClaims) { c["aud"] = []string{"x", "others"} }, key, "one"), true},
		{"not said when issued", signed(func(c jwt.MapClaims) { delete(c, "iat") }, key, "one"), false},
	} {
		if server, _, challenge, err := show(t, s, tc.message); server.Proven() != tc.in || !tc.in && challenge != `{"status":"invalid_token"}` {
			t.Errorf("%s: %s, %v", tc.name, challenge, err)
		}
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("%d fetches, within ten seconds", n)
	}
}

func TestParseKeys_BadSets_Refused(t *testing.T) {
	for _, set := range []string{
		"", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`, `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`,
		`{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]}`, `{"keys":[{"kty":"RSA","n":"?","e":"AQAB"}]}`,
		`{"keys":[{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A", 43) + `","y":"` + strings.Repeat("A", 43) + `"}]}`,
	} {
		if keys, err := parseKeys([]byte(set)); err == nil {
			t.Errorf("%s: %v", set, keys)
		}
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("n,,\x01auth=Bearer a.b.\x01\x01")
	f.Fuzz(func(t *testing.T, message string) {
		s := NewServer(oauthSettings(Tokens{URL: "http://localhost", Keys: NewKeys("", 0)}, nil))
		if _, err := s.Handshake(OAuthBearer, 1, epoch); err != nil {
			t.Fatal(err)
		}
		if _, _, _ = s.Authenticate([]byte(message), epoch); s.Proven() {
			t.Errorf("%q was let in", message)
		}
	})
}
