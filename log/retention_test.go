package log

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// segmentFiles lists the .log files of the test partition with their suffixes.
func segmentFiles(t *testing.T, f *fixture) []string {
	t.Helper()
	list, err := f.fs.ReadDir("/data/t-0")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if strings.Contains(e.Name, ".log") {
			out = append(out, e.Name)
		}
	}
	return out
}

func TestRetention_IdleOldLog_LosesAlsoTheActiveSegment(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.RetentionAge = 5 * time.Second })
	l := f.log()
	f.append(l, f.batch(10, record.BuilderOptions{}))
	if n, err := l.applyRetention(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	f.now = f.now.Add(6 * time.Second)
	if n, err := l.applyRetention(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if l.StartOffset() != 10 || l.EndOffset() != 10 || l.NumSegments() != 1 || l.Size() != 0 {
		t.Fatalf("%d to %d", l.StartOffset(), l.EndOffset())
	}
	want := []string{"00000000000000000000.log.deleted", "00000000000000000010.log"}
	if got := segmentFiles(t, f); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	if n, err := l.applyRetention(); n != 0 || err != nil {
		t.Fatal("an empty active segment is not deleted again", n, err)
	}
	l = f.reopen()
	if l.StartOffset() != 10 || l.EndOffset() != 10 {
		t.Fatalf("after restart %d to %d", l.StartOffset(), l.EndOffset())
	}
}

func TestRetention_Rules_DeleteWhatTheyMay(t *testing.T) {
	const perSegment = 3
	for _, tc := range []struct {
		name   string
		change func(*Config)
		age    time.Duration
		hw     int64
		want   int64 // start offset afterwards; 10 segments of 3 batches of 10
	}{
		{"nothing asked", func(c *Config) { c.RetentionAge = -1 }, 1000 * time.Hour, 300, 0},
		{"above the high watermark", func(c *Config) { c.RetentionAge = time.Second }, time.Hour, 65, 60},
		{"size", func(c *Config) { c.RetentionBytes = 645 * 4 }, 0, 300, 180},
		{"size below one segment", func(c *Config) { c.RetentionBytes = 1 }, 0, 300, 270},
		{"size zero", func(c *Config) { c.RetentionBytes = 0 }, 0, 300, 300},
		{"compacted only", func(c *Config) { c.RetentionBytes, c.Delete, c.Compact = 1, false, true }, time.Hour * 1000, 300, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 700; tc.change(c) })
			l := f.log()
			for range 10 * perSegment {
				f.append(l, f.batch(10, record.BuilderOptions{}))
			}
			if l.NumSegments() != 10 {
				t.Fatalf("%d segments of %d", l.NumSegments(), l.Size())
			}
			l.hw.Store(tc.hw)
			f.now = f.now.Add(tc.age)
			if _, err := l.applyRetention(); err != nil {
				t.Fatal(err)
			}
			if l.StartOffset() != tc.want {
				t.Fatalf("start %d, want %d", l.StartOffset(), tc.want)
			}
		})
	}
}

func TestRetention_FutureTimestamp_HoldsBackTimeButNotSize(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 300; c.RetentionAge = time.Second })
	l := f.log()
	now := f.now
	f.now = now.Add(10 * 365 * 24 * time.Hour)
	f.append(l, f.batch(10, record.BuilderOptions{}))
	f.now = now
	for range 5 {
		f.append(l, f.batch(10, record.BuilderOptions{}))
	}
	f.now = now.Add(time.Hour)
	if n, err := l.applyRetention(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	cfg := f.cfg
	cfg.RetentionBytes = 1
	l.setConfig(cfg)
	if _, err := l.applyRetention(); err != nil || l.StartOffset() == 0 {
		t.Fatal(l.StartOffset(), err)
	}
}

func TestRetention_StartOffset_DropsSegmentsBelow(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 700; c.Delete = false })
	l := f.log()
	for range 12 {
		f.append(l, f.batch(10, record.BuilderOptions{}))
	}
	if err := l.IncrementStartOffset(65); err != nil {
		t.Fatal(err)
	}
	if n, err := l.applyRetention(); n != 2 || err != nil || l.StartOffset() != 65 {
		t.Fatal(n, err, l.StartOffset())
	}
	if got := readAll(t, l); got[0] != 60 {
		t.Fatal(got)
	}
}

func TestManagerRun_DeletedFiles_RemovedAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.RetentionAge = time.Second; c.FileDeleteDelay = time.Minute })
		f.m.env.now = time.Now
		l := f.log()
		f.now = time.Now()
		f.append(l, f.batch(10, record.BuilderOptions{}))
		ctx, stop := contextWithCancel(t)
		done := make(chan error)
		go func() { done <- f.m.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := segmentFiles(t, f); !slices.Equal(got, []string{"00000000000000000010.log"}) {
			t.Error(got)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRoll_Conditions_BeginANewSegment(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		wait   time.Duration
		want   int
	}{
		{"neither", func(*Config) {}, 0, 1},
		{"size", func(c *Config) { c.SegmentBytes = 300 }, 0, 2},
		{"age by record time", func(c *Config) { c.SegmentAge = time.Minute }, 2 * time.Minute, 2},
		{"offset index full", func(c *Config) { c.IndexBytes, c.IndexIntervalBytes = 24, 0 }, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, vfs.NewMem(nil), tc.change)
			l := f.log()
			for i := range 3 {
				if i == 2 {
					f.now = f.now.Add(tc.wait)
				}
				f.append(l, f.batch(5, record.BuilderOptions{}))
			}
			if l.NumSegments() != tc.want {
				t.Fatalf("%d segments", l.NumSegments())
			}
			if got := readAll(t, l); !slices.Equal(got, []int64{0, 5, 10}) {
				t.Fatal(got)
			}
		})
	}
}

func TestRoll_OffsetTooFarFromBase_BeginsANewSegment(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	for _, base := range []int64{0, 1 << 31, 1 << 40} {
		if _, err := l.AppendAsFollower(f.batch(2, record.BuilderOptions{BaseOffset: base})); err != nil {
			t.Fatal(err)
		}
	}
	if l.NumSegments() != 3 {
		t.Fatalf("%d segments", l.NumSegments())
	}
	l = f.reopen()
	if got := bases(t, read(t, l, 5, 1, l.EndOffset(), true)); !slices.Equal(got, []int64{1 << 31}) {
		t.Fatal(got)
	}
}
