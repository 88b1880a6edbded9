package cleaner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tp = metadata.TopicPartition{Topic: "compacted"}

// fixture is a broker's log with a cleaner and a clock.
type fixture struct {
	t    *testing.T
	now  time.Time
	logs *log.Manager
	l    *log.Log
	c    *Cleaner
}

func config() log.Config {
	c := log.DefaultConfig()
	c.SegmentBytes, c.IndexBytes, c.IndexIntervalBytes = 1000, 4096, 200
	c.Compact, c.Delete, c.MinCleanableRatio = true, false, 0.01
	c.DeleteRetention = time.Minute
	return c
}

func open(t *testing.T, fsys vfs.FS, dirs ...string) (*fixture, error) {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{"/d"}
	}
	f := &fixture{t: t, now: time.UnixMilli(1_700_000_000_000)}
	now := func() time.Time { return f.now }
	f.logs = log.NewManager(log.Options{FS: fsys, Dirs: dirs, Config: func(string) log.Config { return config() }, Now: now})
	if err := f.logs.Open(t.Context()); err != nil {
		return nil, err
	}
	l, err := f.logs.GetOrCreate(tp, metadata.TopicID{})
	if err != nil {
		return nil, err
	}
	l.SetHighWatermark(l.EndOffset())
	f.l = l
	f.c = New(Options{Logs: f.logs, Tuning: Tuning{DedupeBytes: 1 << 16, IOBytes: 700}, Now: now, Logger: slog.New(slog.DiscardHandler)})
	return f, nil
}

func mustOpen(t *testing.T, fsys vfs.FS, dirs ...string) *fixture {
	t.Helper()
	f, err := open(t, fsys, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// put appends one batch; an empty value is a tombstone.
func (f *fixture) put(o record.BuilderOptions, codec record.Codec, kvs ...string) error {
	b := record.NewBuilder(codec, o)
	for i := 0; i < len(kvs); i += 2 {
		var value []byte
		if kvs[i+1] != "" {
			value = []byte(kvs[i+1])
		}
		b.Append(f.now.UnixMilli(), []byte(kvs[i]), value, nil)
	}
	return f.add(b.Build(), log.Client)
}

func (f *fixture) add(b []byte, origin log.Origin) error {
	_, err := f.l.AppendAsLeader(b, 0, log.AppendOptions{Origin: origin, AllowZstd: true})
	f.l.SetHighWatermark(f.l.EndOffset())
	return err
}

// contents reads the log as a read_committed consumer: the latest value of each key, and the offset of every record.
func contents(t *testing.T, l *log.Log) (latest map[string]string, offsets map[int64]string) {
	t.Helper()
	latest, offsets = map[string]string{}, map[int64]string{}
	aborted := map[int64][]int64{}
	all, err := l.AbortedTxns(0, l.EndOffset())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		aborted[a.ProducerID] = append(aborted[a.ProducerID], a.FirstOffset)
	}
	skipping := map[int64]bool{}
	for off := l.StartOffset(); off < l.EndOffset(); {
		r, err := l.Read(off, 1<<20, l.EndOffset(), true)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.ReadAll(nil)
		r.Release()
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			break
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil || !batch.CheckCRC() || batch.LastOffset() < off {
				t.Fatalf("at %d: %v", off, err)
			}
			readBatch(t, batch, aborted, skipping, latest, offsets)
			off, b = batch.NextOffset(), rest
		}
	}
	return latest, offsets
}

func readBatch(t *testing.T, b record.Batch, aborted map[int64][]int64, skipping map[int64]bool, latest map[string]string, offsets map[int64]string) {
	t.Helper()
	id := b.ProducerID()
	if b.IsControl() {
		if kind, _, ok := record.ParseMarker(b); ok && kind == record.Abort {
			delete(skipping, id)
		}
		return
	}
	if list := aborted[id]; len(list) > 0 && b.IsTransactional() && list[0] <= b.LastOffset() {
		skipping[id] = true
		aborted[id] = list[1:]
	}
	if skipping[id] && b.IsTransactional() {
		return
	}
	for r, err := range b.Records(nil) {
		if err != nil {
			t.Fatal(err)
		}
		offsets[b.BaseOffset()+int64(r.OffsetDelta)] = string(r.Key) + "=" + string(r.Value)
		if r.Value == nil {
			delete(latest, string(r.Key))
		} else {
			latest[string(r.Key)] = string(r.Value)
		}
	}
}

// workload writes random plain and transactional data; its sequence numbers start at the end of the log.
func (f *fixture) workload(rng *rand.Rand, batches int) error {
	for i := range batches {
		codec := record.Codec(rng.IntN(5))
		var kvs []string
		for range 1 + rng.IntN(5) {
			value := fmt.Sprint("value ", f.l.EndOffset(), "-", len(kvs))
			if rng.IntN(6) == 0 {
				value = ""
			}
			kvs = append(kvs, fmt.Sprint("key", rng.IntN(12)), value)
		}
		switch rng.IntN(3) {
		case 0:
			id := 1000 + f.l.EndOffset()
			o := record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: id}}
			if err := f.put(o, codec, kvs...); err != nil {
				return err
			}
			m := record.EndTxnMarker(record.MarkerType(rng.IntN(2)), id, 0, 0, f.now.UnixMilli())
			if err := f.add(m, log.Coordinator); err != nil {
				return err
			}
		case 1:
			o := record.BuilderOptions{Producer: &record.Producer{ID: int64(1 + rng.IntN(2)), Epoch: int16(f.l.EndOffset() % 30000)}}
			if err := f.put(o, codec, kvs...); err != nil {
				return err
			}
		default:
			if err := f.put(record.BuilderOptions{}, codec, kvs...); err != nil {
				return err
			}
		}
		f.now = f.now.Add(time.Duration(i) * time.Second)
	}
	return nil
}

func TestCleaner_RandomWorkload_LatestValuesStay(t *testing.T) {
	for seed := range uint64(10) {
		f := mustOpen(t, vfs.NewMem(nil))
		rng := rand.New(rand.NewPCG(seed, 1))
		for round := range 3 {
			if err := f.workload(rng, 40); err != nil {
				t.Fatal(err)
			}
			want, before := contents(t, f.l)
			size := f.l.Size()
			for f.c.CleanOnce(t.Context()) {
			}
			got, after := contents(t, f.l)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d round %d: %s", seed, round, diff)
			}
			for off, r := range after {
				if before[off] != r {
					t.Fatalf("seed %d round %d: offset %d was %q, is %q", seed, round, off, before[off], r)
				}
			}
			if f.l.Size() >= size || f.c.uncleanable() > 0 {
				t.Fatalf("seed %d round %d: %d bytes of %d are left", seed, round, f.l.Size(), size)
			}
		}
		if err := f.logs.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCleaner_ProducersAfterAPass_StillKnown(t *testing.T) {
	fsys := vfs.NewMem(nil)
	f := mustOpen(t, fsys)
	put := func(seq int32) error {
		return f.put(record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: seq}}, record.None, "k", strings.Repeat("x", 300))
	}
	for seq := range int32(10) {
		if err := put(seq); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if err := f.put(record.BuilderOptions{}, record.None, "k", strings.Repeat("y", 300)); err != nil {
			t.Fatal(err)
		}
	}
	if !f.c.CleanOnce(t.Context()) {
		t.Fatal("nothing to clean")
	}
	f = mustOpen(t, fsys.KillClone())
	end := f.l.EndOffset()
	if err := put(9); err != nil || f.l.EndOffset() != end {
		t.Fatal("the last batch is not known any more", err, f.l.EndOffset(), end)
	}
	if err := put(10); err != nil || f.l.EndOffset() != end+1 {
		t.Fatal(err)
	}
}

func TestCleaner_Checkpoint_NextPassStartsThere(t *testing.T) {
	f := mustOpen(t, vfs.NewMem(nil))
	rng := rand.New(rand.NewPCG(1, 1))
	if err := f.workload(rng, 40); err != nil {
		t.Fatal(err)
	}
	segments := f.l.Segments()
	if !f.c.CleanOnce(t.Context()) || f.c.CleanOnce(t.Context()) {
		t.Fatal("not exactly one pass")
	}
	got, err := f.logs.ReadCleanerCheckpoints("/d")
	want := map[metadata.TopicPartition]int64{tp: segments[len(segments)-1].Base}
	if err != nil || !maps.Equal(got, want) {
		t.Fatal(got, want, err)
	}
}

func TestCleaner_SmallMap_SeveralPasses(t *testing.T) {
	f := mustOpen(t, vfs.NewMem(nil))
	f.c = New(Options{Logs: f.logs, Tuning: Tuning{DedupeBytes: 24 * 10, IOBytes: 100}, Now: func() time.Time { return f.now }})
	rng := rand.New(rand.NewPCG(3, 1))
	if err := f.workload(rng, 60); err != nil {
		t.Fatal(err)
	}
	want, _ := contents(t, f.l)
	passes := 0
	for f.c.CleanOnce(t.Context()) {
		passes++
	}
	if got, _ := contents(t, f.l); passes < 2 || f.c.uncleanable() > 0 || !cmp.Equal(got, want) {
		t.Fatal(passes, f.c.uncleanable(), cmp.Diff(want, got))
	}
}

func TestCleaner_TruncatedMeanwhile_LogIsUntouched(t *testing.T) {
	f := mustOpen(t, vfs.NewMem(nil))
	if err := f.workload(rand.New(rand.NewPCG(1, 1)), 40); err != nil {
		t.Fatal(err)
	}
	segments := f.l.Segments()
	rw, err := f.l.BeginRewrite(segments[:2])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.l.TruncateTo(segments[1].Base + 1); err != nil {
		t.Fatal(err)
	}
	want, _ := contents(t, f.l)
	if err := rw.Commit(); !errors.Is(err, log.ErrChanged) {
		t.Fatal(err)
	}
	if got, _ := contents(t, f.l); !cmp.Equal(got, want) {
		t.Fatal(cmp.Diff(want, got))
	}
}

func TestCleaner_BadBatch_LogIsLeftAloneOthersGoOn(t *testing.T) {
	fsys := vfs.NewMem(nil)
	f := mustOpen(t, fsys)
	if err := f.workload(rand.New(rand.NewPCG(1, 1)), 40); err != nil {
		t.Fatal(err)
	}
	file, err := fsys.OpenFile("/d/compacted-0/00000000000000000000.log", vfs.Write)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{9}, 16); err != nil {
		t.Fatal(err)
	}
	if !f.c.CleanOnce(t.Context()) || f.c.uncleanable() != 1 || f.c.CleanOnce(t.Context()) {
		t.Fatal(f.c.uncleanable())
	}
}

// Crash at every operation of a pass: after the restart nothing is lost, and a further pass works.
func TestCleaner_CrashAtEveryStep_NothingLost(t *testing.T) {
	base := vfs.NewMem(nil)
	f := mustOpen(t, base)
	if err := f.workload(rand.New(rand.NewPCG(5, 1)), 40); err != nil {
		t.Fatal(err)
	}
	if err := f.logs.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, _ := contents(t, mustOpen(t, base.KillClone()).l)
	for at := 1; ; at++ {
		n, on := 0, false
		fsys := base.Fork(func(vfs.Op, string) error {
			if !on {
				return nil
			}
			if n++; n >= at {
				return errors.New("crash")
			}
			return nil
		})
		f := mustOpen(t, fsys)
		on = true
		f.c.CleanOnce(t.Context())
		crashed := n >= at
		for what, clone := range map[string]*vfs.Mem{"killed": fsys.KillClone(), "power cut": fsys.CrashClone(nil)} {
			g := mustOpen(t, clone)
			if got, _ := contents(t, g.l); !cmp.Equal(got, want) {
				t.Fatalf("step %d, %s: %s", at, what, cmp.Diff(want, got))
			}
			g.c.CleanOnce(t.Context())
			if got, _ := contents(t, g.l); !cmp.Equal(got, want) || g.c.uncleanable() > 0 {
				t.Fatalf("step %d, %s, cleaned again: %s", at, what, cmp.Diff(want, got))
			}
		}
		if !crashed {
			t.Logf("%d steps", at)
			return
		}
	}
}

func TestThrottle_Rate_PausesForWhatIsAhead(t *testing.T) {
	now := time.UnixMilli(0)
	th := newThrottle(1000, func() time.Time { return now })
	if p := th.reserve(500); p != 500*time.Millisecond {
		t.Fatal(p)
	}
	if p := th.reserve(500); p != time.Second {
		t.Fatal(p)
	}
	now = now.Add(5 * time.Second)
	if p := th.reserve(100); p != 100*time.Millisecond {
		t.Fatal(p)
	}
	if err := newThrottle(0, nil).wait(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
}

func TestCleaner_Retune_WorkersBeginAgainWithNewSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mustOpen(t, vfs.NewMem(nil))
		f.c.o.Backoff = time.Hour
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := f.c.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		f.fill(t)
		f.c.Retune(Tuning{Threads: 3, BytesPerSecond: 1e9})
		f.c.Retune(Tuning{Threads: 2, BytesPerSecond: 1e12})
		synctest.Wait()
		stop()
		<-ended
		if f.c.o.Threads != 2 || f.c.o.DedupeBytes != 128<<20 {
			t.Errorf("settings after Retune: %+v", f.c.o.Tuning)
		}
		if done, err := f.logs.ReadCleanerCheckpoints("/d"); err != nil || done[tp] == 0 {
			t.Errorf("cleaner checkpoint %v, %v: nothing was cleaned after Retune", done, err)
		}
	})
}

// fill makes a log that is worth a pass.
func (f *fixture) fill(t *testing.T) {
	t.Helper()
	for i := range 50 {
		if err := f.put(record.BuilderOptions{}, record.None, fmt.Sprint("k", i%5), strings.Repeat("v", 100)); err != nil {
			t.Fatal(err)
		}
	}
}
