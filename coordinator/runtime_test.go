package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// fixture is a running runtime over a fake log, in a synctest bubble.
type fixture struct {
	t      *testing.T
	log    *fakeLog
	rt     *Runtime[*testShard]
	shards []*testShard
}

func bubble(t *testing.T, f func(t *testing.T, x *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &fixture{t: t, log: &fakeLog{}}
		x.rt = NewRuntime(Options[*testShard]{
			Name: "test", Topic: "__test", Log: x.log, WriteTimeout: 5 * time.Second,
			NewShard: func(int32, metadata.LeaderEpoch) *testShard {
				x.shards = append(x.shards, &testShard{})
				return x.shards[len(x.shards)-1]
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.rt.Run(ctx) }()
		synctest.Wait()
		f(t, x)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (x *fixture) elect(epoch metadata.LeaderEpoch) {
	x.t.Helper()
	x.rt.Elected(0, epoch)
	synctest.Wait()
}

// last is the shard of the newest load.
func (x *fixture) last() *testShard { return x.shards[len(x.shards)-1] }

// start runs a call in the background; the result comes on the channel.
func (x *fixture) start(op Operation[*testShard]) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		body, err := x.rt.Call(x.t.Context(), 0, op)
		ch <- answer{body, err}
	}()
	synctest.Wait()
	return ch
}

func (x *fixture) wantErr(err, want error) {
	x.t.Helper()
	if !errors.Is(err, want) {
		x.t.Errorf("error %v, want %v", err, want)
	}
}

func (x *fixture) wantEvents(s *testShard, want ...string) {
	x.t.Helper()
	if d := cmp.Diff(want, s.seen()); d != "" {
		x.t.Errorf("shard saw (-want +got):\n%s", d)
	}
}

func TestCall_NotStarted_NotAvailable(t *testing.T) {
	rt := NewRuntime(Options[*testShard]{Name: "test"})
	if _, err := rt.Call(t.Context(), 0, words); !errors.Is(err, kerr.CoordinatorNotAvailable) {
		t.Error(err)
	}
}

func TestCall_States_TellWhereToGo(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		_, err := x.rt.Call(t.Context(), 0, words)
		x.wantErr(err, kerr.NotCoordinator)

		x.log.loading = make(chan struct{})
		x.elect(1)
		_, err = x.rt.Call(t.Context(), 0, words)
		x.wantErr(err, kerr.CoordinatorLoadInProgress)
		if p, loading := x.rt.Active(); len(p) != 0 || !loading {
			t.Errorf("active %v, loading %v", p, loading)
		}

		close(x.log.loading)
		synctest.Wait()
		if _, err = x.rt.Call(t.Context(), 0, words); err != nil {
			t.Error(err)
		}
		x.rt.Resigned(0, 2)
		_, err = x.rt.Call(t.Context(), 0, words)
		x.wantErr(err, kerr.NotCoordinator)
	})
}

func TestCallLoaded_Loading_Waits(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.log.loading = make(chan struct{})
		x.elect(1)
		done := make(chan error, 1)
		go func() {
			_, err := x.rt.CallLoaded(t.Context(), 0, words)
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("answered during the load: %v", err)
		default:
		}
		close(x.log.loading)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestWrite_Committed_AnsweredThenOnly(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(3)
		x.log.hold()
		a := x.start(put("one"))
		select {
		case <-a:
			t.Fatal("answered before the high watermark passed")
		default:
		}
		x.log.settle(0, nil)
		if got := <-a; got.err != nil || got.body != nil {
			t.Errorf("got %+v", got)
		}
		x.wantEvents(x.last(), "loaded", "appended one at 0", "committed one")
		if x.log.epochs[0] != 3 {
			t.Errorf("appended in epoch %d", x.log.epochs[0])
		}
	})
}

func TestWrite_Refused_NothingAppended(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.failWith(kerr.NotEnoughReplicas)
		got := <-x.start(put("one"))
		x.wantErr(got.body.(error), kerr.NotEnoughReplicas)
		x.wantEvents(x.last(), "loaded", "rejected one")
	})
}

// A request does not wait for ever, but what became of its write is not guessed: it counts when the log says so.
func TestWrite_Late_AnsweredAndCommittedAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.hold()
		start := time.Now()
		got := <-x.start(put("one"))
		x.wantErr(got.body.(error), kerr.RequestTimedOut)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("answered after %v", d)
		}
		x.log.settle(0, nil)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "appended one at 0", "late one", "committed one")
	})
}

// The log may tell of writes in any order; the shard hears of commits in the order of offsets.
func TestWrite_SettledOutOfOrder_CommittedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.hold()
		a, b := x.start(put("one")), x.start(put("two"))
		x.log.settle(1, nil)
		<-a
		<-b
		x.log.settle(0, kerr.RequestTimedOut) // too late to matter
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "appended one at 0", "appended two at 1", "committed one", "committed two")
	})
}

func TestWrite_InDoubt_SettledByALaterOne(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.hold()
		a := x.start(put("one"))
		x.log.settle(0, kerr.NotLeaderForPartition)
		x.wantErr((<-a).body.(error), kerr.NotLeaderForPartition)
		x.start(put("two"))
		x.log.settle(1, nil)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "appended one at 0", "late one", "appended two at 1", "committed one", "committed two")
	})
}

// NOT_ENOUGH_REPLICAS_AFTER_APPEND says that the high watermark has passed although the ISR had become too small.
func TestWrite_NotEnoughReplicasAfterAppend_ErrorButCommitted(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.hold()
		a := x.start(put("one"))
		x.log.settle(0, kerr.NotEnoughReplicasAfterAppend)
		x.wantErr((<-a).body.(error), kerr.NotEnoughReplicasAfterAppend)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "appended one at 0", "late one", "committed one")
	})
}

func TestWrite_EffectsOfACommit_AreExecuted(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		<-x.start(put("chain"))
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "appended chain at 0", "committed chain", "appended link at 1", "committed link")
	})
}

func TestWrite_TooManyInFlight_Rejected(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		x.log.hold()
		for range maxInFlight {
			go func() { _, _ = x.rt.Call(t.Context(), 0, put("w")) }()
		}
		synctest.Wait()
		got := <-x.start(put("more"))
		x.wantErr(got.body.(error), kerr.NotEnoughReplicas)
		if got := <-x.start(words); got.err != nil {
			t.Errorf("reads stopped: %v", got.err)
		}
	})
}

func TestResigned_CallersWait_NotCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(4)
		x.log.hold()
		a := x.start(put("one"))
		x.rt.Resigned(0, 3) // from before the election
		synctest.Wait()
		select {
		case <-a:
			t.Fatal("a stale resignation ended the shard")
		default:
		}
		x.rt.Resigned(0, 5)
		x.wantErr((<-a).err, kerr.NotCoordinator)
		x.log.settle(0, nil) // nobody is there
		x.rt.Elected(0, 5)   // from before the resignation
		_, err := x.rt.Call(t.Context(), 0, words)
		x.wantErr(err, kerr.NotCoordinator)
	})
}

func TestResigned_ReplicaRemoved_EpochsBeginAnew(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(7)
		x.rt.Resigned(0, metadata.NoEpoch)
		x.elect(0)
		if _, err := x.rt.Call(t.Context(), 0, words); err != nil {
			t.Error(err)
		}
	})
}

// A late load must not overwrite a newer one, and what was in flight in the former epoch is read from the log again.
func TestElected_NewerEpochDuringLoad_LoadsAnew(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.log.loading = make(chan struct{})
		x.elect(1)
		x.elect(1) // the same again
		x.log.mu.Lock()
		x.log.batches = append(x.log.batches, batchOf(0, "zero"))
		x.log.mu.Unlock()
		x.elect(2)
		close(x.log.loading)
		got := <-x.start(words)
		if got.err != nil {
			synctest.Wait()
			got = <-x.start(words)
		}
		if d := cmp.Diff([]string{"zero"}, got.body); d != "" {
			t.Error(d)
		}
		if x.log.loads != 2 {
			t.Errorf("%d loads", x.log.loads)
		}
	})
}

func batchOf(offset int64, keys ...string) []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{BaseOffset: offset})
	for _, k := range keys {
		b.Append(1, []byte(k), nil, nil)
	}
	return b.Build()
}

func TestLoad_RecordsAndMarkers_InOrder(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.log.batches = [][]byte{
			batchOf(0, "a", "bad", "b"),
			record.EndTxnMarker(record.Commit, 9, 0, 0, 1),
			record.EndTxnMarker(record.Abort, 8, 0, 0, 1),
			batchOf(5, "c"),
		}
		x.elect(1)
		got := <-x.start(words)
		if d := cmp.Diff([]string{"a", "b", "c"}, got.body); d != "" {
			t.Error(d)
		}
		x.wantEvents(x.last(), "marker 9 true", "marker 8 false", "loaded")
	})
}

// A topic that is older than Kafka 0.11 has messages of formats 0 and 1, also compressed ones.
func TestLoad_OldFormats_ReadAsRecords(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		for magic := range int8(2) {
			for i, codec := range []record.Codec{record.None, record.Gzip} {
				b := record.NewBuilder(codec, record.BuilderOptions{BaseOffset: int64(magic)*4 + int64(i)*2})
				for _, k := range []string{"a", "bad"} {
					b.Append(1, []byte(k), []byte("v"), nil)
				}
				old, err := record.DownConvert(nil, b.Build(), magic, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				x.log.batches = append(x.log.batches, old)
			}
		}
		x.elect(1)
		if d := cmp.Diff([]string{"a", "a", "a", "a"}, (<-x.start(words)).body); d != "" {
			t.Error(d)
		}
		if n := x.last().badKeys; n != 4 {
			t.Errorf("%d bad keys, want 4", n)
		}
	})
}

func TestLoad_Failed_BegunAgainFromNothing(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.log.batches = [][]byte{batchOf(0, "a")}
		x.log.loadErr = []error{errors.New("disk"), errors.New("disk")}
		x.elect(1)
		_, err := x.rt.Call(t.Context(), 0, words)
		x.wantErr(err, kerr.CoordinatorLoadInProgress)
		time.Sleep(3 * loadRetry)
		synctest.Wait()
		if d := cmp.Diff([]string{"a"}, (<-x.start(words)).body); d != "" {
			t.Error(d)
		}
	})
}

func TestTick_DeadlineReached_Called(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		<-x.start(func(s *testShard, now time.Time, tk Ticket) Effects {
			s.deadline = now.Add(time.Minute)
			return Effects{Replies: []Reply{{tk, nil}}}
		})
		time.Sleep(59 * time.Second)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded")
		time.Sleep(time.Second)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "tick")
	})
}

func TestCall_CallerGone_TicketForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		x.elect(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("connection closed")
		never := func(*testShard, time.Time, Ticket) Effects { return Effects{} }
		done := make(chan error, 1)
		go func() {
			_, err := x.rt.Call(ctx, 0, never)
			done <- err
		}()
		synctest.Wait()
		cancel(gone)
		x.wantErr(<-done, gone)
		x.rt.mu.Lock()
		l := x.rt.mu.loops[0]
		x.rt.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.mu.waiting); n != 0 {
			t.Errorf("%d tickets are left", n)
		}
	})
}

func TestRun_Ended_CallersAndLoopsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		rt := NewRuntime(Options[*testShard]{
			Name: "test", Log: log, WriteTimeout: time.Second,
			NewShard: func(int32, metadata.LeaderEpoch) *testShard { return &testShard{} },
		})
		rt.Elected(0, 1) // before Run: kept
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- rt.Run(ctx) }()
		synctest.Wait()
		log.hold()
		a := make(chan error)
		go func() {
			_, err := rt.Call(t.Context(), 0, put("w"))
			a <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-a; !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		rt.Elected(1, 1)
		if _, err := rt.Call(t.Context(), 1, words); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Error(err)
		}
	})
}

func TestPartitionFor_JavaHash_SamePartition(t *testing.T) {
	// Values of "...".hashCode() in Java.
	for _, c := range []struct {
		id   string
		hash int32
	}{
		{"", 0},
		{"g1", 3242},
		{"console-consumer-12345", 158455506},
		{"polygenelubricants", -1 << 31},
		{"\u00e4\u00f6", 7314},
		{"\U0001F600", 1772899},
	} {
		if got := javaHash(c.id); got != c.hash {
			t.Errorf("hash of %q = %d, want %d", c.id, got, c.hash)
		}
	}
	if got := PartitionFor("polygenelubricants", 50); got != 0 {
		t.Errorf("the smallest int: partition %d, want 0", got)
	}
	if got := PartitionFor("g1", 50); got != 42 {
		t.Errorf("g1: partition %d, want 42", got)
	}
}

func TestPost_EpochOfTheShard_Only(t *testing.T) {
	bubble(t, func(t *testing.T, x *fixture) {
		news := func(s *testShard, _ time.Time) Effects {
			s.note("news")
			return Effects{Writes: []Write{{Records: []Record{{Key: []byte("w")}}, Tag: &testWrite{word: "w"}}}}
		}
		x.log.loading = make(chan struct{})
		x.elect(2)
		x.rt.Post(0, 1, news)
		x.rt.Post(1, 2, news)
		x.rt.Post(0, 2, news) // waits for the load
		close(x.log.loading)
		synctest.Wait()
		x.wantEvents(x.last(), "loaded", "news", "appended w at 0", "committed w")
	})
}
