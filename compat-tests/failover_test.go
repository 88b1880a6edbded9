//go:build compat

package compat

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// A load writes rising numbers to the partitions of a topic in turn: record i goes to partition i % partitions with value i.
type load struct {
	topic      string
	partitions int
	allowed    atomic.Int64 // records that may be sent so far
	sent       int64
	acked      atomic.Int64
	stop       chan struct{}
	done       sync.WaitGroup
}

func startLoad(t *testing.T, cl *kgo.Client, topic string, partitions int, total int64) *load {
	t.Helper()
	l := &load{topic: topic, partitions: partitions, stop: make(chan struct{})}
	t.Cleanup(func() {
		close(l.stop)
		l.done.Wait()
	})
	l.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for l.sent < total {
			if l.sent >= l.allowed.Load() {
				select {
				case <-l.stop:
					return
				case <-tick.C:
				}
				continue
			}
			l.send(t, cl)
		}
	})
	return l
}

func (l *load) send(t *testing.T, cl *kgo.Client) {
	r := &kgo.Record{Topic: l.topic, Partition: int32(l.sent % int64(l.partitions)), Value: []byte(strconv.FormatInt(l.sent, 10))}
	l.sent++
	cl.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
		if err != nil {
			t.Errorf("produce: %v", err)
			return
		}
		l.acked.Add(1)
	})
}

// waitAcked waits until n records are acknowledged.
func (l *load) waitAcked(t *testing.T, n int64, limit time.Duration) {
	t.Helper()
	cluster.Eventually(t, limit, "acknowledged records", func() error {
		if got := l.acked.Load(); got < n {
			return fmt.Errorf("%d of %d", got, n)
		}
		return nil
	})
}

// checkContents reads each partition with sarama and compares with what was acknowledged: all, once, in order.
func (l *load) checkContents(t *testing.T, c *cluster.Cluster, total int64) {
	t.Helper()
	for p := range l.partitions {
		want := (total - int64(p) + int64(l.partitions) - 1) / int64(l.partitions)
		got := saramaRead(t, c, l.topic, int32(p), int(want), 60*time.Second)
		for i, v := range got {
			if v != strconv.FormatInt(int64(i*l.partitions+p), 10) {
				t.Errorf("partition %d, record %d is %s, want %d: lost, doubled or out of order", p, i, v, i*l.partitions+p)
				break
			}
		}
		addr := leaderOf(t, c, l.topic, p).Addr()
		if end := endOffset(t, addr, l.topic, int32(p)); end != want {
			t.Errorf("partition %d ends at %d, want %d", p, end, want)
		}
	}
}

// TestFailover_LeaderKilledThreeTimes_NothingLostOrDoubled is the heart of the promise: 100,000 records with acks=all through an
// idempotent franz-go producer while the leader is killed and comes back, three times; sarama reads them.
func TestFailover_LeaderKilledThreeTimes_NothingLostOrDoubled(t *testing.T) {
	const total, perRound = 100_000, 25_000
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	topic := topicName(t)
	createTopic(t, c, topic, 3, 3, "min.insync.replicas", "2")
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(5000),
		kgo.ProducerBatchMaxBytes(32<<10), kgo.RetryTimeout(90*time.Second), kgo.RequestRetries(1000))
	l := startLoad(t, cl, topic, 3, total)
	for round := range int64(3) {
		l.allowed.Store(perRound * (round + 1))
		l.waitAcked(t, perRound*round+2000, 60*time.Second) // it flows, and goes on while the leader dies
		killAndReturn(t, c, l, topic, int(round))
	}
	l.allowed.Store(total)
	l.waitAcked(t, total, 90*time.Second)
	l.checkContents(t, c, total)
	for p := range 3 {
		checkReplicasEqual(t, c, topic, p)
	}
}

// killAndReturn kills the leader of a partition, waits for the next one and for writes to go on, and brings the dead broker back.
func killAndReturn(t *testing.T, c *cluster.Cluster, l *load, topic string, partition int) {
	t.Helper()
	before, err := c.Tree.State(topic, partition)
	if err != nil {
		t.Fatal(err)
	}
	old := c.Broker(before.Leader)
	acked := l.acked.Load()
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	after, err := c.Tree.WaitState(topic, partition, 30*time.Second, "another leader", func(s cluster.PartitionState) bool {
		return s.Leader >= 0 && s.Leader != old.ID
	})
	if err != nil {
		t.Fatal(err)
	}
	if after.LeaderEpoch <= before.LeaderEpoch {
		t.Errorf("leader epoch %d after %d", after.LeaderEpoch, before.LeaderEpoch)
	}
	l.allowed.Add(3000)
	l.waitAcked(t, acked+3000, 60*time.Second)
	t.Logf("broker %d killed at %d records; broker %d leads epoch %d; writes went on within %v",
		old.ID, acked, after.Leader, after.LeaderEpoch, time.Since(began).Round(time.Millisecond))
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, partition, 60*time.Second, 1, 2, 3)
}
