package log

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// moveFixture is a Manager on two directories.
func moveFixture(t *testing.T, fsys vfs.FS) (*fixture, error) {
	t.Helper()
	f := &fixture{t: t, fs: fsys, cfg: DefaultConfig(), now: testStart}
	f.cfg.SegmentBytes, f.cfg.IndexIntervalBytes, f.cfg.IndexBytes = 900, 100, 256
	f.m = NewManager(Options{
		FS: fsys, Dirs: []string{"/a", "/b"}, Config: func(string) Config { return f.cfg }, Now: func() time.Time { return f.now },
		Logger: slog.New(slog.DiscardHandler),
	})
	return f, f.m.Open(t.Context())
}

func mustMoveFixture(t *testing.T, fsys vfs.FS) *fixture {
	t.Helper()
	f, err := moveFixture(t, fsys)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fill makes the partition in /a, with batches of an idempotent producer in two epochs.
func (f *fixture) fill(batches int) (*Log, error) {
	f.m.Prefer(testTP, "/a")
	l, err := f.m.GetOrCreate(testTP, metadata.TopicID{1})
	if err != nil {
		return nil, err
	}
	for i := range batches {
		b := f.batch(4, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(l.EndOffset())}})
		if _, err := l.AppendAsLeader(b, metadata.LeaderEpoch(i/6), AppendOptions{}); err != nil {
			return nil, err
		}
		l.SetHighWatermark(l.EndOffset())
	}
	return l, nil
}

// copyTo makes the future log in /b and fills it.
func (f *fixture) copyTo(l *Log) error {
	fut, err := f.m.CreateFuture(testTP, "/b")
	if err != nil {
		return err
	}
	for fut.EndOffset() < l.EndOffset() {
		r, err := l.Read(fut.EndOffset(), 500, l.EndOffset(), true)
		if err != nil {
			return err
		}
		b, err := r.ReadAll(nil)
		r.Release()
		if err != nil {
			return err
		}
		if _, err := fut.AppendAsFollower(b); err != nil {
			return err
		}
	}
	return nil
}

// replace is the end of a move.
func (f *fixture) replace() error {
	former, err := f.m.Promote(testTP)
	if err != nil {
		return err
	}
	return f.m.Retire(former)
}

// dirsIn lists the directories of partitions in a log directory.
func dirsIn(t *testing.T, fsys vfs.FS, dir string) (out []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Dir {
			out = append(out, e.Name)
		}
	}
	return out
}

func TestManager_PromotedFuture_IsTheLogInItsPlace(t *testing.T) {
	mem := vfs.NewMem(nil)
	f := mustMoveFixture(t, mem)
	l, err := f.fill(20)
	if err != nil {
		t.Fatal(err)
	}
	f.m.checkpointRecovery()
	want := readAll(t, l)
	if err := f.copyTo(l); err != nil {
		t.Fatal(err)
	}
	if err := f.m.NoteCleaned(l, 8, l.Cuts()); err != nil {
		t.Fatal(err)
	}
	if names := dirsIn(t, mem, "/b"); len(names) != 1 || !regexp.MustCompile(`^t-0\.[0-9a-f]{32}-future$`).MatchString(names[0]) {
		t.Errorf("the future log is in %q", names)
	}
	fut, _ := f.m.Future(testTP)
	if err := f.replace(); err != nil {
		t.Fatal(err)
	}
	now, _ := f.m.Get(testTP)
	if _, left := f.m.Future(testTP); left || now != fut || now.Dir() != "/b" || now.HighWatermark() != l.HighWatermark() {
		t.Errorf("the log is in %s, a future one is left: %v, high watermark %d", now.Dir(), left, now.HighWatermark())
	}
	if got := readAll(t, now); !slices.Equal(got, want) || !slices.Equal(now.EpochHistory(), l.EpochHistory()) || now.TopicID() != l.TopicID() {
		t.Errorf("%v, want %v; epochs %v, want %v", got, want, now.EpochHistory(), l.EpochHistory())
	}
	if _, err := l.Read(0, 100, 10, true); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("the former log is read: %v", err)
	}
	if names := dirsIn(t, mem, "/b"); !slices.Equal(names, []string{"t-0"}) {
		t.Errorf("/b has %q", names)
	}
	if names := dirsIn(t, mem, "/a"); len(names) != 1 || !regexp.MustCompile(`^t-0\.[0-9a-f]{32}-delete$`).MatchString(names[0]) {
		t.Errorf("/a has %q", names)
	}
	if got, err := checkpoint.ReadOffsets(mem, "/a", checkpoint.RecoveryPoint); err != nil || len(got) != 0 {
		t.Errorf("recovery points %v of the former log, %v", got, err)
	}
	f.growAfterMove(now)
	after := mustMoveFixture(t, mem.KillClone())
	again, _ := after.m.Get(testTP)
	if again.Dir() != "/b" || again.EndOffset() != now.EndOffset() {
		t.Errorf("after kill -9 the log is in %s and ends at %d, want /b and %d", again.Dir(), again.EndOffset(), now.EndOffset())
	}
}

// growAfterMove looks whether all that belongs to the log writes to the new place.
func (f *fixture) growAfterMove(l *Log) {
	f.t.Helper()
	for i := range 8 {
		o := record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(l.EndOffset())}}
		for dup := range 2 {
			end := l.EndOffset()
			info, err := l.AppendAsLeader(f.batch(4, o), 9, AppendOptions{})
			if err != nil || info.Duplicate != (dup == 1) {
				f.t.Fatalf("append %d at %d: %+v %v", i, end, info, err)
			}
		}
	}
	l.SetHighWatermark(l.EndOffset())
	if _, err := l.TruncateTo(l.EndOffset() - 5); err != nil {
		f.t.Fatal(err)
	}
	l.SetHighWatermark(l.EndOffset())
	if err := l.IncrementStartOffset(17); err != nil {
		f.t.Fatal(err)
	}
	if _, err := l.applyRetention(); err != nil {
		f.t.Fatal(err)
	}
	if len(f.m.LiveDirs()) != 2 {
		f.t.Error("a directory went offline")
	}
}

// Files of the future log that wait for their removal are found under its new name.
func TestManager_Promote_DelayedRemovalsFollow(t *testing.T) {
	mem := vfs.NewMem(nil)
	f := mustMoveFixture(t, mem)
	l, err := f.fill(20)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.copyTo(l); err != nil {
		t.Fatal(err)
	}
	fut, _ := f.m.Future(testTP)
	for _, x := range []*Log{l, fut} {
		if _, err := x.TruncateTo(40); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.replace(); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Hour)
	due, _ := f.m.env.removals.due(f.now)
	for _, r := range due {
		f.m.remove(r)
	}
	if names := dirsIn(t, mem, "/a"); len(names) != 0 {
		t.Errorf("/a still has %q", names)
	}
	entries, err := mem.ReadDir("/b/t-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name, deletedSuffix) {
			t.Errorf("%s is left", e.Name)
		}
	}
}

// Crash at every step of a move: the broker starts, there is one log, and nothing that was safe is lost.
func TestMove_CrashAtEveryStep_OneWholeLog(t *testing.T) {
	type progress struct{ acked, synced int64 }
	run := func(fsys vfs.FS, p *progress) error {
		f, err := moveFixture(t, fsys)
		if err != nil {
			return err
		}
		l, err := f.fill(14)
		if err != nil {
			return err
		}
		if err := l.Flush(); err != nil {
			return err
		}
		p.acked, p.synced = l.EndOffset(), l.EndOffset()
		f.m.checkpointRecovery()
		if l, err = f.fill(0); err != nil {
			return err
		}
		if err := f.copyTo(l); err != nil {
			return err
		}
		if err := f.replace(); err != nil {
			return err
		}
		now, _ := f.m.Get(testTP)
		b := f.batch(4, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(now.EndOffset())}})
		if _, err := now.AppendAsLeader(b, 2, AppendOptions{}); err != nil {
			return err
		}
		p.acked = now.EndOffset()
		if err := now.Flush(); err != nil {
			return err
		}
		p.synced = now.EndOffset()
		return f.m.Close(t.Context())
	}
	var count atomic.Int64 // the directories are loaded and closed at the same time
	if err := run(vfs.NewMem(func(vfs.Op, string) error { count.Add(1); return nil }), new(progress)); err != nil {
		t.Fatal(err)
	}
	steps := count.Load()
	rng := rand.New(rand.NewPCG(1, 2))
	for at := int64(1); at <= steps; at++ {
		var n atomic.Int64
		mem := vfs.NewMem(func(vfs.Op, string) error {
			if n.Add(1) >= at {
				return errCrash
			}
			return nil
		})
		var p progress
		if err := run(mem, &p); err == nil {
			t.Fatalf("step %d of %d did not fail", at, steps)
		}
		tear := func(_ string, synced, current []byte) []byte {
			if len(current) <= len(synced) {
				return synced
			}
			return current[:len(synced)+rng.IntN(len(current)-len(synced)+1)]
		}
		checkMoved(t, fmt.Sprintf("step %d, killed", at), mem.KillClone(), p.acked)
		checkMoved(t, fmt.Sprintf("step %d, power cut", at), mem.CrashClone(nil), p.synced)
		checkMoved(t, fmt.Sprintf("step %d, power cut with some unsynced data", at), mem.CrashClone(tear), p.synced)
	}
	t.Logf("%d steps", steps)
}

// checkMoved opens what a crash has left, and ends the move.
func checkMoved(t *testing.T, what string, mem *vfs.Mem, least int64) {
	t.Helper()
	f, err := moveFixture(t, mem)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(f.m.LiveDirs()) != 2 {
		t.Fatalf("%s: a directory is offline", what)
	}
	l, ok := f.m.Get(testTP)
	if !ok {
		if least > 0 {
			t.Fatalf("%s: there is no log", what)
		}
		return
	}
	if l.EndOffset() < least {
		t.Fatalf("%s: log in %s ends at %d, %d was safe", what, l.Dir(), l.EndOffset(), least)
	}
	whole := 0
	for _, d := range []string{"/a", "/b"} {
		for _, name := range dirsIn(t, mem, d) {
			if path.Base(name) == "t-0" {
				whole++
			}
		}
	}
	if whole != 1 {
		t.Fatalf("%s: the partition is in %d directories", what, whole)
	}
	if got := readAll(t, l); int64(len(got))*4 != l.EndOffset() {
		t.Fatalf("%s: batches %v up to %d", what, got, l.EndOffset())
	}
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestManager_PartitionInTwoDirectories_TheLogThatKnowsMoreStays(t *testing.T) {
	for _, tc := range []struct {
		name   string
		a, b   int // batches; six make an epoch
		id     metadata.TopicID
		stays  string
		refuse bool
	}{
		{name: "a is longer", a: 5, b: 4, id: metadata.TopicID{1}, stays: "/a"},
		{name: "b is longer", a: 4, b: 5, id: metadata.TopicID{1}, stays: "/b"},
		{name: "b has a later epoch", a: 6, b: 7, id: metadata.TopicID{1}, stays: "/b"},
		{name: "another topic of that name", a: 4, b: 5, id: metadata.TopicID{2}, refuse: true},
		{name: "an unknown topic of that name", a: 4, b: 5, refuse: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mem := vfs.NewMem(nil)
			f := mustMoveFixture(t, mem)
			if _, err := f.fill(tc.b); err != nil {
				t.Fatal(err)
			}
			if err := f.m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := mem.Rename("/a/t-0", "/b/t-0"); err != nil {
				t.Fatal(err)
			}
			if err := vfs.RemoveIfExists(mem, "/b/t-0/"+checkpoint.PartitionMetadata); err != nil {
				t.Fatal(err)
			}
			if !tc.id.IsZero() {
				if err := checkpoint.WriteTopicID(mem, "/b/t-0", tc.id); err != nil {
					t.Fatal(err)
				}
			}
			other := vfs.NewMem(nil)
			g := mustMoveFixture(t, other)
			if _, err := g.fill(tc.a); err != nil {
				t.Fatal(err)
			}
			if err := g.m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			graft(t, other, mem, "/a/t-0")
			f, err := moveFixture(t, mem)
			if tc.refuse {
				if err == nil || !strings.Contains(err.Error(), "t-0 is both in") {
					t.Fatalf("the manager opens: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l, _ := f.m.Get(testTP); l.Dir() != tc.stays || l.EndOffset() != int64(4*max(tc.a, tc.b)) {
				t.Errorf("the log in %s stays, up to %d", l.Dir(), l.EndOffset())
			}
		})
	}
}

// graft copies the files of a directory from one file system to another.
func graft(t *testing.T, from, to *vfs.Mem, dir string) {
	t.Helper()
	entries, err := from.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := vfs.ReadFile(from, path.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(to, path.Join(dir, e.Name), b); err != nil {
			t.Fatal(err)
		}
	}
}

func TestManager_FutureLog_IsThereAfterARestart(t *testing.T) {
	for name, clone := range map[string]func(*vfs.Mem) *vfs.Mem{
		"killed":  (*vfs.Mem).KillClone,
		"stopped": func(m *vfs.Mem) *vfs.Mem { return m.CrashClone(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem(nil)
			f := mustMoveFixture(t, mem)
			l, err := f.fill(14)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.copyTo(l); err != nil {
				t.Fatal(err)
			}
			if err := f.m.WriteHWCheckpoints(map[metadata.TopicPartition]int64{testTP: 50}); err != nil {
				t.Fatal(err)
			}
			if name == "stopped" {
				if err := f.m.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			mem = clone(mem)
			f = mustMoveFixture(t, mem)
			l, _ = f.m.Get(testTP)
			fut, ok := f.m.Future(testTP)
			if !ok || fut.Dir() != "/b" || fut.EndOffset() != l.EndOffset() || !slices.Equal(readAll(t, fut), readAll(t, l)) {
				t.Fatalf("future log there: %v, up to %d of %d", ok, fut.EndOffset(), l.EndOffset())
			}
			marks, stale := f.m.ReadHWCheckpoints()
			if !maps.Equal(marks, map[metadata.TopicPartition]int64{testTP: 50}) || stale {
				t.Errorf("marks %v, stale %v", marks, stale)
			}
			if err := f.m.Delete(testTP); err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{"/a", "/b"} {
				for _, n := range dirsIn(t, mem, d) {
					if !strings.HasSuffix(n, deleteDirSuffix) {
						t.Errorf("%s/%s is left of a deleted partition", d, n)
					}
				}
			}
		})
	}
}

func TestManager_Prefer_LogIsMadeThere(t *testing.T) {
	f := mustMoveFixture(t, vfs.NewMem(nil))
	for i := range int32(4) {
		tp := metadata.TopicPartition{Topic: "p", Partition: i}
		f.m.Prefer(tp, "/b")
		if l, err := f.m.GetOrCreate(tp, metadata.TopicID{}); err != nil || l.Dir() != "/b" {
			t.Fatalf("log in %s, %v", l.Dir(), err)
		}
	}
	if n := len(f.m.mu.preferred); n != 0 {
		t.Errorf("%d wishes are left", n)
	}
	f.m.Prefer(testTP, "/b")
	f.m.dir("/b").failed.Store(true)
	if l, err := f.m.GetOrCreate(testTP, metadata.TopicID{}); err != nil || l.Dir() != "/a" {
		t.Fatalf("preferred directory is offline: log in %s, %v", l.Dir(), err)
	}
	for dir, want := range map[string]error{"/a": nil, "/b": kerr.KafkaStorageError, "/c": kerr.LogDirNotFound} {
		if err := f.m.CheckDir(dir); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
}

func TestNames_FutureDirectories(t *testing.T) {
	for _, tp := range []metadata.TopicPartition{{Topic: "t"}, {Topic: "a.b-c.d", Partition: 17}, {Topic: "x-1", Partition: 2}} {
		name := futureDirName(tp)
		if got, ok := parseFutureDir(name); !ok || got != tp {
			t.Errorf("%s is read as %v, %v", name, got, ok)
		}
		if _, ok := parseFutureDir(deleteDirName(tp)); ok {
			t.Errorf("%s is taken for a future log", deleteDirName(tp))
		}
	}
	for n, want := range map[int]bool{213: true, 214: false} {
		if got := Movable(metadata.TopicPartition{Topic: strings.Repeat("t", n)}); got != want {
			t.Errorf("a name of %d can be moved: %v", n, got)
		}
	}
	for _, name := range []string{"t-0-future", "-future", "t.x-future", "t-x.y-future", "t-0.y"} {
		if tp, ok := parseFutureDir(name); ok {
			t.Errorf("%q is read as %v", name, tp)
		}
	}
}
