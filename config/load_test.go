package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/metadata"
	"jackdaw/security"
)

// write makes a server.properties of these lines.
func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustLoad loads settings given as key=value.
func mustLoad(t *testing.T, settings ...string) *Loaded {
	t.Helper()
	l, err := Load(write(t, "zookeeper.connect=h:1"), nil, settings)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// S37: every kind of line of a properties file, and keys that are prefixes of others.
func TestLoad_JavaProperties_AreUnderstood(t *testing.T) {
	path := write(t,
		"# comment", "! comment", "broker.id=1\r", "broker.id.generation.enable : false", "broker.rack   rack\\u0020\\t1",
		"listeners=PLAINTEXT://127.0.0.1:9092,\\", "    OTHER://127.0.0.1:9093", "num.partitions = 3   ", "num.partitions = 4   ",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT", "log.retention.hours=1", "log.retention.ms=5",
		"log.dirs=/a\\\\b,/caf\xc3\xa9", "zookeeper.connect=a:1,b:2/kafka", "inter.broker.listener.name=",
	)
	l, err := Load(path, nil, []string{"inter.broker.listener.name=other"})
	if err != nil {
		t.Fatal(err)
	}
	b := l.Broker()
	if b.ID != 1 || b.GenerateID || b.Rack != "rack \t1" || b.NumPartitions != 4 {
		t.Errorf("got %+v", b)
	}
	if want := []string{`/a\b`, "/café"}; !slices.Equal(b.Log.Dirs, want) {
		t.Errorf("log.dirs: got %q, want %q", b.Log.Dirs, want)
	}
	want := []metadata.Endpoint{
		{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092},
		{Listener: "OTHER", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9093},
	}
	if diff := cmp.Diff(want, b.Network.Listeners); diff != "" {
		t.Error(diff)
	}
	if b.Network.InterBroker != "OTHER" {
		t.Errorf("inter-broker listener: %s", b.Network.InterBroker)
	}
	if tc, _ := b.Topic(nil); tc.RetentionAge != 5*time.Millisecond {
		t.Errorf("retention: %v", tc.RetentionAge)
	}
}

func TestLoad_Precedence_FileThenEnvironmentThenOverride(t *testing.T) {
	path := write(t, "zookeeper.connect=file:1", "num.partitions=1", "default.replication.factor=1", "broker.id=1")
	l, err := Load(path, []string{
		"KAFKA_NUM_PARTITIONS=2", "KAFKA_DEFAULT_REPLICATION_FACTOR=2", "PATH=/bin", "KAFKA_HEAP_OPTS=-Xmx1g",
		"KAFKA_ZOOKEEPER_CLIENTCNXNSOCKET=x", "KAFKA_SOME__KEY_WITH___DASH=v=w", "KAFKA_",
	}, []string{"num.partitions=3"})
	if err != nil {
		t.Fatal(err)
	}
	b := l.Broker()
	if b.ID != 1 || b.ReplicationFactor != 2 || b.NumPartitions != 3 {
		t.Errorf("got id %d, replication factor %d, partitions %d", b.ID, b.ReplicationFactor, b.NumPartitions)
	}
	if l.Raw["some_key.with-dash"] != "v=w" || l.Raw["zookeeper.clientCnxnSocket"] != "x" || l.Raw["heap.opts"] != "" {
		t.Errorf("raw: %q", l.Raw)
	}
}

func TestLoad_NoFile_SaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.properties")
	if _, err := Load(path, nil, nil); err == nil || err.Error() != path+": no such file or directory" {
		t.Fatalf("got %v", err)
	}
}

func TestLoad_OverrideWithoutEquals_IsRefused(t *testing.T) {
	if _, err := Load(write(t, "zookeeper.connect=h:1"), nil, []string{"broker.id"}); err == nil ||
		err.Error() != "--override broker.id: not of the form key=value" {
		t.Fatalf("got %v", err)
	}
}

// The texts are those of Kafka 3.9.2, less "requirement failed: ".
func TestLoad_BadSettings_OneLineThatNamesTheKey(t *testing.T) {
	for _, tc := range []struct{ settings, want string }{
		{"broker.id=abc", "Invalid value abc for configuration broker.id: Not a number of type INT"},
		{"num.partitions=", "Invalid value  for configuration num.partitions: Not a number of type INT"},
		{"num.partitions=3000000000", "Invalid value 3000000000 for configuration num.partitions: Not a number of type INT"},
		{"num.partitions=0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"},
		{"num.partitions=1\n2", `Invalid value 1\n2 for configuration num.partitions: Not a number of type INT`},
		{"offsets.topic.replication.factor=40000", "Invalid value 40000 for configuration offsets.topic.replication.factor: Not a number of type SHORT"},
		{"log.retention.ms=abc", "Invalid value abc for configuration log.retention.ms: Not a number of type LONG"},
		{"auto.create.topics.enable=yes", "Invalid value yes for configuration auto.create.topics.enable: Expected value to be either true or false"},
		{"log.cleaner.min.cleanable.ratio=2", "Invalid value 2.0 for configuration log.cleaner.min.cleanable.ratio: Value must be no more than 1"},
		{"log.cleaner.io.buffer.load.factor=abc", "Invalid value abc for configuration log.cleaner.io.buffer.load.factor: Not a number of type DOUBLE"},
		{"log.cleanup.policy=compact,zap", "Invalid value zap for configuration log.cleanup.policy: String must be one of: compact, delete"},
		{"compression.type=zap", "Invalid value zap for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level=0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"inter.broker.protocol.version=4.0", "Invalid value 4.0 for configuration inter.broker.protocol.version: Version 4.0 is not a valid version"},
		{"broker.id=-5", "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id"},
		{"broker.id=1001", "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id"},
		{"broker.id.generation.enable=false", "broker.id must be greater than or equal to 0 when broker.id.generation.enable is false"},
		{"broker.id=1;node.id=2", "You must set `node.id` to the same value as `broker.id`."},
		{"log.roll.ms=0", "log.roll.ms must be greater than or equal to 1"},
		{"log.roll.jitter.ms=-4", "log.roll.jitter.ms must be greater than or equal to 0"},
		{"log.retention.minutes=0", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{"replica.fetch.wait.max.ms=40000", "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"},
		{"replica.fetch.wait.max.ms=20000;replica.lag.time.max.ms=10000", "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR"},
		{"offsets.commit.required.acks=5", "offsets.commit.required.acks must be greater or equal to -1 and less or equal to offsets.topic.replication.factor"},
		{"offsets.commit.required.acks=2", "Invalid value 2 for configuration offsets.commit.required.acks: only -1, 0 and 1 can be waited for"},
		{"log.cleaner.threads=200", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."},
		{"log.dirs=", "At least one log directory must be defined via log.dirs or log.dir."},
		{"log.dirs=/a,/b, /a", "Duplicate log directory found: /a in log.dirs"},
		{"queued.max.request.bytes=5", "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"},
		{"max.connections.per.ip=0", "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."},
		{"max.connections.per.ip.overrides=zz", `Invalid value zz for configuration max.connections.per.ip.overrides: "zz" is not host:limit`},
		{"process.roles=broker", "process.roles must be empty: Jackdaw runs with ZooKeeper only"},
		{"authorizer.class.name=com.Mine", "Invalid value com.Mine for configuration authorizer.class.name: the only authorizer is kafka.security.authorizer.AclAuthorizer"},
		{
			"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"Invalid value org.apache.kafka.metadata.authorizer.StandardAuthorizer for configuration authorizer.class.name: it keeps its ACLs in the KRaft log; with ZooKeeper use kafka.security.authorizer.AclAuthorizer",
		},
		{
			"authorizer.class.name=kafka.security.authorizer.AclAuthorizer;authorizer.zookeeper.url=other:2181",
			"Invalid value other:2181 for configuration authorizer.zookeeper.url: the ACLs are in the ZooKeeper of zookeeper.connect",
		},
		{
			"authorizer.class.name=kafka.security.authorizer.AclAuthorizer;super.users=admin",
			"Invalid value admin for configuration super.users: expected a string in format principalType:principalName but got admin",
		},
		{"zookeeper.ssl.client.enable=true", "Invalid value true for configuration zookeeper.ssl.client.enable: not supported"},
		{"group.coordinator.rebalance.protocols=consumer", "Disabling the 'classic' protocol is not supported."},
		{"group.coordinator.rebalance.protocols=classic,share", "Invalid value classic,share for configuration group.coordinator.rebalance.protocols: only classic and consumer are supported"},
		{"group.consumer.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms must be greater than or equals to group.consumer.min.heartbeat.interval.ms"},
		{"group.consumer.session.timeout.ms=60001", "group.consumer.session.timeout.ms must be less than or equals to group.consumer.max.session.timeout.ms"},
		{"group.consumer.max.session.timeout.ms=1", "group.consumer.max.session.timeout.ms must be greater than or equals to group.consumer.min.session.timeout.ms"},
		{"group.consumer.assignors=no.Such", "Invalid value no.Such for configuration group.consumer.assignors: not one of Kafka's own assignors"},
		{"group.consumer.migration.policy=sideways", "Invalid value sideways for configuration group.consumer.migration.policy: String must be one of (case insensitive): BIDIRECTIONAL, DOWNGRADE, UPGRADE, DISABLED"},
		{"offsets.topic.compression.codec=9", "Invalid value 9 for configuration offsets.topic.compression.codec: Unknown compression type id: 9"},
		{"zookeeper.connect=", "Invalid value  for configuration zookeeper.connect: it names no server"},
		{"zookeeper.connect=a:b", `Invalid value a:b for configuration zookeeper.connect: "a:b" is not host:port`},
		{"zookeeper.connect=embedded:x", `Invalid value embedded:x for configuration zookeeper.connect: "x" is not a port`},
		{"config.providers=p;config.providers.p.class=no.Such", "Invalid value no.Such for configuration config.providers.p.class: not one of Kafka's own config providers"},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			_, err := Load(write(t, "zookeeper.connect=h:1"), nil, strings.Split(tc.settings, ";"))
			if err == nil || err.Error() != tc.want {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestLoad_SeveralBadValues_OneLineEach(t *testing.T) {
	_, err := Load(write(t, "zookeeper.connect=h:1", "broker.id=x", "num.partitions=y"), nil, nil)
	if err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Fatalf("got %v", err)
	}
}

func TestLoad_WithoutZooKeeper_IsRefused(t *testing.T) {
	_, err := Load(write(t, "broker.id=1"), nil, nil)
	if want := "Missing required configuration `zookeeper.connect` which has no default value."; err == nil || err.Error() != want {
		t.Fatalf("got %v", err)
	}
}

func TestLoad_TimesInSeveralUnits_TheFinerWins(t *testing.T) {
	for _, tc := range []struct {
		settings string
		get      func(Topic) time.Duration
		want     time.Duration
	}{
		{"log.retention.ms=5;log.retention.minutes=7;log.retention.hours=9", retentionAge, 5 * time.Millisecond},
		{"log.retention.minutes=7;log.retention.hours=9", retentionAge, 7 * time.Minute},
		{"log.retention.hours=9", retentionAge, 9 * time.Hour},
		{"log.retention.ms=-1;log.retention.hours=9", retentionAge, -time.Millisecond},
		{"log.retention.hours=-1", retentionAge, -time.Millisecond},
		{"", retentionAge, 168 * time.Hour},
		{"log.roll.ms=5;log.roll.hours=2", func(t Topic) time.Duration { return t.SegmentAge }, 5 * time.Millisecond},
		{"log.roll.hours=2", func(t Topic) time.Duration { return t.SegmentAge }, 2 * time.Hour},
		{"log.roll.jitter.hours=3", func(t Topic) time.Duration { return t.SegmentJitter }, 3 * time.Hour},
		{"log.flush.interval.ms=5;log.flush.scheduler.interval.ms=77", flushAge, 5 * time.Millisecond},
		{"log.flush.scheduler.interval.ms=77", flushAge, 77 * time.Millisecond},
		{"", flushAge, Unlimited},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			var settings []string
			if tc.settings != "" {
				settings = strings.Split(tc.settings, ";")
			}
			topic, err := mustLoad(t, settings...).Broker().Topic(nil)
			if err != nil || tc.get(topic) != tc.want {
				t.Fatalf("got %v, %v, want %v", tc.get(topic), err, tc.want)
			}
		})
	}
}

func retentionAge(t Topic) time.Duration { return t.RetentionAge }
func flushAge(t Topic) time.Duration     { return t.FlushAge }

func TestLoad_Alias_IsTakenAndReported(t *testing.T) {
	l := mustLoad(t, "unclean.leader.election=true")
	if topic, _ := l.Broker().Topic(nil); !topic.UncleanElection {
		t.Error("not taken")
	}
	if want := []string{"unclean.leader.election is taken for unclean.leader.election.enable"}; !slices.Equal(l.Report(), want) {
		t.Errorf("report: %q", l.Report())
	}
	l = mustLoad(t, "unclean.leader.election=true", "unclean.leader.election.enable=false")
	if topic, _ := l.Broker().Topic(nil); topic.UncleanElection || len(l.Report()) != 1 {
		t.Errorf("the key itself must win; report %q", l.Report())
	}
}

func TestReport_WhatHasNoEffect_IsNamedWithTheReason(t *testing.T) {
	l := mustLoad(t, "num.io.threads=3", "metric.reporters=x", "broker.session.timeout.ms=1", "remote.log.reader.threads=1",
		"ssl.keystore.location=/k", "retention.ms=5", "no.such=1", "message.max.bytes=5", "listener.name.plaintext.max.connections=7",
		"listener.name.plaintext.max.connection.creation.rate=9",
		"listener.name.other.max.connections=7", "listener.name.plaintext.ssl.key.password=p", "listener.name.plaintext.log.dirs=p",
		"create.topic.policy.class.name=my.Policy")
	want := []string{
		"broker.session.timeout.ms is ignored: has no meaning with ZooKeeper",
		"create.topic.policy.class.name is ignored: concerns the Java virtual machine only",
		"listener.name.other.max.connections is ignored: there is no listener OTHER",
		"listener.name.plaintext.log.dirs is ignored: log.dirs cannot be set for one listener",
		"metric.reporters is ignored: concerns the Java virtual machine only",
		"no.such is ignored: no such key in Kafka 3.9",
		"num.io.threads is ignored: nothing to tune: there is no such pool or queue here",
		"remote.log.reader.threads is ignored: tiered storage is not supported",
		"retention.ms is ignored: it is a key of topics; for all topics set log.retention.ms",
	}
	if diff := cmp.Diff(want, l.Report()); diff != "" {
		t.Fatal(diff)
	}
	if got := l.Broker().Network.MaxConnectionsOf; got["PLAINTEXT"] != 7 || len(got) != 1 {
		t.Fatalf("max.connections of listeners: %v", got)
	}
}

func TestLoad_NodeID_IsBrokerID(t *testing.T) {
	if b := mustLoad(t, "node.id=3").Broker(); b.ID != 3 {
		t.Fatalf("got %d", b.ID)
	}
	if b := mustLoad(t, "broker.id=1001", "broker.id.generation.enable=false").Broker(); b.ID != 1001 {
		t.Fatalf("got %d", b.ID)
	}
	if b := mustLoad(t).Broker(); b.ID != metadata.NoBroker || !b.GenerateID || b.ReservedMaxID != 1000 {
		t.Fatalf("got %+v", b)
	}
}

func TestLoad_ConfigProviders_AreResolved(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secrets.properties": "id=7\nRack=r\\u0031\n", "parts": "5"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("JACKDAW_TEST_FACTOR", "2")
	const class = "org.apache.kafka.common.config.provider."
	l := mustLoad(t, "config.providers=f, d,e", "config.providers.f.class="+class+"FileConfigProvider",
		"config.providers.d.class="+class+"DirectoryConfigProvider", "config.providers.e.class="+class+"EnvVarConfigProvider",
		"broker.id=${f:"+dir+"/secrets.properties:id}", "broker.rack=x-${f:"+dir+"/secrets.properties:Rack}-${other:y}",
		"num.partitions=${d:"+dir+":parts}", "default.replication.factor=${e:JACKDAW_TEST_FACTOR}")
	b := l.Broker()
	if b.ID != 7 || b.Rack != "x-r1-${other:y}" || b.NumPartitions != 5 || b.ReplicationFactor != 2 || len(l.Report()) != 0 {
		t.Fatalf("got %+v, report %q", b, l.Report())
	}
	_, err := Load(write(t, "zookeeper.connect=h:1", "config.providers=e", "config.providers.e.class="+class+"EnvVarConfigProvider",
		"broker.rack=${e:NO_SUCH_VARIABLE_HERE}"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "broker.rack: environment variable NO_SUCH_VARIABLE_HERE is not set") {
		t.Fatalf("got %v", err)
	}
}

func TestLoad_ConnectString_Forms(t *testing.T) {
	for _, tc := range []struct {
		text string
		want ZooKeeper
	}{
		{"a:1,b:2,c:3/kafka/x", ZooKeeper{Servers: []string{"a:1", "b:2", "c:3"}, Chroot: "/kafka/x"}},
		{"a", ZooKeeper{Servers: []string{"a:2181"}}},
		{" a:1 , [::1]:5 /k/ ", ZooKeeper{Servers: []string{"a:1", "[::1]:5"}, Chroot: "/k"}},
		{"a:1/", ZooKeeper{Servers: []string{"a:1"}}},
		{"embedded", ZooKeeper{Embedded: true, EmbeddedDir: "/d-zookeeper"}},
		{"embedded:12181", ZooKeeper{Embedded: true, EmbeddedPort: 12181}},
		{"embeddedhost:1", ZooKeeper{Servers: []string{"embeddedhost:1"}}},
	} {
		got := mustLoad(t, "zookeeper.connect="+tc.text, "log.dirs=/d,/e").Broker().ZooKeeper
		tc.want.SessionTimeout, tc.want.ConnectTimeout, tc.want.MaxInFlight = 18*time.Second, 18*time.Second, 10
		tc.want.EmbeddedDir = "/d-zookeeper"
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q: %s", tc.text, diff)
		}
	}
}

func TestLoad_Authorizer_SettingsAreTaken(t *testing.T) {
	l, err := Load(write(t, "zookeeper.connect=h:1"), nil, []string{
		"authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "super.users=User:ANONYMOUS; User:CN=a,O=b;", "allow.everyone.if.no.acl.found=TRUE",
		"authorizer.zookeeper.session.timeout.ms=5",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Authorization{Enabled: true, SuperUsers: []security.Principal{security.Anonymous, security.User("CN=a,O=b")}, AllowUnprotected: true}
	if got := l.Broker().Authorization; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := l.Report(); !slices.Equal(got, []string{"authorizer.zookeeper.session.timeout.ms is ignored: ACLs are read in the broker's own ZooKeeper session"}) {
		t.Errorf("%q", got)
	}
}

func TestLoad_SuperUsersWithoutAuthorizer_IsReported(t *testing.T) {
	l, err := Load(write(t, "zookeeper.connect=h:1"), nil, []string{"super.users=nonsense"})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Report(); l.Broker().Authorization.Enabled || !slices.Equal(got, []string{"super.users is ignored: authorizer.class.name is not set"}) {
		t.Errorf("%q", got)
	}
}
