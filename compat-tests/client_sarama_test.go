//go:build compat

package compat

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"jackdaw/compat-tests/cluster"
)

// saramaConfig is strict: errors and successes are returned, acks=all, manual partitions.
func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_9_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 20
	config.Metadata.RefreshFrequency = 5 * time.Second
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	return config
}

func saramaCodec(name string) sarama.CompressionCodec {
	return sarama.CompressionCodec(slices.Index(codecs, name))
}

// saramaProduce writes values to one partition in order.
func saramaProduce(t *testing.T, c *cluster.Cluster, config *sarama.Config, topic string, partition int32, values []string) {
	t.Helper()
	p, err := sarama.NewSyncProducer(c.Bootstrap(), config)
	if err != nil {
		t.Fatalf("producer: %v", err)
	}
	defer closeNow(t, p)
	var messages []*sarama.ProducerMessage
	for _, v := range values {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Partition: partition, Key: sarama.StringEncoder("k"), Value: sarama.StringEncoder(v)})
	}
	if err := p.SendMessages(messages); err != nil {
		t.Fatalf("produce to %s-%d: %v", topic, partition, err)
	}
}

// saramaRead reads one partition from the start until n records or limit, and returns values in offset order.
func saramaRead(t *testing.T, c *cluster.Cluster, topic string, partition int32, n int, limit time.Duration) []string {
	t.Helper()
	return saramaReadBy(t, c, saramaConfig(), topic, partition, n, limit)
}

// saramaReadBy is saramaRead with settings of its own.
func saramaReadBy(t *testing.T, c *cluster.Cluster, config *sarama.Config, topic string, partition int32, n int, limit time.Duration) []string {
	t.Helper()
	consumer, err := sarama.NewConsumer(c.Bootstrap(), config)
	if err != nil {
		t.Fatalf("consumer: %v", err)
	}
	defer closeNow(t, consumer)
	pc, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		t.Fatalf("consume %s-%d: %v", topic, partition, err)
	}
	defer closeNow(t, pc)
	var values []string
	next := int64(0)
	deadline := time.After(limit)
	for len(values) < n {
		select {
		case m := <-pc.Messages():
			if m.Offset < next {
				t.Errorf("%s-%d: offset %d after %d", topic, partition, m.Offset, next-1)
			}
			next = m.Offset + 1
			values = append(values, string(m.Value))
		case err := <-pc.Errors():
			t.Errorf("consume %s-%d: %v", topic, partition, err)
		case <-deadline:
			t.Errorf("consume %s-%d: %d of %d records in %v", topic, partition, len(values), n, limit)
			return values
		}
	}
	return values
}

func closeNow(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestSarama_EveryCodec_ReadFromTheStart(t *testing.T) {
	c := three(t)
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := topicName(t)
			config := saramaConfig()
			config.Producer.Compression = saramaCodec(codec)
			adm, err := sarama.NewClusterAdmin(c.Bootstrap(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer closeNow(t, adm)
			if err := adm.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 3}, false); err != nil {
				t.Fatalf("create: %v", err)
			}
			waitLeaders(t, c, topic, 3)
			for p, values := range spread(codec) {
				saramaProduce(t, c, config, topic, p, values)
				got := saramaRead(t, c, topic, p, len(values), 20*time.Second)
				if diff := cmp.Diff(values, got); diff != "" {
					t.Errorf("partition %d (-want +got):\n%s", p, diff)
				}
			}
			checkCodec(t, c, topic, codec)
		})
	}
}

// saramaMember is a member of a group that counts what it gets and marks it.
type saramaMember struct {
	group sarama.ConsumerGroup
	done  sync.WaitGroup
	stop  context.CancelFunc
	got   chan *sarama.ConsumerMessage

	mu struct {
		sync.Mutex
		claims int // partitions owned in the current generation
	}
}

func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.claims = 0
	for _, partitions := range s.Claims() {
		m.mu.claims += len(partitions)
	}
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		m.got <- msg
		s.MarkMessage(msg, "")
		s.Commit()
	}
	return nil
}

func joinSarama(t *testing.T, c *cluster.Cluster, group, topic string) *saramaMember {
	t.Helper()
	config := saramaConfig()
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Enable = false
	g, err := sarama.NewConsumerGroup(c.Bootstrap(), group, config)
	if err != nil {
		t.Fatalf("group member: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &saramaMember{group: g, stop: stop, got: make(chan *sarama.ConsumerMessage, 1000)}
	m.done.Go(func() {
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{topic}, m); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
				t.Errorf("consume: %v", err)
				return
			}
		}
	})
	m.done.Go(func() {
		for err := range g.Errors() {
			t.Errorf("group member: %v", err)
		}
	})
	return m
}

func (m *saramaMember) leave(t *testing.T) {
	t.Helper()
	m.stop()
	closeNow(t, m.group)
	m.done.Wait()
}

// read takes n values that were marked and committed.
func (m *saramaMember) read(t *testing.T, n int, limit time.Duration) []string {
	t.Helper()
	var values []string
	deadline := time.After(limit)
	for len(values) < n {
		select {
		case msg := <-m.got:
			values = append(values, string(msg.Value))
		case <-deadline:
			t.Fatalf("group member read %d of %d records in %v", len(values), n, limit)
		}
	}
	return values
}

func TestSarama_Group_RebalancesCommitsAndResumes(t *testing.T) {
	c := three(t)
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 4, 3)
	adm := admin(t, c)
	for p := range int32(4) {
		saramaProduce(t, c, saramaConfig(), topic, p, series("first", 10))
	}

	a := joinSarama(t, c, group, topic)
	a.read(t, 40, 30*time.Second)
	b := joinSarama(t, c, group, topic)
	waitAssigned(t, adm, group, 2, 2)
	for p := range int32(4) {
		saramaProduce(t, c, saramaConfig(), topic, p, series("second", 10))
	}
	for _, v := range append(a.read(t, 20, 20*time.Second), b.read(t, 20, 20*time.Second)...) {
		if v[:6] != "second" {
			t.Errorf("record %s read again after its offset was committed", v)
		}
	}
	b.leave(t)
	waitAssigned(t, adm, group, 4)
	a.leave(t)

	third := series("third", 5)
	saramaProduce(t, c, saramaConfig(), topic, 1, third)
	d := joinSarama(t, c, group, topic)
	if got := d.read(t, 5, 20*time.Second); !slices.Equal(got, third) {
		t.Errorf("a new member resumed with %v, want %v", got, third)
	}
	d.leave(t)
}

func TestSarama_Idempotent_BatchesCarryTheProducer(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	want := series("v", 2000)
	saramaProduce(t, c, config, topic, 0, want)
	if got := saramaRead(t, c, topic, 0, len(want), 20*time.Second); !slices.Equal(got, want) {
		t.Errorf("%d records came back, not the %d that were sent in order", len(got), len(want))
	}
	checkIdempotent(t, c, topic)
}
