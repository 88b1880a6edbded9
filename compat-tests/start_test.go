//go:build compat

package compat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// alone is a broker of the target kind on the shared ZooKeeper that is not started yet; it ends with the test.
func alone(t *testing.T) *cluster.Broker {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Brokers: 0})
	b, err := c.Add(1, cluster.Target())
	if err != nil {
		t.Fatal(err)
	}
	b.Config["offsets.topic.replication.factor"] = "1"
	return b
}

// expectRefusal starts a broker that must not start: exit status 1 soon, and one line that names the key and what is wrong.
func expectRefusal(t *testing.T, b *cluster.Broker, words ...string) {
	t.Helper()
	if err := b.Launch(); err != nil {
		t.Fatal(err)
	}
	code, err := b.Wait(25 * time.Second)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Tail(20))
	}
	if code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if strings.Contains(string(b.Output()), "panic:") || strings.Contains(string(b.Output()), "goroutine ") {
		t.Errorf("it panicked:\n%s", b.Tail(30))
	}
	for line := range strings.Lines(string(b.Output())) {
		if containsAll(line, words) {
			t.Logf("says: %s", strings.TrimSpace(line))
			return
		}
	}
	t.Errorf("no line has all of %q:\n%s", words, b.Tail(20))
}

// byTarget chooses what a message of the broker under test contains.
func byTarget(jackdaw, apache []string) []string {
	if cluster.Target() == cluster.Apache {
		return apache
	}
	return jackdaw
}

func containsAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

func TestStart_BadValue_OneLineThatNamesTheKey(t *testing.T) {
	for _, bad := range []struct {
		key, value    string
		says          string
		apacheDiffers string
	}{
		{"num.network.threads", "abc", "abc", ""},
		{"num.network.threads", "0", "0", ""},
		{"log.segment.bytes", "1", "1", ""},
		{"log.cleanup.policy", "zap", "zap", ""},
		{"compression.type", "rar", "rar", ""},
		{"unclean.leader.election.enable", "maybe", "maybe", ""},
		{"min.insync.replicas", "0", "0", ""},
		{"broker.id", "x", "x", ""},
		{"listeners", "PLAINTEXT://127.0.0.1:notaport", "notaport", ""},
		{"advertised.listeners", "PLAINTEXT://0.0.0.0:9092", "0.0.0.0", ""},
		{"advertised.listeners", "OTHER://127.0.0.1:9092", "OTHER", "names the listener and not the key"},
		{"inter.broker.listener.name", "NOWHERE", "NOWHERE", "names the listener and not the key"},
		{"listener.security.protocol.map", "PLAINTEXT:NONSENSE", "NONSENSE", "names the protocol and not the key"},
		{"zookeeper.connect", "", "", "waits for a server without a name"},
	} {
		t.Run(bad.key+"="+bad.value, func(t *testing.T) {
			if bad.apacheDiffers != "" {
				jackdawOnly(t, bad.apacheDiffers)
			}
			b := alone(t)
			b.Config[bad.key] = bad.value
			expectRefusal(t, b, bad.key, bad.says)
		})
	}
}

func TestStart_DataOfAnotherBroker_Refused(t *testing.T) {
	b := alone(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	before := listFiles(t, b.DataDir())
	b.Config["broker.id"] = "7"
	expectRefusal(t, b, byTarget([]string{"broker.id=7", "log.dirs"}, []string{"node id 7", "meta.properties"})...)
	if after := listFiles(t, b.DataDir()); after != before {
		t.Errorf("the data directory was touched:\nbefore\n%s\nafter\n%s", before, after)
	}
}

func TestStart_DataOfAnotherCluster_Refused(t *testing.T) {
	b := alone(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	before := listFiles(t, b.DataDir())
	b.Config["zookeeper.connect"] += "-other"
	expectRefusal(t, b, byTarget([]string{"cluster", "log.dirs"}, []string{"cluster", "meta.properties"})...)
	if after := listFiles(t, b.DataDir()); after != before {
		t.Errorf("the data directory was touched:\nbefore\n%s\nafter\n%s", before, after)
	}
}

// listFiles lists names, sizes and times below a directory, without the lock file.
func listFiles(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && info.Name() != ".lock" {
			fmt.Fprintln(&list, strings.TrimPrefix(path, dir), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func TestStart_LogDirInUse_Refused(t *testing.T) {
	jackdawOnly(t, "finds the other cluster in meta.properties first")
	b := alone(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	other := alone(t)
	other.Config["log.dirs"] = b.DataDir()
	other.Config["broker.id"] = "2"
	expectRefusal(t, other, "log.dirs")
}

func TestStart_PortInUse_Refused(t *testing.T) {
	b := alone(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	other := alone(t)
	other.Config["listeners"] = "PLAINTEXT://" + b.Addr()
	expectRefusal(t, other, b.Addr()[strings.LastIndex(b.Addr(), ":")+1:])
}

func TestStart_BrokerIDInUse_Refused(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1})
	twin, err := c.Add(2, cluster.Target())
	if err != nil {
		t.Fatal(err)
	}
	twin.Config["broker.id"] = "1"
	expectRefusal(t, twin, byTarget([]string{"broker.id", "1"}, []string{"NodeExists"})...)
	if _, err := wire.Metadata(c.Brokers[0].Addr()); err != nil {
		t.Errorf("the first holder of the id: %v", err)
	}
}

// TestStart_GeneratedID: broker.id=-1 with broker.id.generation.enable takes ids above reserved.broker.max.id and keeps them.
func TestStart_GeneratedID(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 0})
	var ids []int
	for i := range 2 {
		b, err := c.Add(1001+i, cluster.Target()) // the id the broker will give itself
		if err != nil {
			t.Fatal(err)
		}
		b.Config["broker.id"] = "-1"
		b.Config["broker.id.generation.enable"] = "true"
		b.Config["offsets.topic.replication.factor"] = "1"
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		live, err := c.Tree.Brokers()
		if err != nil || len(live) != 1 {
			t.Fatalf("registered: %v, %v", live, err)
		}
		ids = append(ids, live[0])
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil { // the same id again
			t.Fatal(err)
		}
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != 1001 || ids[1] != 1002 {
		t.Errorf("generated ids %v, want 1001 and 1002", ids)
	}
}

// TestStart_PropertiesAndEnvironment: Java's syntax, and what wins over what.
func TestStart_PropertiesAndEnvironment(t *testing.T) {
	jackdawOnly(t, "takes no settings from the environment")
	b := alone(t)
	b.Config["num.partitions"] = "2"
	b.Config["log.retention.hours"] = "1"
	b.Config["log.retention.ms"] = "7777777"
	b.Config["unclean.leader.election"] = "true" // a spelling that is often seen
	b.Config["no.such.key"] = "1"
	b.Env = []string{"KAFKA_NUM_PARTITIONS=5", "KAFKA_MESSAGE_MAX_BYTES=1234567"}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	values := brokerConfig(t, b)
	for key, want := range map[string]string{
		"num.partitions": "5", "message.max.bytes": "1234567", "log.retention.ms": "7777777", "unclean.leader.election.enable": "true",
	} {
		if values[key] != want {
			t.Errorf("%s is %q, want %q", key, values[key], want)
		}
	}
	if !strings.Contains(string(b.Output()), "no.such.key") {
		t.Error("the start report does not name the unknown key no.such.key")
	}
}

// brokerConfig asks a broker for its own settings.
func brokerConfig(t *testing.T, b *cluster.Broker) map[string]string {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	x := kmsg.NewDescribeConfigsRequestResource()
	x.ResourceType, x.ResourceName = kmsg.ConfigResourceTypeBroker, b.Config["broker.id"]
	req.Resources = append(req.Resources, x)
	r := ask[*kmsg.DescribeConfigsResponse](t, b.Addr(), req, 4)
	if r.Resources[0].ErrorCode != 0 {
		t.Fatalf("DescribeConfigs: error %d (%s)", r.Resources[0].ErrorCode, deref(r.Resources[0].ErrorMessage))
	}
	values := map[string]string{}
	for _, entry := range r.Resources[0].Configs {
		values[entry.Name] = deref(entry.Value)
	}
	return values
}

// A broker that is back before its controller has told it of the topics answers no client with "unknown topic": some, as
// franz-go, give records up after they have heard it a few times.
func TestStart_ControllerSilent_ClientsWaitForTheTopics(t *testing.T) {
	jackdawOnly(t, "Apache Kafka answers from an empty cache")
	c := cluster.Start(t, cluster.Options{Brokers: 2}) // the first is the controller
	topic, b := topicName(t), c.Broker(2)
	createAssigned(t, c, topic, nil, []int32{2})
	if err := errors.Join(b.Stop(), c.Broker(1).Freeze(), b.Launch(), b.WaitOutput("registered", 30*time.Second)); err != nil {
		t.Fatal(err, b.Tail(20))
	}
	requests := []kmsg.Request{
		wire.NewMetadata(topic),
		wire.NewProduce(1, wire.Part{Topic: topic, Records: wire.Values("early").Encode()}),
	}
	conns, ids := make([]*wire.Conn, len(requests)), make([]int32, len(requests))
	for i, req := range requests {
		conn, err := wire.Dial(b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if ids[i], err = conn.WriteRequest(req, 9); err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
	}
	// What every connection begins with is answered all the same.
	ask[*kmsg.ApiVersionsResponse](t, b.Addr(), kmsg.NewPtrApiVersionsRequest(), 3)
	thaw(t, c.Broker(1))
	for i, req := range requests {
		resp, err := conns[i].ReadResponse(req, ids[i], time.Minute)
		if err != nil {
			t.Fatalf("%T: %v", req, err)
		}
		switch resp := resp.(type) {
		case *kmsg.MetadataResponse:
			if got := resp.Topics[0]; got.ErrorCode != 0 || len(got.Partitions) != 1 {
				t.Errorf("metadata: %+v", got)
			}
		case *kmsg.ProduceResponse:
			if got := resp.Topics[0].Partitions[0].ErrorCode; got != 0 && got != kerr.NotLeaderForPartition.Code {
				t.Errorf("produce: %v", kerr.ErrorForCode(got))
			}
		}
	}
}
