package replication

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// pendingFetch is a fetch whose answer may be outstanding.
type pendingFetch struct {
	t    *testing.T
	mu   sync.Mutex
	r    []FetchResult
	took time.Duration
}

// consume starts a consumer's fetch; zero limits mean large ones.
func (nd *node) consume(req FetchRequest) *pendingFetch {
	if req.Replica == 0 {
		req.Replica = metadata.NoBroker
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = 1 << 20
	}
	w := &pendingFetch{t: nd.c.t}
	begin := time.Now()
	nd.m.Fetch(req, func(r []FetchResult) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.r != nil {
			w.t.Error("answered twice")
		}
		w.r, w.took = r, time.Since(begin)
		for i := range r {
			r[i].Records.Release() // tests look at sizes only
		}
	})
	return w
}

func from(tp metadata.TopicPartition, offset int64) FetchPartition {
	return FetchPartition{
		TP: tp, Offset: offset, CurrentLeaderEpoch: metadata.NoEpoch, LastFetchedEpoch: metadata.NoEpoch, LogStartOffset: -1,
		MaxBytes: 1 << 20,
	}
}

func (w *pendingFetch) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r != nil
}

func (w *pendingFetch) one() FetchResult {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.r) != 1 {
		w.t.Fatalf("%d results, want 1", len(w.r))
	}
	return w.r[0]
}

func (w *pendingFetch) wantErr(err error) FetchResult {
	w.t.Helper()
	r := w.one()
	if !errors.Is(r.Err, err) {
		w.t.Fatalf("got %v, want %v", r.Err, err)
	}
	return r
}

// fetchOne is a fetch of one partition that does not wait.
func (nd *node) fetchOne(p FetchPartition, edit func(*FetchRequest)) *pendingFetch {
	req := FetchRequest{Partitions: []FetchPartition{p}}
	if edit != nil {
		edit(&req)
	}
	return nd.consume(req)
}

func TestFetch_LongPoll_EndsWithDataOrTime(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		nd := c.nodes[1]
		size := int32(len(batch("a")))
		wait := func(minBytes int32) *pendingFetch {
			return nd.fetchOne(from(t0, nd.partition(t0).Log().EndOffset()), func(r *FetchRequest) { r.MaxWait, r.MinBytes = 5*time.Second, minBytes })
		}
		w := wait(1)
		settle(time.Second)
		if w.answered() {
			t.Fatal("answered without data")
		}
		nd.produce(t0, 1, "a")
		if r := w.wantErr(nil); r.Records.Size() == 0 || r.HighWatermark != 1 {
			t.Fatalf("got %+v", r)
		}
		if w.took != time.Second {
			t.Fatalf("took %v, want 1s", w.took)
		}
		w = wait(2 * size)
		nd.produce(t0, 1, "b")
		settle(time.Second)
		if w.answered() {
			t.Fatal("answered below min bytes")
		}
		nd.produce(t0, 1, "c")
		if !w.answered() {
			t.Fatal("not answered at min bytes")
		}
		w = wait(1)
		settle(6 * time.Second)
		if !w.answered() || w.took != 5*time.Second {
			t.Fatalf("answered %v after %v, want 5s", w.answered(), w.took)
		}
		if w = wait(0); !w.answered() {
			t.Fatal("min bytes 0 must not wait")
		}
	})
}

// TestFetch_Consumer_SeesCommittedOnly: between high watermark and log end a consumer waits, it is not out of range.
func TestFetch_Consumer_SeesCommittedOnly(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, -1, "a")
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		c.nodes[1].produce(t0, 1, "b", "c")
		if r := c.nodes[1].fetchOne(from(t0, 0), nil).wantErr(nil); r.Records.Size() != len(batch("a")) || r.HighWatermark != 1 {
			t.Fatalf("%d bytes, hw %d", r.Records.Size(), r.HighWatermark)
		}
		for offset := int64(1); offset <= 3; offset++ {
			if r := c.nodes[1].fetchOne(from(t0, offset), nil).wantErr(nil); r.Records.Size() != 0 {
				t.Fatalf("offset %d: %d bytes", offset, r.Records.Size())
			}
		}
		w := c.nodes[1].fetchOne(from(t0, 1), func(r *FetchRequest) { r.MaxWait, r.MinBytes = time.Minute, 1 })
		settle(time.Second)
		if w.answered() {
			t.Fatal("answered with what is not committed")
		}
		c.setCut(1, 2, false)
		settle(3 * time.Second)
		if !w.answered() {
			t.Fatal("not woken by the commit")
		}
	})
}

func TestFetch_OutOfRange_TellsTheRange(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		nd := c.nodes[1]
		nd.produce(t0, 1, "a", "b", "c")
		nd.produce(t0, 1, "d")
		nd.m.DeleteRecords(0, []DeleteEntry{{TP: t0, Offset: 1}}, func([]DeleteResult) {})
		for _, offset := range []int64{0, -1, 5, 1 << 62} {
			w := nd.fetchOne(from(t0, offset), func(r *FetchRequest) { r.MaxWait, r.MinBytes = time.Minute, 1 })
			if r := w.wantErr(kerr.OffsetOutOfRange); r.LogStartOffset != 1 || r.HighWatermark != 4 {
				t.Fatalf("offset %d: range %d to %d, want 1 to 4", offset, r.LogStartOffset, r.HighWatermark)
			}
		}
		// Inside a batch: the whole batch.
		if r := nd.fetchOne(from(t0, 2), nil).wantErr(nil); r.Records.Size() != len(batch("a", "b", "c"))+len(batch("d")) {
			t.Fatalf("%d bytes", r.Records.Size())
		}
	})
}

func TestFetch_Fencing_ByEpochIDAndRole(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		settle(time.Second)
		with := func(edit func(*FetchPartition)) FetchPartition {
			p := from(t0, 0)
			edit(&p)
			return p
		}
		for _, tc := range []struct {
			name string
			on   metadata.BrokerID
			p    FetchPartition
			want error
		}{
			{"no epoch", 1, from(t0, 0), nil},
			{"current epoch", 1, with(func(p *FetchPartition) { p.CurrentLeaderEpoch = 1 }), nil},
			{"older epoch", 1, with(func(p *FetchPartition) { p.CurrentLeaderEpoch = 0 }), kerr.FencedLeaderEpoch},
			{"newer epoch", 1, with(func(p *FetchPartition) { p.CurrentLeaderEpoch = 2 }), kerr.UnknownLeaderEpoch},
			{"follower", 2, from(t0, 0), kerr.NotLeaderForPartition},
			{"no replica", 3, from(t0, 0), kerr.NotLeaderForPartition},
			{"unknown topic", 1, from(metadata.TopicPartition{Topic: "none"}, 0), kerr.UnknownTopicOrPartition},
			{"unknown partition", 1, from(metadata.TopicPartition{Topic: "t", Partition: 9}, 0), kerr.UnknownTopicOrPartition},
			{"unknown id", 1, with(func(p *FetchPartition) { p.TP.Topic = "" }), kerr.UnknownTopicID},
			{"other id", 1, with(func(p *FetchPartition) { p.TopicID = metadata.TopicID{42} }), kerr.InconsistentTopicID},
			{"error given", 1, with(func(p *FetchPartition) { p.Err = kerr.TopicAuthorizationFailed }), kerr.TopicAuthorizationFailed},
		} {
			r := c.nodes[tc.on].fetchOne(tc.p, nil).one()
			if !errors.Is(r.Err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.name, r.Err, tc.want)
			}
			if tc.want != nil && (r.HighWatermark != -1 || r.LogStartOffset != -1) {
				t.Errorf("%s: offsets told with an error: %+v", tc.name, r)
			}
		}
	})
}

func TestFetch_EpochChanges_WaitingFetchIsAnswered(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		p := from(t0, 0)
		p.CurrentLeaderEpoch = 0
		w := c.nodes[1].fetchOne(p, func(r *FetchRequest) { r.MaxWait, r.MinBytes = time.Hour, 1 })
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		w.wantErr(kerr.FencedLeaderEpoch)
		w = c.nodes[1].fetchOne(from(t0, 0), func(r *FetchRequest) { r.MaxWait, r.MinBytes = time.Hour, 1 })
		c.elect(t0, 2, ids(1, 2), metadata.Recovered)
		if r := w.wantErr(kerr.NotLeaderForPartition); r.CurrentLeader != (LeaderHint{ID: 2, Epoch: 2}) {
			t.Fatalf("told %+v", r.CurrentLeader)
		}
	})
}

// TestFetch_Limits_FirstNonEmptyPartitionIsWhole is S11.
func TestFetch_Limits_FirstNonEmptyPartitionIsWhole(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		tp := func(n int32) metadata.TopicPartition { return metadata.TopicPartition{Topic: "t", Partition: n} }
		for n := range int32(5) {
			c.create(tp(n), 1)
		}
		nd.produce(tp(0), 1, strings.Repeat("x", 100_000))
		for n := int32(1); n < 4; n++ {
			nd.produce(tp(n), 1, "small")
		}
		small := len(batch("small"))
		sizes := func(maxBytes, partitionMax int32, hard bool, order ...int32) []int {
			req := FetchRequest{MaxBytes: maxBytes, HardMaxBytes: hard}
			for _, n := range order {
				p := from(tp(n), 0)
				p.MaxBytes = partitionMax
				req.Partitions = append(req.Partitions, p)
			}
			w := nd.consume(req)
			var out []int
			for i := range w.r {
				out = append(out, w.r[i].Records.Size())
			}
			return out
		}
		whole := len(batch(strings.Repeat("x", 100_000)))
		for _, tc := range []struct {
			name string
			got  []int
			want []int
		}{
			{"large first", sizes(1024, 1024, false, 0, 1, 2, 3), []int{whole, 0, 0, 0}},
			{"small first", sizes(1024, 1024, false, 1, 0, 2, 3), []int{small, 0, small, small}},
			{"empty before", sizes(1024, 1024, false, 4, 0, 1), []int{0, whole, 0}},
			{"one byte", sizes(1, 1, false, 1, 2), []int{small, 0}},
			{"hard limit", sizes(1024, 1024, true, 0, 1), []int{0, small}},
			{"all fits", sizes(1<<20, 1<<20, false, 0, 1, 2), []int{whole, small, small}},
		} {
			if !slices.Equal(tc.got, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.name, tc.got, tc.want)
			}
		}
	})
}

func TestFetch_DivergingEpoch_IsToldWithoutRecords(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		nd := c.nodes[1]
		settle(time.Second)
		nd.produce(t0, -1, "a", "b")
		settle(time.Second)
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		nd.produce(t0, -1, "c")
		settle(time.Second)
		ask := func(offset int64, last metadata.LeaderEpoch) FetchResult {
			p := from(t0, offset)
			p.LastFetchedEpoch = last
			return nd.fetchOne(p, func(r *FetchRequest) { r.MaxWait, r.MinBytes = time.Hour, 1 }).wantErr(nil)
		}
		if r := ask(1, 0); r.Diverging != nil {
			t.Fatalf("same history: %+v", r.Diverging)
		}
		r := ask(3, 0)
		if r.Diverging == nil || *r.Diverging != (log.EpochEnd{Epoch: 0, EndOffset: 2}) || r.Records.Size() != 0 || r.HighWatermark != 3 {
			t.Fatalf("got %+v %+v", r, r.Diverging)
		}
	})
}

func TestFetch_ReadCommitted_StopsAtTheOpenTransaction(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		nd := c.nodes[1]
		nd.produce(t0, 1, "a", "b")
		b := record.NewBuilder(record.None, record.BuilderOptions{Producer: &record.Producer{ID: 7}, Transactional: true})
		b.Append(1, nil, []byte("t"), nil)
		nd.append(AppendRequest{Acks: 1, Entries: []AppendEntry{{TP: t0, Records: b.Build()}}}).want(nil)
		nd.produce(t0, 1, "c")
		r := nd.fetchOne(from(t0, 0), func(r *FetchRequest) { r.ReadCommitted = true }).wantErr(nil)
		if r.Records.Size() != len(batch("a", "b")) || r.LastStableOffset != 2 || r.HighWatermark != 4 || r.Aborted == nil {
			t.Fatalf("%d bytes, lso %d, hw %d, aborted %v", r.Records.Size(), r.LastStableOffset, r.HighWatermark, r.Aborted)
		}
		if r := nd.fetchOne(from(t0, 0), nil).wantErr(nil); r.Aborted != nil {
			t.Fatal("read_uncommitted has no abort list")
		}
		if at, err := nd.m.ListOffset(ListOffsetQuery{TP: t0, Replica: -1, ReadCommitted: true, CurrentLeaderEpoch: -1, Timestamp: LatestTimestamp}); err != nil || at.Offset != 2 {
			t.Fatalf("latest stable offset %d, err %v", at.Offset, err)
		}
	})
}

func TestFetch_FromFollower_UpToItsHighWatermark(t *testing.T) {
	bubble(t, 2, func(cfg *Config) { cfg.Selector = RackAware{} }, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, -1, "a")
		settle(2 * time.Second)
		nearby := func(r *FetchRequest) { r.AnyReplica, r.Rack = true, "rack2" }
		r := c.nodes[1].fetchOne(from(t0, 0), nearby).wantErr(nil)
		if r.PreferredReadReplica != 2 || r.Records.Size() != 0 || r.HighWatermark != 1 {
			t.Fatalf("got %+v", r)
		}
		if r := c.nodes[2].fetchOne(from(t0, 0), nearby).wantErr(nil); r.Records.Size() != len(batch("a")) {
			t.Fatalf("%d bytes", r.Records.Size())
		}
		// An offset that the follower does not have, the leader's own rack, an unknown rack, and old versions: the leader.
		for _, edit := range []func(*FetchRequest){
			func(r *FetchRequest) {
				nearby(r)
				r.Partitions[0].Offset = 2
				c.setCut(1, 2, true)
				c.nodes[1].produce(t0, 1, "b")
			},
			func(r *FetchRequest) { nearby(r); r.Rack = "rack1" },
			func(r *FetchRequest) { nearby(r); r.Rack = "rack9" },
			func(r *FetchRequest) { nearby(r); r.Rack = "" },
			func(r *FetchRequest) { nearby(r); r.AnyReplica = false },
		} {
			if r := c.nodes[1].fetchOne(from(t0, 0), edit).wantErr(nil); r.PreferredReadReplica != metadata.NoBroker && r.Records.Size() == 0 {
				t.Fatalf("sent away to %d", r.PreferredReadReplica)
			}
		}
		w := c.nodes[2].fetchOne(from(t0, 1), func(r *FetchRequest) { nearby(r); r.MaxWait, r.MinBytes = time.Minute, 1 })
		settle(time.Second)
		if w.answered() {
			t.Fatal("nothing new at the follower yet")
		}
		c.setCut(1, 2, false)
		settle(5 * time.Second)
		if !w.answered() {
			t.Fatal("not woken by the follower's high watermark")
		}
	})
}

func TestFetch_ByAStranger_IsRefused(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].fetchOne(from(t0, 0), func(r *FetchRequest) { r.Replica, r.ReplicaEpoch = 42, -1 }).wantErr(kerr.NotLeaderForPartition)
		// A fetch that was sent before the follower restarted.
		c.nodes[1].fetchOne(from(t0, 0), func(r *FetchRequest) { r.Replica, r.ReplicaEpoch = 2, 0 }).wantErr(kerr.NotLeaderForPartition)
		c.nodes[1].fetchOne(from(t0, 7), func(r *FetchRequest) { r.Replica, r.ReplicaEpoch = 2, -1 }).wantErr(kerr.OffsetOutOfRange)
	})
}

// TestFetch_HotPath_AllocatesLittle gates the fetch of one partition that has data.
func TestFetch_HotPath_AllocatesLittle(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		c.nodes[1].produce(t0, 1, "a")
		m := c.nodes[1].m
		req := FetchRequest{Replica: metadata.NoBroker, MaxBytes: 1 << 20, MinBytes: 1, MaxWait: time.Second, Partitions: []FetchPartition{from(t0, 0)}}
		bytes := 0
		got := testing.AllocsPerRun(200, func() {
			m.Fetch(req, func(r []FetchResult) {
				bytes += r[0].Records.Size()
				r[0].Records.Release()
			})
		})
		if got > 3 || bytes == 0 {
			t.Fatalf("%v allocations for %d bytes, want at most 3", got, bytes)
		}
	})
}
