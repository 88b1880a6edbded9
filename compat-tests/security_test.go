//go:build compat

package compat

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"jackdaw/compat-tests/cluster"
)

// The listeners of a secured cluster beside PLAINTEXT, which is the harness's. Brokers use INTERNAL, over SASL_SSL.
var securedListeners = []string{"SSL", "INTERNAL", "SASL_PLAINTEXT"}

// secured is a cluster with each security protocol.
type secured struct {
	*cluster.Cluster
	ca     *authority
	dir    string
	client *identity
	addrs  map[string][]string // by listener, in order of the brokers
}

// startSecured starts brokers of the given kinds. The first has its keys in PEM, the second in JKS, the third in PKCS12.
func startSecured(t *testing.T, kinds ...cluster.Kind) *secured {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Brokers: 0, Config: map[string]string{
		"zookeeper.session.timeout.ms": "8000", "offsets.topic.num.partitions": "1", "auto.leader.rebalance.enable": "false",
	}})
	s := &secured{Cluster: c, ca: newAuthority(t, "Test CA"), dir: t.TempDir(), addrs: map[string][]string{}}
	s.client = s.ca.issue(t, "client", time.Hour)
	if err := c.Tree.Create("/config/users/admin", scramUser("admin-secret")); err != nil {
		t.Fatal(err)
	}
	for i, kind := range kinds {
		b, err := c.Add(i+1, kind)
		if err != nil {
			t.Fatal(err)
		}
		s.configure(t, b, i)
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *secured) configure(t *testing.T, b *cluster.Broker, i int) {
	t.Helper()
	listeners := []string{"PLAINTEXT://" + b.Addr()}
	for _, l := range securedListeners {
		p := reserve(t)
		s.addrs[l] = append(s.addrs[l], p.Addr())
		listeners = append(listeners, l+"://"+p.Addr())
	}
	id := s.ca.issue(t, "broker", time.Hour, "localhost", "127.0.0.1")
	location, password := "ssl.keystore.location", map[string]string{"ssl.keystore.password": storePassword}
	store := writeFile(t, s.dir, fmt.Sprintf("broker-%d.store", b.ID), [][]byte{id.pem(t), id.jks(t), id.pkcs12(t)}[i])
	if i == 0 {
		password = nil
	}
	const plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule required "
	const scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule required "
	users := plainModule + `user_alice="alice-secret" user_bob="bob-secret";`
	set := map[string]string{
		"listeners":                      strings.Join(listeners, ","),
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,INTERNAL:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
		"inter.broker.listener.name":     "INTERNAL", "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
		"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		location:                  store, "ssl.keystore.type": []string{"PEM", "JKS", "PKCS12"}[i],
		"ssl.truststore.type": "PEM", "ssl.truststore.location": writeFile(t, s.dir, "ca.pem", s.ca.pem()),
		"listener.name.ssl.ssl.client.auth":                     "required",
		"listener.name.internal.plain.sasl.jaas.config":         users,
		"listener.name.internal.scram-sha-256.sasl.jaas.config": scramModule + ";",
		"listener.name.internal.scram-sha-512.sasl.jaas.config": scramModule + `username="admin" password="admin-secret";`,
		"listener.name.internal.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required " +
			`unsecuredLoginStringClaim_sub="admin";`,
		"listener.name.sasl_plaintext.sasl.enabled.mechanisms":         "PLAIN",
		"listener.name.sasl_plaintext.plain.sasl.jaas.config":          users,
		"listener.name.sasl_plaintext.plain.connections.max.reauth.ms": "3000",
		"password.encoder.secret":                                      "encoder-secret",
		"ssl.principal.mapping.rules":                                  "RULE:^CN=(.*?),.*$/$1/,DEFAULT",
	}
	for k, v := range password {
		set[k] = v
	}
	for k, v := range set {
		b.Config[k] = v
	}
}

// scramUser is the znode of a user with a password for SCRAM-SHA-512.
func scramUser(password string) []byte {
	salt := []byte("compat-tests-salt")
	keyed := func(h func() hash.Hash, key []byte, text string) []byte {
		mac := hmac.New(h, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	salted, err := pbkdf2.Key(sha512.New, password, salt, 4096, sha512.Size)
	if err != nil {
		panic(err) // FIPS mode
	}
	stored := sha512.Sum512(keyed(sha512.New, salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `{"version":1,"config":{"SCRAM-SHA-512":"salt=%s,stored_key=%s,server_key=%s,iterations=4096"}}`,
		b64(salt), b64(stored[:]), b64(keyed(sha512.New, salted, "Server Key")))
}

// way is how a client comes in.
type way struct {
	name, listener string
	tls            func(*secured) *tls.Config
	login          sasl.Mechanism
	kcat           func(*secured) []string
}

func mutual(s *secured) *tls.Config { return s.ca.client(s.client) }
func oneWay(s *secured) *tls.Config { return s.ca.client(nil) }

func ways() []way {
	sha256 := scram.Auth{User: "carol", Pass: "carol,=secret"}.AsSha256Mechanism()
	sha512 := scram.Auth{User: "carol", Pass: "carol,=secret"}.AsSha512Mechanism()
	byPlain := plain.Auth{User: "alice", Pass: "alice-secret"}.AsMechanism()
	saslSSL := func(mechanism, user, password string) func(*secured) []string {
		return func(s *secured) []string {
			return []string{"security.protocol=sasl_ssl", "ssl.ca.location=" + s.dir + "/ca.pem", "sasl.mechanism=" + mechanism, "sasl.username=" + user, "sasl.password=" + password}
		}
	}
	return []way{
		{name: "SSL", listener: "SSL", tls: mutual, kcat: func(s *secured) []string {
			return []string{"security.protocol=ssl", "ssl.ca.location=" + s.dir + "/ca.pem", "ssl.certificate.location=" + s.dir + "/client.pem", "ssl.key.location=" + s.dir + "/client.pem"}
		}},
		{name: "SASL_SSL PLAIN", listener: "INTERNAL", tls: oneWay, login: byPlain, kcat: saslSSL("PLAIN", "alice", "alice-secret")},
		{name: "SASL_SSL SCRAM-SHA-256", listener: "INTERNAL", tls: oneWay, login: sha256, kcat: saslSSL("SCRAM-SHA-256", "carol", "carol,=secret")},
		{name: "SASL_SSL SCRAM-SHA-512", listener: "INTERNAL", tls: oneWay, login: sha512, kcat: saslSSL("SCRAM-SHA-512", "carol", "carol,=secret")},
		{name: "SASL_SSL OAUTHBEARER", listener: "INTERNAL", tls: oneWay, login: oauth.Auth{Token: unsignedToken("erin")}.AsMechanism(), kcat: func(s *secured) []string {
			return []string{
				"security.protocol=sasl_ssl", "ssl.ca.location=" + s.dir + "/ca.pem", "sasl.mechanism=OAUTHBEARER",
				"enable.sasl.oauthbearer.unsecure.jwt=true", "sasl.oauthbearer.config=principal=erin",
			}
		}},
		{name: "SASL_PLAINTEXT PLAIN", listener: "SASL_PLAINTEXT", login: byPlain, kcat: func(*secured) []string {
			return []string{"security.protocol=sasl_plaintext", "sasl.mechanism=PLAIN", "sasl.username=alice", "sasl.password=alice-secret"}
		}},
	}
}

// unsignedToken is good for an hour, and proves nothing.
func unsignedToken(user string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, time.Now().Unix(), time.Now().Add(time.Hour).Unix())
	return b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(claims)) + "."
}

// franz returns the options of a franz-go client that comes in by a listener.
func (s *secured) franz(listener string, c *tls.Config, login sasl.Mechanism) []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(s.addrs[listener]...), kgo.RetryTimeout(5 * time.Second)}
	if c != nil {
		opts = append(opts, kgo.DialTLSConfig(c))
	}
	if login != nil {
		opts = append(opts, kgo.SASL(login))
	}
	return opts
}

func addScramUser(t *testing.T, s *secured, user, password string) {
	t.Helper()
	var changes []kadm.UpsertSCRAM
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		changes = append(changes, kadm.UpsertSCRAM{User: user, Mechanism: m, Iterations: 4096, Password: password})
	}
	altered, err := admin(t, s.Cluster).AlterUserSCRAMs(t.Context(), nil, changes)
	if err == nil {
		err = altered.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSecurity_Clients_EveryListener: brokers reach each other over SASL_SSL with SCRAM, and clients come in by each way.
func TestSecurity_Clients_EveryListener(t *testing.T) {
	kind := cluster.Target()
	s := startSecured(t, kind, kind, kind)
	writeFile(t, s.dir, "client.pem", s.client.pem(t))
	createTopic(t, s.Cluster, "shared", 3, 3, "min.insync.replicas", "3")
	addScramUser(t, s, "carol", "carol,=secret")
	for i, w := range ways() {
		t.Run(w.name, func(t *testing.T) { s.comeIn(t, w, i) })
	}
	t.Run("Java", s.java)
	t.Run("refused", s.refused)
	t.Run("raw SASL", s.rawSASL)
	t.Run("password changed", s.passwordChanged)
	t.Run("keys replaced", s.keysReplaced)
}

// comeIn writes and reads with franz-go and kcat.
func (s *secured) comeIn(t *testing.T, w way, i int) {
	var cfg *tls.Config
	if w.tls != nil {
		cfg = w.tls(s)
	}
	opts := s.franz(w.listener, cfg, w.login)
	values := series(w.name, 30)
	cl := client(t, s.Cluster, append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	franzProduce(t, cl, "shared", int32(i%3), values)
	var args []string
	for _, x := range w.kcat(s) {
		args = append(args, "-X", x)
	}
	kcatAt(t, s.addrs[w.listener], "by-kcat-"+w.name+"\n", append(args, "-P", "-t", "shared", "-p", fmt.Sprint(i%3))...)
	read := lines(kcatAt(t, s.addrs[w.listener], "", append(args, "-C", "-t", "shared", "-p", fmt.Sprint(i%3), "-o", "beginning", "-e", "-q")...))
	got := franzRead(t, s.Cluster, "shared", 31, opts...)
	for _, v := range append(values, "by-kcat-"+w.name) {
		if !slices.Contains(read, v) {
			t.Errorf("kcat does not read %s", v)
		}
	}
	if n := len(got[0]) + len(got[1]) + len(got[2]); n < 31 {
		t.Errorf("franz-go reads %d records", n)
	}
}

// clientProperties writes a file for Java's tools.
func (s *secured) clientProperties(t *testing.T, name string, set ...string) string {
	return writeFile(t, t.TempDir(), name, []byte(strings.Join(set, "\n")+"\n"))
}

const scramJAAS = "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "

func (s *secured) java(t *testing.T) {
	trust := []string{"ssl.truststore.type=PEM", "ssl.truststore.location=" + s.dir + "/ca.pem"}
	byScram := s.clientProperties(t, "scram", append(trust, "security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", scramJAAS+`username="carol" password="carol,=secret";`)...)
	mutual := s.clientProperties(t, "mutual", append(trust, "security.protocol=SSL", "ssl.keystore.type=PEM", "ssl.keystore.location="+s.dir+"/client.pem")...)
	out, err := cluster.Tool("", "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", s.addrs["INTERNAL"][0], "--command-config", byScram, "--list")
	if err != nil || !strings.Contains(out, "shared") {
		t.Errorf("topics over SASL_SSL: %v\n%s", err, out)
	}
	out, err = cluster.Tool("", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", s.addrs["SSL"][1], "--consumer.config", mutual,
		"--topic", "shared", "--partition", "0", "--offset", "earliest", "--max-messages", "31", "--timeout-ms", "30000")
	if err != nil || !strings.Contains(out, "by-kcat-SSL\n") {
		t.Errorf("consumer over SSL: %v\n%.1000s", err, out)
	}
	wrong := s.clientProperties(t, "wrong", append(trust, "security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", scramJAAS+`username="carol" password="wrong";`)...)
	out, err = cluster.Tool("", "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", s.addrs["INTERNAL"][0], "--command-config", wrong, "--list")
	const want = "SaslAuthenticationException: Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("wrong password: %v\n%s", err, out)
	}
}

// refused are clients that must not get in; each has to learn why, as far as its protocol has words for it.
func (s *secured) refused(t *testing.T) {
	stranger := newAuthority(t, "Another CA")
	good := s.ca.client(s.client)
	untrusted := stranger.client(s.client)
	for _, tc := range []struct {
		name, listener string
		tls            *tls.Config
		login          sasl.Mechanism
		want           []string // any of them in the error
	}{
		{"no certificate", "SSL", s.ca.client(nil), nil, []string{"certificate required", "bad certificate"}},
		{"certificate of an unknown CA", "SSL", s.ca.client(stranger.issue(t, "client", time.Hour)), nil, []string{"unknown certificate authority", "unknown certificate", "bad certificate"}},
		{"expired certificate", "SSL", s.ca.client(s.ca.issue(t, "client", -time.Hour)), nil, []string{"expired certificate", "bad certificate", "unknown certificate"}},
		{"the client does not know the CA", "SSL", untrusted, nil, []string{"signed by unknown authority"}},
		{"no TLS", "SSL", nil, nil, []string{"EOF", "closed", "reset", "invalid large response size"}},
		{"TLS where there is none", "SASL_PLAINTEXT", good, nil, []string{"EOF", "reset", "first record does not look like a TLS handshake", "closed the connection immediately"}},
		{"wrong password", "SASL_PLAINTEXT", nil, plain.Auth{User: "alice", Pass: "bob-secret"}.AsMechanism(), []string{"SASL_AUTHENTICATION_FAILED"}},
		{"unknown user", "INTERNAL", s.ca.client(nil), scram.Auth{User: "eve", Pass: "x"}.AsSha512Mechanism(), []string{"SASL_AUTHENTICATION_FAILED"}},
		{"mechanism that is not enabled", "SASL_PLAINTEXT", nil, scram.Auth{User: "carol", Pass: "carol,=secret"}.AsSha512Mechanism(), []string{"UNSUPPORTED_SASL_MECHANISM"}},
		{"bad token", "INTERNAL", s.ca.client(nil), oauth.Auth{Token: "a.b.c"}.AsMechanism(), []string{`{"status":"invalid_token"}`, "SASL_AUTHENTICATION_FAILED"}},
		{"no login", "SASL_PLAINTEXT", nil, nil, []string{"EOF", "closed", "reset"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cl := client(t, s.Cluster, s.franz(tc.listener, tc.tls, tc.login)...)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := cl.Ping(ctx)
			if err == nil {
				t.Fatal("it got in")
			}
			if !slices.ContainsFunc(tc.want, func(w string) bool { return strings.Contains(err.Error(), w) }) {
				t.Errorf("the client is told %v, want one of %q", err, tc.want)
			}
		})
	}
}

// passwordChanged: a user's new password counts at once on every broker, and the old one no longer.
func (s *secured) passwordChanged(t *testing.T) {
	addScramUser(t, s, "dave", "first")
	enter := func(password string) error {
		for _, addr := range s.addrs["INTERNAL"] {
			cl := client(t, s.Cluster, kgo.SeedBrokers(addr), kgo.DialTLSConfig(s.ca.client(nil)), kgo.RetryTimeout(3*time.Second),
				kgo.SASL(scram.Auth{User: "dave", Pass: password}.AsSha256Mechanism()))
			if err := cl.Ping(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}
	await := func(what string, want error, password string) {
		t.Helper()
		cluster.Eventually(t, 20*time.Second, what, func() error {
			if err := enter(password); !errors.Is(err, want) {
				return fmt.Errorf("got in or not: %s", fmt.Sprint(err))
			}
			return nil
		})
	}
	await("the first password", nil, "first")
	addScramUser(t, s, "dave", "second")
	await("the second password", nil, "second")
	await("the first password, refused", kerr.SaslAuthenticationFailed, "first")
	if _, err := admin(t, s.Cluster).AlterUserSCRAMs(t.Context(), []kadm.DeleteSCRAM{{User: "dave", Mechanism: kadm.ScramSha256}}, nil); err != nil {
		t.Fatal(err)
	}
	await("the deleted credential, refused", kerr.SaslAuthenticationFailed, "second")
}

// keysReplaced: a broker gets other keys without a restart, refuses a store that cannot be read, and reads a file again when
// the same value is set again.
func (s *secured) keysReplaced(t *testing.T) {
	adm, id := admin(t, s.Cluster), s.Brokers[1].ID
	alter := func(pairs ...string) error {
		var changes []kadm.AlterConfig
		for i := 0; i < len(pairs); i += 2 {
			changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: "listener.name.ssl.ssl." + pairs[i], Value: &pairs[i+1]})
		}
		resp, err := adm.AlterBrokerConfigs(t.Context(), changes, int32(id))
		if err == nil && resp[0].Err != nil {
			err = fmt.Errorf("%w: %s", resp[0].Err, resp[0].ErrMessage)
		}
		return err
	}
	shown := func() (string, error) {
		c, err := tls.Dial("tcp", s.addrs["SSL"][1], mutual(s))
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
	}
	await := func(want *identity) {
		t.Helper()
		cluster.Eventually(t, 20*time.Second, "the other certificate", func() error {
			got, err := shown()
			if err == nil && got != want.chain[0].SerialNumber.String() {
				err = errors.New("still the old one")
			}
			return err
		})
	}
	before, err := shown()
	if err != nil {
		t.Fatal(err)
	}
	broken := writeFile(t, s.dir, "broken.jks", []byte("no store"))
	for _, bad := range [][]string{{"keystore.location", broken}, {"keystore.location", "/nowhere"}, {"keystore.password", "wrong"}} {
		if err := alter(bad...); !errors.Is(err, kerr.InvalidRequest) || !strings.Contains(err.Error(), "SSLFactory") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if now, err := shown(); err != nil || now != before {
		t.Errorf("after refused changes: %v", err)
	}
	hosts := []string{"localhost", "127.0.0.1"}
	second, third := s.ca.issue(t, "broker", time.Hour, hosts...), s.ca.issue(t, "broker", time.Hour, hosts...)
	path := writeFile(t, s.dir, "other.p12", second.pkcs12(t))
	if err := alter("keystore.location", path, "keystore.type", "PKCS12", "keystore.password", storePassword); err != nil {
		t.Fatal(err)
	}
	await(second)
	data, _, err := s.Tree.Get(fmt.Sprintf("/config/brokers/%d", id))
	if err != nil || strings.Contains(string(data), storePassword) || !strings.Contains(string(data), "encryptedPassword:") {
		t.Errorf("in ZooKeeper: %s, %v", data, err)
	}
	writeFile(t, s.dir, "other.p12", third.pkcs12(t))
	if err := alter("keystore.location", path); err != nil {
		t.Fatal(err)
	}
	await(third)
	// Apache Kafka accepts what would only count after a restart.
	if cluster.Target() == cluster.Apache {
		return
	}
	if err := alter("client.auth", "none"); err == nil || !strings.Contains(err.Error(), "restart broker or create a new listener") {
		t.Errorf("client.auth of an open listener: %v", err)
	}
}

// TestSecurity_Mixed_BrokersOfBothKinds: Apache Kafka and Jackdaw authenticate each other by SCRAM over TLS, and replicate.
func TestSecurity_Mixed_BrokersOfBothKinds(t *testing.T) {
	jackdawOnly(t, "there is nothing to mix")
	s := startSecured(t, cluster.Apache, cluster.Jackdaw, cluster.Jackdaw)
	createAssigned(t, s.Cluster, "mixed", []string{"min.insync.replicas", "3"}, []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	login := plain.Auth{User: "alice", Pass: "alice-secret"}.AsMechanism()
	opts := s.franz("INTERNAL", oneWay(s), login)
	cl := client(t, s.Cluster, append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()))...)
	for p := range int32(3) {
		franzProduce(t, cl, "mixed", p, series("v", 100))
	}
	for p, got := range franzRead(t, s.Cluster, "mixed", 300, opts...) {
		if !slices.Equal(got, series("v", 100)) {
			t.Errorf("partition %d has %d records", p, len(got))
		}
	}
	addScramUser(t, s, "carol", "carol,=secret") // by one kind, for both
	for i, addr := range s.addrs["INTERNAL"] {
		carol := scram.Auth{User: "carol", Pass: "carol,=secret"}.AsSha256Mechanism()
		cluster.Eventually(t, 20*time.Second, fmt.Sprintf("carol at broker %d", i+1), func() error {
			return client(t, s.Cluster, kgo.SeedBrokers(addr), kgo.DialTLSConfig(oneWay(s)), kgo.SASL(carol), kgo.RetryTimeout(2*time.Second)).Ping(t.Context())
		})
	}
	// The controller moves from Apache to Jackdaw.
	if err := s.Broker(1).Stop(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, s.Cluster, "mixed", 0, 40*time.Second, 2, 3)
	if err := s.Broker(1).Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		waitISR(t, s.Cluster, "mixed", p, 60*time.Second, 1, 2, 3)
	}
}
