//go:build compat

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestReplicationThrottle_Reassignment_TakesItsTime moves a replica of 6 MB by Apache's tool at 1 MB a second. Producers and the
// replicas in sync do not notice; --verify takes the limits away.
func TestReplicationThrottle_Reassignment_TakesItsTime(t *testing.T) {
	t.Parallel() // it mostly waits
	const megabytes, rate = 6, 1_000_000
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"replica.fetch.max.bytes": "200000"}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2})
	cl := client(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64<<10))
	value := make([]byte, 10_000)
	for range megabytes * 100 {
		cl.Produce(t.Context(), &kgo.Record{Topic: topic, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "reassign.json")
	text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[1,3]}]}`, topic)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := cluster.Tool("", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
			append([]string{"--bootstrap-server", c.BootstrapString(), "--reassignment-json-file", file}, args...)...)
		if err != nil {
			t.Fatalf("kafka-reassign-partitions %v: %v\n%s", args, err, out)
		}
		return out
	}
	began := time.Now()
	run("--execute", "--throttle", fmt.Sprint(rate))
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
		t.Errorf("produce while the replica moves: %v", err)
	}
	waitISR(t, c, topic, 0, time.Minute, 1, 3)
	took := time.Since(began)
	t.Logf("%d MB at %d bytes a second took %v", megabytes, rate, took.Round(100*time.Millisecond))
	if took < (megabytes-2)*time.Second {
		t.Errorf("%d MB came within %v", megabytes, took)
	}
	if out := run("--verify"); !strings.Contains(out, "is completed") {
		t.Errorf("--verify:\n%s", out)
	}
	checkUnthrottled(t, c, topic)
	checkReplicasEqual(t, c, topic, 0)
}

// checkUnthrottled: nothing of the tool's settings is left.
func checkUnthrottled(t *testing.T, c *cluster.Cluster, topic string) {
	t.Helper()
	configs, err := admin(t, c).DescribeTopicConfigs(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range configs[0].Configs {
		if strings.HasSuffix(e.Key, "replication.throttled.replicas") && e.Source == kmsg.ConfigSourceDynamicTopicConfig {
			t.Errorf("%s=%s is left", e.Key, e.MaybeValue())
		}
	}
	brokers, err := admin(t, c).DescribeBrokerConfigs(t.Context(), 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range brokers {
		for _, e := range b.Configs {
			if strings.HasSuffix(e.Key, "replication.throttled.rate") {
				t.Errorf("broker %s: %s=%s is left", b.Name, e.Key, e.MaybeValue())
			}
		}
	}
}

// TestNearestReplica_ConsumerInARack_BytesComeFromTheFollower has a rack for each broker: the leader sends a consumer to the
// replica beside it, which serves what is committed (KIP-392).
func TestNearestReplica_ConsumerInARack_BytesComeFromTheFollower(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
	}})
	for _, b := range c.Brokers {
		b.Config["broker.rack"] = fmt.Sprintf("rack-%d", b.ID)
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2, 3})
	values := series("v", 200)
	franzProduce(t, client(t, c), topic, 0, values)
	cluster.Eventually(t, 10*time.Second, "a preferred replica", func() error {
		req := wire.NewFetch(wire.Position{Topic: topic})
		req.Rack = "rack-2"
		r, err := wire.Ask[*kmsg.FetchResponse](c.Broker(1).Addr(), req, 11)
		if err != nil {
			return err
		}
		if p := r.Topics[0].Partitions[0]; p.PreferredReadReplica != 2 || len(p.RecordBatches) > 0 {
			return fmt.Errorf("preferred replica %d, %d bytes", p.PreferredReadReplica, len(p.RecordBatches))
		}
		return nil
	})
	var sent fetchedBytes
	got := franzRead(t, c, topic, len(values), kgo.Rack("rack-2"), kgo.WithHooks(&sent))[0]
	if len(got) != len(values) {
		t.Errorf("%d records, want %d", len(got), len(values))
	}
	if leader, follower := sent.from(1), sent.from(2); follower < 1000 || leader > 1000 {
		t.Errorf("%d bytes came from the follower and %d from the leader, which had only to say where to go", follower, leader)
	}
	// Who names no rack, or one without a replica, reads from the leader.
	for _, rack := range []string{"", "rack-9"} {
		req := wire.NewFetch(wire.Position{Topic: topic})
		req.Rack = rack
		p := ask[*kmsg.FetchResponse](t, c.Broker(1).Addr(), req, 11).Topics[0].Partitions[0]
		if p.PreferredReadReplica != -1 || len(p.RecordBatches) == 0 {
			t.Errorf("rack %q: preferred replica %d, %d bytes", rack, p.PreferredReadReplica, len(p.RecordBatches))
		}
	}
}

// fetchedBytes counts what a client reads in answers to Fetch, by broker.
type fetchedBytes struct {
	mu    sync.Mutex
	bytes map[int32]int
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (f *fetchedBytes) OnBrokerRead(b kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, _ error) {
	if key != int16(kmsg.Fetch) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes == nil {
		f.bytes = map[int32]int{}
	}
	f.bytes[b.NodeID] += n
}

func (f *fetchedBytes) from(id int32) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes[id]
}
