//go:build compat

package compat

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// fixture is a cluster that many tests share. A test that harms brokers starts a cluster of its own.
type fixture struct {
	brokers int
	config  map[string]string
	mu      struct {
		sync.Mutex
		cluster *cluster.Cluster
		dir     string
		err     error // of the one attempt to start it
	}
}

var (
	single = fixture{brokers: 1}
	triple = fixture{brokers: 3, config: map[string]string{"replica.lag.time.max.ms": "5000"}}
)

// one is the shared cluster of one broker with Kafka's defaults.
func one(t *testing.T) *cluster.Cluster { return single.get(t) }

// three is the shared cluster of three brokers.
func three(t *testing.T) *cluster.Cluster { return triple.get(t) }

func (f *fixture) get(t *testing.T) *cluster.Cluster {
	t.Helper()
	o := cluster.Options{Brokers: f.brokers, Config: f.config}
	cluster.NeedFor(t, o)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.cluster == nil && f.mu.err == nil {
		f.start(o)
	}
	if f.mu.err != nil {
		t.Fatalf("shared cluster of %d: %v", f.brokers, f.mu.err)
	}
	c := f.mu.cluster
	if running := len(c.Running()); running != f.brokers {
		c.LogTails(t, 60)
		t.Fatalf("shared cluster: %d of %d brokers run", running, f.brokers)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.LogTails(t, 30)
		}
		if running := len(c.Running()); running != f.brokers {
			t.Errorf("after this test %d of %d brokers run", running, f.brokers)
		}
	})
	return c
}

// start makes the one attempt. The data outlives the test that happens to come first.
func (f *fixture) start(o cluster.Options) {
	o.Dir, f.mu.err = os.MkdirTemp("", "jackdaw-compat-shared-")
	if f.mu.dir = o.Dir; f.mu.err == nil {
		f.mu.cluster, f.mu.err = cluster.New(o)
	}
}

func (f *fixture) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.dir == "" {
		return nil
	}
	var err error
	if f.mu.cluster != nil {
		err = f.mu.cluster.Close()
	}
	return errors.Join(err, os.RemoveAll(f.mu.dir))
}

// shortSession is the zookeeper.session.timeout.ms of tests that kill brokers. A JVM on a busy machine loses a shorter one while it starts.
func shortSession() string {
	if cluster.Target() == cluster.Apache {
		return "8000"
	}
	return "4000"
}

// topicName gives a topic of this test alone.
func topicName(t *testing.T) string {
	t.Helper()
	return strings.NewReplacer("/", ".", " ", "-", "#", "-", ",", "-", "'", "", "(", "", ")", "", ":", "-", "=", "-", ">", "gt").Replace(t.Name())
}

// client returns a franz-go client of the cluster, closed with the test.
func client(t *testing.T, c *cluster.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(c.Bootstrap()...), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// createTopic creates a topic and waits until every running broker names a leader for each partition. config is key, value, ...
func createTopic(t *testing.T, c *cluster.Cluster, name string, partitions int32, replicas int16, config ...string) {
	t.Helper()
	createTopicFrom(t, c, wire.NewCreateTopic(name, partitions, replicas, config...))
}

// createAssigned creates a topic with the given replicas of partition 0, 1, ...
func createAssigned(t *testing.T, c *cluster.Cluster, name string, config []string, replicas ...[]int32) {
	t.Helper()
	createTopicFrom(t, c, wire.Assign(wire.NewCreateTopic(name, -1, -1, config...), replicas...))
}

func createTopicFrom(t *testing.T, c *cluster.Cluster, req *kmsg.CreateTopicsRequest) {
	t.Helper()
	name := req.Topics[0].Topic
	resp, err := req.RequestWith(t.Context(), client(t, c))
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		t.Fatalf("create %s: %v (%s)", name, err, deref(resp.Topics[0].ErrorMessage))
	}
	partitions := int(req.Topics[0].NumPartitions)
	if len(req.Topics[0].ReplicaAssignment) > 0 {
		partitions = len(req.Topics[0].ReplicaAssignment)
	}
	waitLeaders(t, c, name, partitions)
}

// waitLeaders waits until every running broker names a leader for each partition of a topic.
func waitLeaders(t *testing.T, c *cluster.Cluster, topic string, partitions int) {
	t.Helper()
	cluster.Eventually(t, 10*time.Second, "metadata of "+topic, func() error {
		for _, id := range c.Running() {
			if _, err := leaders(c.Broker(id).Addr(), topic, partitions); err != nil {
				return fmt.Errorf("at broker %d: %w", id, err)
			}
		}
		return nil
	})
}

// leaders asks one broker for the leaders of a topic, by partition.
func leaders(addr, topic string, partitions int) ([]int32, error) {
	m, err := wire.Metadata(addr, topic)
	if err != nil {
		return nil, err
	}
	if code := m.Topics[0].ErrorCode; code != 0 {
		return nil, kerr.ErrorForCode(code)
	}
	if partitions > 0 && len(m.Topics[0].Partitions) != partitions {
		return nil, fmt.Errorf("%d partitions, want %d", len(m.Topics[0].Partitions), partitions)
	}
	ids := make([]int32, len(m.Topics[0].Partitions))
	for _, p := range m.Topics[0].Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return nil, fmt.Errorf("partition %d: leader %d, error %d", p.Partition, p.Leader, p.ErrorCode)
		}
		ids[p.Partition] = p.Leader
	}
	return ids, nil
}

// leaderOf returns the broker that the partition's state znode names as leader.
func leaderOf(t *testing.T, c *cluster.Cluster, topic string, partition int) *cluster.Broker {
	t.Helper()
	s, err := c.Tree.State(topic, partition)
	if err != nil {
		t.Fatal(err)
	}
	return c.Broker(s.Leader)
}

// topicID asks for a topic's id.
func topicID(t *testing.T, addr, topic string) [16]byte {
	t.Helper()
	m, err := wire.Metadata(addr, topic)
	if err != nil {
		t.Fatalf("metadata of %s: %v", topic, err)
	}
	return m.Topics[0].TopicID
}

// endOffset asks a leader for a partition's high watermark.
func endOffset(t *testing.T, addr, topic string, partition int32) int64 {
	t.Helper()
	r := ask[*kmsg.ListOffsetsResponse](t, addr, wire.NewListOffsets(topic, partition, -1), 7)
	p := r.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		t.Fatalf("end offset of %s-%d: %v", topic, partition, kerr.ErrorForCode(p.ErrorCode))
	}
	return p.Offset
}

// ask is wire.Ask for a test.
func ask[R kmsg.Response](t *testing.T, addr string, req kmsg.Request, version int16) R {
	t.Helper()
	r, err := wire.Ask[R](addr, req, version)
	if err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return r
}

// produceOne appends records by acks and returns the answer for the only partition.
func produceOne(t *testing.T, addr, topic string, partition int32, acks int16, records []byte) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	r := ask[*kmsg.ProduceResponse](t, addr, wire.NewProduce(acks, wire.Part{Topic: topic, Partition: partition, Records: records}), 9)
	return r.Topics[0].Partitions[0]
}

// mustProduce is produceOne that has to succeed; it returns the base offset.
func mustProduce(t *testing.T, addr, topic string, partition int32, acks int16, b *wire.Batch) int64 {
	t.Helper()
	p := produceOne(t, addr, topic, partition, acks, b.Encode())
	if p.ErrorCode != 0 {
		t.Fatalf("produce to %s-%d: %v", topic, partition, kerr.ErrorForCode(p.ErrorCode))
	}
	return p.BaseOffset
}

// checkAlive asks every running broker for metadata: what was done to one connection must not harm another.
func checkAlive(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, id := range c.Running() {
		if _, err := wire.Metadata(c.Broker(id).Addr()); err != nil {
			t.Fatalf("broker %d after this: %v", id, err)
		}
	}
}

// waitISR waits until a partition's ISR in ZooKeeper is exactly the ids.
func waitISR(t *testing.T, c *cluster.Cluster, topic string, partition int, limit time.Duration, ids ...int) cluster.PartitionState {
	t.Helper()
	slices.Sort(ids)
	s, err := c.Tree.WaitState(topic, partition, limit, fmt.Sprintf("isr %v", ids), func(s cluster.PartitionState) bool { return slices.Equal(s.ISR, ids) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waitGone waits until a killed broker's registration has expired; until then its id belongs to somebody else in the eyes of a new process.
func waitGone(t *testing.T, c *cluster.Cluster, b *cluster.Broker) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, "end of the session of "+b.Name, func() error {
		live, err := c.Tree.Brokers()
		if err == nil && slices.Contains(live, b.ID) {
			err = fmt.Errorf("still registered: %v", live)
		}
		return err
	})
}

// admin wraps a client in franz-go's admin calls.
func admin(t *testing.T, c *cluster.Cluster) *kadm.Client {
	t.Helper()
	return kadm.NewClient(client(t, c))
}

func deref(s *string) string {
	if s == nil {
		return "<nil>"
	}
	return *s
}
