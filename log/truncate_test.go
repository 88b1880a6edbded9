package log

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestTruncateTo_EveryOffset_CutsAtABatch(t *testing.T) {
	for target := range int64(101) {
		f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 700; c.IndexIntervalBytes = 60 })
		l := f.log()
		for i := range 20 {
			b := f.batch(5, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(i * 5)}})
			if _, err := l.AppendAsLeader(b, metadata.LeaderEpoch(i/4), AppendOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.SetHighWatermark(100)
		cut, err := l.TruncateTo(target)
		if err != nil || cut != (target < 100) {
			t.Fatalf("to %d: %v %v", target, cut, err)
		}
		end := target / 5 * 5
		if l.EndOffset() != end || l.HighWatermark() != end {
			t.Fatalf("to %d: end %d, hw %d", target, l.EndOffset(), l.HighWatermark())
		}
		if e, ok := l.LatestEpoch(); end > 0 && (!ok || int64(e) != (end-1)/20) {
			t.Fatalf("to %d: epoch %d", target, e)
		}
		// The producer goes on where the cut was, and the log can be read whole.
		b := f.batch(5, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: int32(end)}})
		if _, err := l.AppendAsLeader(b, 9, AppendOptions{}); err != nil {
			t.Fatalf("to %d: append %v", target, err)
		}
		for range 2 {
			if got := readAll(t, l); int64(len(got)) != end/5+1 {
				t.Fatalf("to %d: batches %v", target, got)
			}
			l = f.reopen()
		}
	}
}

func TestTruncateFullyAndStartAt_Reader_FindsTheNewLog(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	f.append(l, f.batch(10, record.BuilderOptions{}))
	if err := l.TruncateFullyAndStartAt(100); err != nil {
		t.Fatal(err)
	}
	if l.StartOffset() != 100 || l.EndOffset() != 100 || l.HighWatermark() != 100 {
		t.Fatalf("%d %d %d", l.StartOffset(), l.EndOffset(), l.HighWatermark())
	}
	if _, ok := l.LatestEpoch(); ok {
		t.Fatal("epochs are left")
	}
	if _, err := l.Read(5, 100, 100, true); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatal(err)
	}
	f.append(l, f.batch(10, record.BuilderOptions{}))
	l = f.reopen()
	if got := readAll(t, l); !slices.Equal(got, []int64{100}) || l.StartOffset() != 100 {
		t.Fatalf("%v from %d", got, l.StartOffset())
	}
}

func TestIncrementStartOffset_InsideABatch_HoldsOverRestart(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	f.append(l, f.batch(10, record.BuilderOptions{}))
	f.append(l, f.batch(10, record.BuilderOptions{}))
	l.SetHighWatermark(15)
	if err := l.IncrementStartOffset(16); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatalf("above the high watermark: %v", err)
	}
	for _, off := range []int64{5, 5, 3} {
		if err := l.IncrementStartOffset(off); err != nil || l.StartOffset() != 5 {
			t.Fatalf("to %d: start %d, %v", off, l.StartOffset(), err)
		}
	}
	if h := l.EpochHistory(); len(h) != 1 || h[0].Start != 5 {
		t.Fatalf("epochs %v", h)
	}
	l = f.reopen()
	if l.StartOffset() != 5 {
		t.Fatalf("start %d after restart", l.StartOffset())
	}
	if _, err := l.Read(4, 100, 20, true); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatal(err)
	}
	if got := bases(t, read(t, l, 5, 1, 20, true)); !slices.Equal(got, []int64{0}) {
		t.Fatalf("%v", got)
	}
}
