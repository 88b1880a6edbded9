//go:build compat

package compat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// A crowd of idempotent producers writes to all partitions of a topic with acks=all until it is told to stop. The values of
// producer w in partition p are "w 0", "w 1", ...
type crowd struct {
	topic      string
	partitions int
	sent       [][]int64 // by producer and partition
	acked      atomic.Int64
	stop       chan struct{}
	done       sync.WaitGroup
}

func startCrowd(t *testing.T, c *cluster.Cluster, topic string, partitions, producers int) *crowd {
	t.Helper()
	w := &crowd{topic: topic, partitions: partitions, stop: make(chan struct{}), sent: make([][]int64, producers)}
	for i := range producers {
		w.sent[i] = make([]int64, partitions)
		cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.RetryTimeout(5*time.Minute), kgo.RecordDeliveryTimeout(5*time.Minute), kgo.RequestRetries(100000),
			kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
		w.done.Go(func() { w.write(t, cl, i) })
	}
	t.Cleanup(w.halt)
	return w
}

func (w *crowd) write(t *testing.T, cl *kgo.Client, i int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-w.stop:
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if err := cl.Flush(ctx); err != nil {
				t.Errorf("producer %d: %v", i, err)
			}
			return
		case <-tick.C:
		}
		p := n % w.partitions
		r := &kgo.Record{Topic: w.topic, Partition: int32(p), Value: fmt.Appendf(nil, "%d %d", i, w.sent[i][p])}
		w.sent[i][p]++
		cl.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce of %q: %v", r.Value, err)
				return
			}
			w.acked.Add(1)
		})
	}
}

// halt stops the producers when all they sent is acknowledged.
func (w *crowd) halt() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.done.Wait()
}

// flows waits until n more records are acknowledged.
func (w *crowd) flows(t *testing.T, n int64) {
	t.Helper()
	want := w.acked.Load() + n
	cluster.Eventually(t, time.Minute, "acknowledged records", func() error {
		if got := w.acked.Load(); got < want {
			return fmt.Errorf("%d, want %d", got, want)
		}
		return nil
	})
}

// check reads everything: of each producer each value once and in order, and nothing else.
func (w *crowd) check(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	var total int64
	for _, sent := range w.sent {
		for _, n := range sent {
			total += n
		}
	}
	if acked := w.acked.Load(); acked != total {
		t.Errorf("%d records acknowledged of %d", acked, total)
	}
	got := franzRead(t, c, w.topic, int(total))
	for p := range w.partitions {
		if err := w.inOrder(p, got[int32(p)]); err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
		addr := leaderOf(t, c, w.topic, p).Addr()
		if end := endOffset(t, addr, w.topic, int32(p)); end != int64(len(got[int32(p)])) {
			t.Errorf("partition %d ends at %d, %d records were read", p, end, len(got[int32(p)]))
		}
	}
}

func (w *crowd) inOrder(p int, values []string) error {
	next := make([]int64, len(w.sent))
	for offset, v := range values {
		producer, number, _ := strings.Cut(v, " ")
		i, err := strconv.Atoi(producer)
		if err != nil {
			return err
		}
		if number != strconv.FormatInt(next[i], 10) {
			return fmt.Errorf("at offset %d is %q, want number %d: lost, doubled or out of order", offset, v, next[i])
		}
		next[i]++
	}
	for i, n := range next {
		if n != w.sent[i][p] {
			return fmt.Errorf("of producer %d there are %d records, %d were acknowledged", i, n, w.sent[i][p])
		}
	}
	return nil
}

// A reader is the only member of a group. It keeps what it read by partition and offset, and commits each second.
type reader struct {
	group string
	topic string
	cl    *kgo.Client
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	values map[int32][]string
	again  int
}

func startReader(t *testing.T, c *cluster.Cluster, group, topic string) *reader {
	t.Helper()
	r := &reader{group: group, topic: topic, values: map[int32][]string{}}
	r.cl = client(t, c, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(500*time.Millisecond), kgo.SessionTimeout(20*time.Second))
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.done.Go(func() {
		for ctx.Err() == nil {
			fetches := r.cl.PollFetches(ctx)
			fetches.EachError(func(_ string, p int32, err error) {
				if ctx.Err() == nil {
					t.Logf("%s, partition %d: %v", group, p, err) // what is read and committed in the end counts
				}
			})
			fetches.EachRecord(func(rec *kgo.Record) { r.take(t, rec) })
			r.cl.MarkCommitRecords(fetches.Records()...)
		}
	})
	t.Cleanup(r.end)
	return r
}

// take keeps a record. What comes again after a rebalance must be what came before; nothing may be left out.
func (r *reader) take(t *testing.T, rec *kgo.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.values[rec.Partition]
	switch next := int64(len(have)); {
	case rec.Offset == next:
		r.values[rec.Partition] = append(have, string(rec.Value))
	case rec.Offset > next:
		t.Errorf("%s, partition %d: offset %d after %d", r.group, rec.Partition, rec.Offset, next-1)
	default:
		r.again++
		if have[rec.Offset] != string(rec.Value) {
			t.Errorf("%s, partition %d: offset %d was %q and is %q", r.group, rec.Partition, rec.Offset, have[rec.Offset], rec.Value)
		}
	}
}

// waitReading waits for the first records: the member has joined.
func (r *reader) waitReading(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "first records of "+r.group, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.values) == 0 {
			return errNotYet
		}
		return nil
	})
}

// waitAll waits until the reader has all there is.
func (r *reader) waitAll(t *testing.T, ends map[int32]int64) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "records read by "+r.group, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for p, end := range ends {
			if got := int64(len(r.values[p])); got != end {
				return fmt.Errorf("partition %d: %d of %d", p, got, end)
			}
		}
		return nil
	})
}

func (r *reader) end() {
	r.stop()
	r.done.Wait()
}

// checkCommitted stops the reader and compares its last commit with the ends.
func (r *reader) checkCommitted(t *testing.T, c *cluster.Cluster, ends map[int32]int64) {
	t.Helper()
	r.end()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.cl.CommitMarkedOffsets(ctx); err != nil {
		t.Errorf("%s: last commit: %v", r.group, err)
	}
	offsets, err := admin(t, c).FetchOffsets(ctx, r.group)
	if err != nil {
		t.Fatalf("%s: committed offsets: %v", r.group, err)
	}
	for p, end := range ends {
		if o, ok := offsets.Lookup(r.topic, p); !ok || o.At != end {
			t.Errorf("%s: committed %d in partition %d, want %d", r.group, o.At, p, end)
		}
	}
	t.Logf("%s: %d records came again after rebalances", r.group, r.again)
}

// groupsOf gives n groups, the i-th of which lives in partition i of an offsets topic of n partitions.
func groupsOf(n int) []string {
	groups := make([]string, n)
	for i := 0; slices.Contains(groups, ""); i++ {
		name := "group-" + strconv.Itoa(i)
		if p := int(javaHash(name)) % n; groups[p] == "" {
			groups[p] = name
		}
	}
	return groups
}

// javaHash is String.hashCode without its sign. Kafka: Utils.abs.
func javaHash(s string) int32 {
	var h int32
	for _, c := range []byte(s) {
		h = 31*h + int32(c)
	}
	return h & 0x7fffffff
}
