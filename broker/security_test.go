package broker_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const stores = "../security/keystore/testdata/"

// copied puts a test store into dir and returns its path.
func copied(t *testing.T, dir, store, name string) string {
	t.Helper()
	data, err := os.ReadFile(stores + store)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startSecured runs a broker that talks to itself over SASL_SSL, and has an SSL listener and a plain one.
func startSecured(t *testing.T, dir string, settings ...string) *running {
	t.Helper()
	keys := copied(t, dir, "keys.pkcs12", "keys")
	return start(t, dir, append([]string{
		"listeners=PLAINTEXT://localhost:0,SSL://localhost:0,BROKERS://localhost:0",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,BROKERS:SASL_SSL", "inter.broker.listener.name=BROKERS",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256", "sasl.mechanism.inter.broker.protocol=PLAIN",
		`listener.name.brokers.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="a" user_admin="a";`,
		"listener.name.brokers.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"ssl.keystore.location=" + keys, "ssl.keystore.password=secret1", "ssl.truststore.location=" + stores + "trust.jks",
		"password.encoder.secret=encoder-secret",
	}, settings...)...)
}

func (r *running) at(t *testing.T, listener string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	for _, e := range r.Endpoints() {
		if e.Listener == listener {
			return r.client(t, append([]kgo.Opt{kgo.SeedBrokers(net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))), kgo.RetryTimeout(10 * time.Second)}, opts...)...)
		}
	}
	t.Fatalf("no listener %s", listener)
	return nil
}

func trust(t *testing.T) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(stores + "ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

func TestSecurity_BrokerThatUsesItsOwn_ServesClients(t *testing.T) {
	r := startSecured(t, t.TempDir())
	admin := kadm.NewClient(r.at(t, "PLAINTEXT"))
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "c"}}); err != nil {
		t.Fatal(err)
	}
	produce(t, r.at(t, "SSL", kgo.DialTLSConfig(trust(t))), "a", 0, 50)
	carol := func(password string) *kgo.Client {
		return r.at(t, "BROKERS", kgo.DialTLSConfig(trust(t)), kgo.SASL(scram.Auth{User: "carol", Pass: password}.AsSha256Mechanism()),
			kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	eventually(t, "carol", func() error { return carol("c").Ping(t.Context()) })
	checkSequence(t, consume(t, carol("c"), 50), 50)
	if err := carol("d").Ping(t.Context()); !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := r.at(t, "BROKERS", kgo.DialTLSConfig(trust(t)), kgo.SASL(plain.Auth{User: "admin", Pass: "a"}.AsMechanism())).Ping(t.Context()); err != nil {
		t.Errorf("PLAIN: %v", err)
	}
	if err := r.at(t, "BROKERS", kgo.DialTLSConfig(trust(t))).Ping(t.Context()); err == nil {
		t.Error("nobody got in")
	}
}

// shown is the type of the first certificate that a listener shows, by its length: the test stores differ in that.
func shown(t *testing.T, r *running, listener string) ([]byte, error) {
	t.Helper()
	for _, e := range r.Endpoints() {
		if e.Listener == listener {
			c, err := tls.Dial("tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), trust(t))
			if err != nil {
				return nil, err
			}
			defer c.Close()
			return c.ConnectionState().PeerCertificates[0].Raw, nil
		}
	}
	return nil, fmt.Errorf("no listener %s", listener)
}

// Stores are replaced while the broker runs, one that cannot be read is refused, and the passwords survive a restart.
func TestSecurity_KeysReplaced_WithoutRestart(t *testing.T) {
	dir := t.TempDir()
	r := startSecured(t, dir)
	admin := kadm.NewClient(r.at(t, "PLAINTEXT"))
	first, err := shown(t, r, "SSL")
	if err != nil {
		t.Fatal(err)
	}
	alter := func(pairs ...string) error {
		var changes []kadm.AlterConfig
		for i := 0; i < len(pairs); i += 2 {
			changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: "listener.name.ssl.ssl." + pairs[i], Value: &pairs[i+1]})
		}
		resp, err := admin.AlterBrokerConfigs(t.Context(), changes, 7)
		if err != nil {
			return err
		}
		if resp[0].Err != nil {
			return fmt.Errorf("%w: %s", resp[0].Err, resp[0].ErrMessage)
		}
		return nil
	}
	differs := func(r *running, from []byte) []byte {
		t.Helper()
		var now []byte
		eventually(t, "another certificate", func() error {
			var err error
			if now, err = shown(t, r, "SSL"); err == nil && string(now) == string(from) {
				err = errors.New("still the old one")
			}
			return err
		})
		return now
	}
	for _, bad := range [][]string{{"keystore.location", dir + "/nowhere"}, {"keystore.password", "wrong1"}} {
		err := alter(bad...)
		if !errors.Is(err, kerr.InvalidRequest) || !strings.Contains(err.Error(), "Validation of dynamic config update of SSLFactory failed") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := alter("client.auth", "required"); err == nil || !strings.Contains(err.Error(), "Configs cannot be updated dynamically for existing listener ListenerName(SSL)") {
		t.Errorf("client.auth of an open listener: %v", err)
	}
	if now, err := shown(t, r, "SSL"); err != nil || string(now) != string(first) {
		t.Errorf("after refused changes: %v", err)
	}
	path := copied(t, dir, "keys.jks", "other")
	if err := alter("keystore.location", path, "keystore.password", "secret1", "key.password", "secret2"); err != nil {
		t.Fatal(err)
	}
	second := differs(r, first)
	// The same path with another content, and the same value again.
	copied(t, dir, "keys.pkcs12", "other")
	if err := alter("keystore.location", path); err != nil {
		t.Fatal(err)
	}
	if again := differs(r, second); string(again) != string(first) {
		t.Error("another certificate than that of the file")
	}
	r.end(t)
	r = startSecured(t, dir)
	copied(t, dir, "keys.jks", "keys") // the listener has a store of its own
	if now, err := shown(t, r, "SSL"); err != nil || string(now) != string(first) {
		t.Errorf("after a restart: %v", err)
	}
	r.end(t)
	r = startSecured(t, dir, "password.encoder.secret=another", "password.encoder.old.secret=encoder-secret", "ssl.keystore.location="+stores+"keys.pkcs12")
	r.end(t)
	r = startSecured(t, dir, "password.encoder.secret=another", "ssl.keystore.location="+stores+"keys.pkcs12")
	if now, err := shown(t, r, "SSL"); err != nil || string(now) != string(first) {
		t.Errorf("with another secret: %v", err)
	}
}
