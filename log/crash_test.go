package log

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

var errCrash = errors.New("crash")

// crashRun is a workload on a file system that stops working after a number of operations.
type crashRun struct {
	// acked is the log end after the last append that succeeded, synced the one after the last flush.
	acked, synced int64
	// floor is the lowest end that truncation may have left, start the highest start offset.
	floor int64
}

// run appends, flushes, truncates, deletes and shuts down until something fails.
func (c *crashRun) run(t *testing.T, fsys vfs.FS) error {
	f := &fixture{t: t, fs: fsys, cfg: DefaultConfig(), now: testStart}
	f.cfg.SegmentBytes, f.cfg.IndexIntervalBytes, f.cfg.IndexBytes = 900, 100, 256
	m := NewManager(Options{FS: fsys, Dirs: []string{"/data"}, Config: func(string) Config { return f.cfg }})
	if err := m.Open(t.Context()); err != nil {
		return err
	}
	l, err := m.GetOrCreate(testTP, metadata.TopicID{1})
	if err != nil {
		return err
	}
	for i := range 24 {
		b := f.batch(4, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(l.EndOffset())}})
		if _, err := l.AppendAsLeader(b, metadata.LeaderEpoch(i/6), AppendOptions{}); err != nil {
			return err
		}
		c.acked = l.EndOffset()
		switch {
		case i == 15:
			c.floor = l.EndOffset() - 12
			c.synced, c.acked = min(c.synced, c.floor), c.floor
			if _, err := l.TruncateTo(c.floor); err != nil {
				return err
			}
		case i == 20:
			l.SetHighWatermark(l.EndOffset())
			if err := l.IncrementStartOffset(21); err != nil {
				return err
			}
			if _, err := l.applyRetention(); err != nil {
				return err
			}
		case i%5 == 4:
			if err := l.Flush(); err != nil {
				return err
			}
			c.synced = l.EndOffset()
			m.checkpointRecovery()
		}
	}
	if err := m.Close(t.Context()); err != nil {
		return err
	}
	c.synced = c.acked
	return nil
}

// check opens a crashed file system and looks whether the log is whole and long enough.
func checkCrashed(t *testing.T, what string, fsys *vfs.Mem, least int64) {
	t.Helper()
	f := &fixture{t: t, fs: fsys, cfg: DefaultConfig(), now: testStart}
	f.cfg.SegmentBytes, f.cfg.IndexIntervalBytes, f.cfg.IndexBytes = 900, 100, 256
	f.open()
	l := f.log()
	if l.EndOffset() < least {
		t.Fatalf("%s: log ends at %d, %d was safe", what, l.EndOffset(), least)
	}
	if end := l.EndOffset(); l.StartOffset() < end {
		got := readAll(t, l)
		for i := range got {
			if i > 0 && got[i] != got[i-1]+4 {
				t.Fatalf("%s: batches %v", what, got)
			}
		}
		// The producer is known where the log ends, so the next batch and its duplicate are told apart.
		b := f.batch(4, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(end)}})
		for i := range 2 {
			info, err := l.AppendAsLeader(append([]byte(nil), b...), 9, AppendOptions{})
			if err != nil || info.Duplicate != (i == 1) {
				t.Fatalf("%s: append %d at %d: %+v %v", what, i, end, info, err)
			}
		}
	}
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Crash at every operation of the file system, in every way: killed, power cut with only synced data, and power cut with
// some of the unsynced data, in whole or in part, or zeros in its place.
func TestCrash_AtEveryStep_LogIsWhole(t *testing.T) {
	steps := 0
	dry := vfs.NewMem(func(vfs.Op, string) error { steps++; return nil })
	if err := new(crashRun).run(t, dry); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(1, seed))
	stride := 1
	if testing.Short() {
		stride = 7
	}
	for at := 1; at <= steps+1; at += stride {
		n := 0
		m := vfs.NewMem(func(vfs.Op, string) error {
			if n++; n >= at {
				return errCrash
			}
			return nil
		})
		var c crashRun
		_ = c.run(t, m) // it fails at the step
		checkCrashed(t, "killed", m.KillClone(), c.acked)
		checkCrashed(t, "power cut", m.CrashClone(nil), c.synced)
		checkCrashed(t, "power cut, parts kept", m.CrashClone(func(_ string, synced, current []byte) []byte {
			return mangle(rng, synced, current)
		}), c.synced)
	}
}

// mangle is what a disk may hold of a file that was not synced: the old content, the new one, a part of it, or its length
// with zeros.
func mangle(rng *rand.Rand, synced, current []byte) []byte {
	if len(current) <= len(synced) {
		if rng.IntN(2) == 0 {
			return current
		}
		return synced
	}
	n := len(synced) + rng.IntN(len(current)-len(synced)+1)
	switch rng.IntN(4) {
	case 0:
		return synced
	case 1:
		return current
	case 2:
		return current[:n]
	default:
		return append(append([]byte(nil), current[:n]...), make([]byte, len(current)-n)...)
	}
}

// damage changes files of a killed broker's directory.
func damage(t *testing.T, m *vfs.Mem, suffix string, change func([]byte) []byte) {
	t.Helper()
	list, err := m.ReadDir("/data/t-0")
	if err != nil {
		t.Fatal(err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !strings.HasSuffix(list[i].Name, suffix) {
			continue
		}
		name := "/data/t-0/" + list[i].Name
		b, err := vfs.ReadFile(m, name)
		if err != nil {
			t.Fatal(err)
		}
		if b = change(b); b == nil {
			err = m.Remove(name)
		} else {
			err = vfs.WriteFileAtomic(m, name, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if suffix == ".log" {
			return // the active one
		}
	}
}

func TestRecovery_DamagedFiles_CutAtTheLastGoodBatch(t *testing.T) {
	zero := func(b []byte) []byte { clear(b); return b }
	empty := func([]byte) []byte { return []byte{} }
	gone := func([]byte) []byte { return nil }
	for _, tc := range []struct {
		name, suffix string
		change       func([]byte) []byte
		lost         int64 // batches
	}{
		{"last 7 bytes cut", ".log", func(b []byte) []byte { return b[:len(b)-7] }, 1},
		{"tail of zeros", ".log", func(b []byte) []byte { return append(b, make([]byte, 500)...) }, 0},
		{"tail of garbage", ".log", func(b []byte) []byte { return append(b, "0123456789abcdef0123456789abcdef"...) }, 0},
		{"bit flipped in the last batch", ".log", func(b []byte) []byte { b[len(b)-5] ^= 4; return b }, 1},
		{"length of the last batch too large", ".log", func(b []byte) []byte { b[len(b)-len(b)/6+8] = 0x7f; return b }, 1},
		{"offset index zeroed", ".index", zero, 0},
		{"offset index emptied", ".index", empty, 0},
		{"offset index of odd size", ".index", func(b []byte) []byte { return b[:5] }, 0},
		{"offset index gone", ".index", gone, 0},
		{"time index zeroed", ".timeindex", zero, 0},
		{"time index gone", ".timeindex", gone, 0},
		{"snapshots gone", ".snapshot", gone, 0},
		{"snapshots zeroed", ".snapshot", zero, 0},
		{"epochs gone", "leader-epoch-checkpoint", gone, 0},
		{"epochs unreadable", "leader-epoch-checkpoint", func([]byte) []byte { return []byte("what\n") }, 0},
	} {
		for _, clean := range []bool{false, true} {
			if clean && tc.lost > 0 {
				continue // damage after a clean shutdown is found by those who read
			}
			f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 900; c.IndexIntervalBytes = 100 })
			l := f.log()
			for i := range 20 {
				f.append(l, f.batch(4, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(i * 4)}}))
			}
			if clean {
				if err := f.m.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			m := f.fs.(*vfs.Mem).KillClone()
			damage(t, m, tc.suffix, tc.change)
			t.Run(tc.name, func(t *testing.T) {
				checkCrashed(t, tc.name, m, 80-4*tc.lost)
				f.fs = m
				f.t = t
				f.open()
				if got := len(readAll(t, f.log())); int64(got) != 20-tc.lost+1 {
					t.Fatalf("%d batches", got)
				}
			})
		}
	}
}

func TestManager_CleanShutdownMark_TakenBeforeLoading(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	f.append(f.log(), f.batch(4, record.BuilderOptions{}))
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsys := f.fs.(*vfs.Mem)
	if ok, _ := vfs.Exists(fsys, "/data/.kafka_cleanshutdown"); !ok {
		t.Fatal("no mark after Close")
	}
	f.open()
	if ok, _ := vfs.Exists(fsys.CrashClone(nil), "/data/.kafka_cleanshutdown"); ok {
		t.Fatal("mark is still there after Open")
	}
}

func TestManager_WriteFails_DirGoesOfflineAndNoMarkIsWritten(t *testing.T) {
	full := false
	fsys := vfs.NewMem(func(op vfs.Op, name string) error {
		if full && strings.HasPrefix(name, "/data1/") && op == vfs.OpWrite {
			return errors.New("no space left on device")
		}
		return nil
	})
	failed := make(chan string, 1)
	m := NewManager(Options{FS: fsys, Dirs: []string{"/data1", "/data2"}, OnDirFailure: func(dir string, _ error) { failed <- dir }})
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextWithCancel(t)
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	var logs []*Log
	for p := range int32(4) {
		l, err := m.GetOrCreate(metadata.TopicPartition{Topic: "t", Partition: p}, metadata.TopicID{})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	f := &fixture{t: t, now: testStart}
	full = true
	for _, l := range logs {
		_, err := l.AppendAsLeader(f.batch(1, record.BuilderOptions{}), 0, AppendOptions{})
		if (err != nil) != (l.Dir() == "/data1") {
			t.Errorf("%s in %s: %v", l.TP(), l.Dir(), err)
		}
		if err != nil && l.EndOffset() != 0 {
			t.Errorf("%s ends at %d", l.TP(), l.EndOffset())
		}
	}
	if dir := <-failed; dir != "/data1" {
		t.Errorf("failed %s", dir)
	}
	if live := m.LiveDirs(); len(live) != 1 || live[0] != "/data2" {
		t.Errorf("live %v", live)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string]bool{"/data1": false, "/data2": true} {
		if got, _ := vfs.Exists(fsys, dir+"/.kafka_cleanshutdown"); got != want {
			t.Errorf("%s marked clean: %v", dir, got)
		}
	}
}

func TestManager_LastDirFails_RunEndsWithTheReason(t *testing.T) {
	noSpace := errors.New("no space left on device")
	full := false
	fsys := vfs.NewMem(func(op vfs.Op, _ string) error {
		if full && op == vfs.OpWrite {
			return noSpace
		}
		return nil
	})
	told := make(chan string, 2)
	m := NewManager(Options{FS: fsys, Dirs: []string{"/data1", "/data2"}, OnDirFailure: func(dir string, _ error) { told <- dir }})
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, now: testStart}
	var logs []*Log
	for p := range int32(2) {
		l, err := m.GetOrCreate(metadata.TopicPartition{Topic: "t", Partition: p}, metadata.TopicID{})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	full = true
	done := make(chan error)
	go func() { done <- m.Run(t.Context()) }()
	for i, l := range logs {
		if m.AllDirsLive() != (i == 0) {
			t.Errorf("after %d failures all directories are live: %v", i, m.AllDirsLive())
		}
		if _, err := l.AppendAsLeader(f.batch(1, record.BuilderOptions{}), 0, AppendOptions{}); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("append to %s: %v", l.Dir(), err)
		}
		if i == 0 {
			<-told
		}
	}
	if err := <-done; !errors.Is(err, noSpace) || !strings.Contains(err.Error(), "log.dirs: no directory is left") {
		t.Errorf("Run ended with %v", err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestManager_SecondProcess_Refused(t *testing.T) {
	dir := t.TempDir()
	a := NewManager(Options{Dirs: []string{dir}})
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := NewManager(Options{Dirs: []string{dir}})
	if err := b.Open(t.Context()); !errors.Is(err, vfs.ErrLocked) {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
