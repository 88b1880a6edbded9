//go:build compat

package compat

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// codecs are all that Kafka has, by the names that clients give them.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func franzCodec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	default:
		return kgo.NoCompression()
	}
}

// franzProduce writes values of one partition in order with acks=all, each with key "k", and waits for all.
func franzProduce(t *testing.T, cl *kgo.Client, topic string, partition int32, values []string) {
	t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Key: []byte("k"), Value: []byte(v)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce to %s-%d: %v", topic, partition, err)
	}
}

// franzRead reads n records from the start of a topic and returns the values by partition, in offset order.
func franzRead(t *testing.T, c *cluster.Cluster, topic string, n int, opts ...kgo.Opt) map[int32][]string {
	t.Helper()
	opts = append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	cl := client(t, c, opts...)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got := map[int32][]string{}
	next := map[int32]int64{}
	for count := 0; count < n; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("read %s: %d of %d records, then %v", topic, count, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < next[r.Partition] {
				t.Errorf("%s-%d: offset %d after %d", topic, r.Partition, r.Offset, next[r.Partition]-1)
			}
			next[r.Partition] = r.Offset + 1
			got[r.Partition] = append(got[r.Partition], string(r.Value))
			count++
		})
	}
	return got
}

// series is prefix-0 ... prefix-(n-1).
func series(prefix string, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return values
}

// spread is a series of 100 values for each of three partitions.
func spread(prefix string) map[int32][]string {
	all := map[int32][]string{}
	for p := range int32(3) {
		all[p] = series(fmt.Sprintf("%s-p%d", prefix, p), 100)
	}
	return all
}

func TestFranz_EveryCodec_ReadFromTheStart(t *testing.T) {
	c := three(t)
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := topicName(t)
			r, err := admin(t, c).CreateTopic(t.Context(), 3, 3, nil, topic)
			if err != nil {
				t.Fatalf("create: %v (%s)", err, r.ErrMessage)
			}
			waitLeaders(t, c, topic, 3)
			cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(franzCodec(codec)))
			want := spread(codec)
			for p, values := range want {
				franzProduce(t, cl, topic, p, values)
			}
			if diff := cmp.Diff(want, franzRead(t, c, topic, 300)); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			checkCodec(t, c, topic, codec)
		})
	}
}

// checkCodec looks at the first stored batch: the broker must keep what the producer chose.
func checkCodec(t *testing.T, c *cluster.Cluster, topic, codec string) {
	t.Helper()
	checkCodecAt(t, c, topic, 0, codec)
}

func checkCodecAt(t *testing.T, c *cluster.Cluster, topic string, partition int32, codec string) {
	t.Helper()
	batches := fetchBatches(t, leaderOf(t, c, topic, int(partition)).Addr(), topic, partition, 0)
	if len(batches) == 0 {
		t.Fatalf("no batch in %s-%d", topic, partition)
	}
	if got := codecs[batches[0].Attributes&7]; got != codec {
		t.Errorf("stored with codec %s, sent with %s", got, codec)
	}
}

// franzMember is a group member that commits only when told to.
type franzMember struct {
	*kgo.Client
	group, topic string
}

func joinFranz(t *testing.T, c *cluster.Cluster, group, topic string) *franzMember {
	t.Helper()
	cl := client(t, c, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(kgo.RoundRobinBalancer()), kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(200*time.Millisecond), kgo.SessionTimeout(6*time.Second), kgo.RebalanceTimeout(10*time.Second))
	return &franzMember{Client: cl, group: group, topic: topic}
}

// read polls until n records have come or time is up and returns their values.
func (m *franzMember) read(t *testing.T, n int, limit time.Duration) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var values []string
	for len(values) < n && ctx.Err() == nil {
		m.PollFetches(ctx).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
		m.AllowRebalance()
	}
	return values
}

// commit commits all that was polled.
func (m *franzMember) commit(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := m.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// waitAssigned waits until the group is stable with members that own the given numbers of partitions, ascending.
func waitAssigned(t *testing.T, adm *kadm.Client, group string, want ...int) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, "group "+group, func() error {
		d, err := adm.DescribeGroups(t.Context(), group)
		if err != nil {
			return err
		}
		var counts []int
		for _, m := range d[group].Members {
			if a, ok := m.Assigned.AsConsumer(); ok {
				n := 0
				for _, topic := range a.Topics {
					n += len(topic.Partitions)
				}
				counts = append(counts, n)
			}
		}
		slices.Sort(counts)
		if d[group].State != "Stable" || !slices.Equal(counts, want) {
			return fmt.Errorf("state %s, partitions owned %v, want %v", d[group].State, counts, want)
		}
		return nil
	})
}

func TestFranz_Group_RebalancesCommitsAndResumes(t *testing.T) {
	c := three(t)
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 6, 3)
	producer := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	adm := admin(t, c)
	first := series("first", 10)
	for p := range int32(6) {
		franzProduce(t, producer, topic, p, first)
	}

	a := joinFranz(t, c, group, topic)
	if got := a.read(t, 60, 30*time.Second); len(got) != 60 {
		t.Fatalf("member a read %d of 60 records", len(got))
	}
	a.commit(t)
	waitAssigned(t, adm, group, 6)

	b := joinFranz(t, c, group, topic)
	var both waitGroup
	stop := make(chan struct{})
	both.poll(t, a, stop)
	both.poll(t, b, stop)
	waitAssigned(t, adm, group, 3, 3)
	close(stop)
	both.Wait()

	second := series("second", 10)
	for p := range int32(6) {
		franzProduce(t, producer, topic, p, second)
	}
	fromA, fromB := a.read(t, 30, 20*time.Second), b.read(t, 30, 20*time.Second)
	if len(fromA) != 30 || len(fromB) != 30 {
		t.Fatalf("after the rebalance a read %d and b %d records, want 30 each", len(fromA), len(fromB))
	}
	for _, v := range append(fromA, fromB...) {
		if v[:6] != "second" {
			t.Errorf("record %s read again after its offset was committed", v)
		}
	}
	a.commit(t)
	b.commit(t)
	b.Close() // leaves the group
	a.Close()

	third := series("third", 5)
	franzProduce(t, producer, topic, 4, third)
	d := joinFranz(t, c, group, topic)
	if got := d.read(t, 5, 20*time.Second); !slices.Equal(got, third) {
		t.Errorf("a new member resumed with %v, want %v", got, third)
	}
}

func TestFranz_Idempotent_BatchesCarryTheProducer(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	cl := client(t, c, kgo.MaxBufferedRecords(50000))
	want := series("v", 5000)
	for chunk := range slices.Chunk(want, 100) { // several requests in flight
		for _, v := range chunk {
			cl.Produce(t.Context(), &kgo.Record{Topic: topic, Value: []byte(v)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("produce: %v", err)
				}
			})
		}
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := franzRead(t, c, topic, len(want))[0]; !slices.Equal(got, want) {
		t.Errorf("%d records came back, not the %d that were sent in order", len(got), len(want))
	}
	checkIdempotent(t, c, topic)
}

// checkIdempotent looks at the stored batches: one producer id, sequences without a hole.
func checkIdempotent(t *testing.T, c *cluster.Cluster, topic string) {
	t.Helper()
	next := int32(0)
	for i, b := range fetchBatches(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, 0) {
		if b.ProducerID < 0 || b.ProducerEpoch != 0 {
			t.Errorf("batch %d at offset %d: producer id %d epoch %d", i, b.FirstOffset, b.ProducerID, b.ProducerEpoch)
		}
		if b.FirstSequence != next {
			t.Errorf("batch %d at offset %d: sequence %d, want %d", i, b.FirstOffset, b.FirstSequence, next)
		}
		next = b.FirstSequence + b.LastOffsetDelta + 1
	}
}

func TestFranz_DeleteTopic_NameCanBeUsedAgain(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 2, 3)
	before := topicID(t, c.Brokers[0].Addr(), topic)
	mustProduce(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, -1, wire.Values("old"))
	if r, err := admin(t, c).DeleteTopic(t.Context(), topic); err != nil {
		t.Fatalf("delete: %v (%s)", err, r.ErrMessage)
	}
	cluster.Eventually(t, 15*time.Second, "deletion", func() error {
		if _, err := c.Tree.Assignment(topic); err == nil {
			return fmt.Errorf("znode of %s is still there", topic)
		}
		return nil
	})
	createTopic(t, c, topic, 1, 3)
	if topicID(t, c.Brokers[0].Addr(), topic) == before {
		t.Error("the new topic has the id of the old one")
	}
	if off := mustProduce(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, -1, wire.Values("new")); off != 0 {
		t.Errorf("the new topic starts at offset %d", off)
	}
}
