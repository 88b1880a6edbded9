package ssl

import (
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"jackdaw/security"
)

const stores = "../keystore/testdata/"

func of(s string) *string { return &s }

// settings are those of a listener with the keys of CN=broker, names localhost and 127.0.0.1.
func settings(change ...func(*Settings)) Settings {
	s := Settings{
		Protocol: "TLSv1.3", EnabledProtocols: []string{"TLSv1.2", "TLSv1.3"}, ClientAuth: "none", EndpointIdentification: "https",
		KeystoreType: "PKCS12", KeystoreLocation: of(stores + "keys.pkcs12"), KeystorePassword: of("secret1"),
		TruststoreType: "JKS", TruststoreLocation: of(stores + "trust.jks"), PrincipalMappingRules: "DEFAULT",
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func load(t *testing.T, s Settings) *Context {
	t.Helper()
	c, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(t *testing.T, name string) *string {
	t.Helper()
	data, err := os.ReadFile(stores + name)
	if err != nil {
		t.Fatal(err)
	}
	return of(string(data))
}

func inline(t *testing.T) func(*Settings) {
	return func(s *Settings) {
		s.KeystoreType, s.KeystoreLocation, s.KeystorePassword = "PEM", nil, nil
		s.KeystoreKey, s.KeystoreCertificateChain = text(t, "key.pem"), text(t, "chain.pem")
		s.TruststoreType, s.TruststoreLocation, s.TruststoreCertificates = "PEM", nil, text(t, "ca.pem")
	}
}

// shake makes a connection between a server and a client, and returns what each says.
func shake(t *testing.T, server, client *tls.Config) (state tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, c := range []net.Conn{a, b} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	s := tls.Server(a, server)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1}) // a client of TLS 1.3 learns only now that it was refused
		}
		a.Close()
		done <- err
	}()
	c := tls.Client(b, client)
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = c.Read(make([]byte, 1))
	}
	b.Close()
	serverErr = <-done
	return s.ConnectionState(), serverErr, clientErr
}

func TestContext_Handshake_AsSettingsSay(t *testing.T) {
	for _, tc := range []struct {
		name           string
		server, client func(*Settings)
		host           string
		version        uint16
		principal      string
		fault          string // part of either error
	}{
		{name: "no client authentication", version: tls.VersionTLS13},
		{name: "keys inline", server: inline(t), client: inline(t), version: tls.VersionTLS13},
		{name: "required, and the client has a key", server: func(s *Settings) { s.ClientAuth = "required" }, version: tls.VersionTLS13, principal: "CN=broker,OU=Kafka,O=Jackdaw"},
		{name: "requested, and the client has a key", server: func(s *Settings) { s.ClientAuth = "requested" }, version: tls.VersionTLS13, principal: "CN=broker,OU=Kafka,O=Jackdaw"},
		{
			name: "required, and the client has none", server: func(s *Settings) { s.ClientAuth = "required" },
			client: func(s *Settings) { s.KeystoreLocation, s.KeystorePassword = nil, nil }, fault: "didn't provide a certificate",
		},
		{
			name: "requested, and the client has none", server: func(s *Settings) { s.ClientAuth = "requested" },
			client: func(s *Settings) { s.KeystoreLocation, s.KeystorePassword = nil, nil }, version: tls.VersionTLS13,
		},
		{name: "by address", host: "127.0.0.1", version: tls.VersionTLS13},
		{name: "another host", host: "broker.example", fault: "certificate is valid for localhost, not broker.example"},
		{name: "another host, not looked at", host: "broker.example", client: func(s *Settings) { s.EndpointIdentification = "" }, version: tls.VersionTLS13},
		{name: "TLS 1.2 only", server: func(s *Settings) { s.EnabledProtocols = []string{"TLSv1.2"} }, version: tls.VersionTLS12},
		{
			name: "no version in common", server: func(s *Settings) { s.EnabledProtocols = []string{"TLSv1.2"} },
			client: func(s *Settings) { s.EnabledProtocols = []string{"TLSv1.3"} }, fault: "protocol version",
		},
		{
			name:   "one cipher",
			server: func(s *Settings) { s.CipherSuites = []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"} }, version: tls.VersionTLS12,
		},
		{
			name: "no cipher in common", server: func(s *Settings) { s.CipherSuites = []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"} },
			client: func(s *Settings) { s.CipherSuites = []string{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"} }, fault: "no cipher suite",
		},
		{
			name: "an unknown CA", client: func(s *Settings) { s.TruststoreLocation = of("testdata/names.pem"); s.TruststoreType = "PEM" },
			fault: "signed by unknown authority",
		},
		{name: "no key at the server", server: func(s *Settings) { s.KeystoreLocation, s.KeystorePassword = nil, nil }, fault: "no certificates configured"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nothing := func(*Settings) {}
			if tc.server == nil {
				tc.server = nothing
			}
			if tc.client == nil {
				tc.client = nothing
			}
			if tc.host == "" {
				tc.host = "localhost"
			}
			state, serverErr, clientErr := shake(t, load(t, settings(tc.server)).Server(), load(t, settings(tc.client)).Client(tc.host))
			if tc.fault != "" {
				if both := errText(serverErr) + " / " + errText(clientErr); !strings.Contains(both, tc.fault) {
					t.Errorf("errors %s, want %q", both, tc.fault)
				}
				return
			}
			if serverErr != nil || clientErr != nil {
				t.Fatalf("server %v, client %v", serverErr, clientErr)
			}
			if state.Version != tc.version {
				t.Errorf("version %x", state.Version)
			}
			want := security.Anonymous
			if tc.principal != "" {
				want = security.User(tc.principal)
			}
			if p, err := load(t, settings()).Principal(state); p != want || err != nil {
				t.Errorf("principal %q, %v, want %q", p, err, tc.principal)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoad_SettingsThatDoNotFit_Refused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"no such file", func(s *Settings) { s.KeystoreLocation = of("nowhere") }, "Failed to load SSL keystore nowhere of type PKCS12"},
		{"wrong password", func(s *Settings) { s.KeystorePassword = of("wrong1") }, "Failed to load SSL keystore " + stores + "keys.pkcs12"},
		{"no password", func(s *Settings) { s.KeystorePassword = nil }, "SSL key store is specified, but key store password is not specified"},
		{"password alone", func(s *Settings) { s.KeystoreLocation = nil }, "SSL key store is not specified, but key store password is specified"},
		{"a key that is not PEM", func(s *Settings) { s.KeystoreKey = of("x") }, "SSL private key can be specified only for PEM, but key store type is PKCS12"},
		{"a chain alone", func(s *Settings) { s.KeystoreCertificateChain = of("x") }, "SSL certificate chain is specified, but private key is not specified"},
		{"PEM with a store password", func(s *Settings) { s.KeystoreType = "PEM" }, "SSL key store password cannot be specified with PEM format"},
		{"trust without a location", func(s *Settings) { s.TruststoreLocation, s.TruststorePassword = nil, of("x") }, "SSL trust store is not specified, but trust store password is specified"},
		{"trust that has no certificate", func(s *Settings) { s.TruststoreType, s.TruststoreLocation = "PEM", of(stores+"key.pem") }, "At least one certificate expected"},
		{"a version of the past", func(s *Settings) { s.EnabledProtocols = []string{"SSLv3"} }, "SSLv3 is not supported"},
		{"a hole between versions", func(s *Settings) { s.EnabledProtocols = []string{"TLSv1.1", "TLSv1.3"} }, "TLSv1.2 cannot be left out"},
		{"an unknown cipher", func(s *Settings) { s.CipherSuites = []string{"TLS_NULL"} }, "Unsupported CipherSuite: TLS_NULL"},
		{"ciphers of another version", func(s *Settings) {
			s.EnabledProtocols, s.CipherSuites = []string{"TLSv1.3"}, []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}
		}, "are not suites of ssl.enabled.protocols"},
	} {
		if _, err := Load(settings(tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestContext_Compatible_NamesStay(t *testing.T) {
	was := load(t, settings())
	other := func(s *Settings) {
		s.KeystoreType, s.KeystoreLocation, s.KeystorePassword = "PEM", nil, nil
		s.KeystoreKey, s.KeystoreCertificateChain = otherKey(t)
	}
	allow := func(s *Settings) { s.AllowDNChanges, s.AllowSANChanges = true, true }
	for _, tc := range []struct {
		name   string
		change []func(*Settings)
		want   string
	}{
		{"the same", nil, ""},
		{"the same names in another file", []func(*Settings){func(s *Settings) { s.KeystoreLocation, s.KeyPassword = of(stores+"keys.jks"), of("secret2") }}, ""},
		{"another name", []func(*Settings){other}, "Keystore entries do not match"},
		{"another name, allowed", []func(*Settings){other, allow}, ""},
		{"no key", []func(*Settings){func(s *Settings) { s.KeystoreLocation, s.KeystorePassword = nil, nil }}, "Cannot remove the SSL keystore"},
	} {
		err := was.Compatible(load(t, settings(tc.change...)))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	bare := load(t, settings(func(s *Settings) { s.KeystoreLocation, s.KeystorePassword, s.TruststoreLocation = nil, nil, nil }))
	if err := bare.Compatible(was); err == nil || !strings.Contains(err.Error(), "Cannot add SSL keystore") {
		t.Errorf("a key where none was: %v", err)
	}
}

func TestContext_Accepts_KeyThatTheTrustStoreCovers(t *testing.T) {
	c := load(t, settings())
	if err := c.Accepts(c); err != nil {
		t.Error(err)
	}
	key, chain := otherKey(t)
	stranger := load(t, settings(func(s *Settings) {
		s.KeystoreType, s.KeystoreLocation, s.KeystorePassword, s.KeystoreKey, s.KeystoreCertificateChain = "PEM", nil, nil, key, chain
	}))
	if err := c.Accepts(stranger); err == nil || !strings.Contains(err.Error(), "is not trusted") {
		t.Errorf("a key of another CA: %v", err)
	}
}
