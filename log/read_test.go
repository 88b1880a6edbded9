package log

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

func TestRead_EveryOffset_ReturnsTheBatchThatHoldsIt(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 2000; c.IndexIntervalBytes = 100 })
	l := f.log()
	for range 40 {
		f.append(l, f.batch(10, record.BuilderOptions{}))
	}
	if l.NumSegments() < 4 {
		t.Fatalf("%d segments", l.NumSegments())
	}
	for off := range int64(400) {
		got := bases(t, read(t, l, off, 1, 400, true))
		if !slices.Equal(got, []int64{off / 10 * 10}) {
			t.Fatalf("offset %d: %v", off, got)
		}
	}
	if b := read(t, l, 400, 1000, 400, true); len(b) != 0 {
		t.Fatal("records at the end")
	}
	for _, off := range []int64{-1, 401, 1 << 62} {
		if _, err := l.Read(off, 1000, 400, true); !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Fatalf("offset %d: %v", off, err)
		}
	}
}

func TestRead_Limits_WholeBatchesOnly(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	one := len(f.batch(10, record.BuilderOptions{}))
	for range 200 {
		f.append(l, f.batch(10, record.BuilderOptions{}))
	}
	for _, tc := range []struct {
		name      string
		max       int
		minOne    bool
		upTo      int64
		wantBatch int
	}{
		{"smaller than a batch, at least one", one - 1, true, 2000, 1},
		{"smaller than a batch", one - 1, false, 2000, 0},
		{"exactly one", one, false, 2000, 1},
		{"one and a half", one * 3 / 2, false, 2000, 1},
		{"three", one * 3, true, 2000, 3},
		{"more than the scratch buffer", one * 150, true, 2000, 150},
		{"bounded by offset", one * 150, true, 50, 5},
		{"bounded inside a batch", one * 150, true, 55, 5},
		{"all", 1 << 30, true, 2000, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := len(read(t, l, 3, tc.max, tc.upTo, tc.minOne)); got != tc.wantBatch*one {
				t.Fatalf("%d bytes, a batch has %d", got, one)
			}
		})
	}
	for _, tc := range []struct{ from, upTo, batches int64 }{{0, 2000, 200}, {0, 0, 0}, {1990, 2000, 1}, {2000, 2000, 0}, {-5, 9999, 200}, {100, 300, 20}, {10, 5, 0}} {
		if got := l.BytesBetween(tc.from, tc.upTo); got != tc.batches*int64(one) {
			t.Errorf("bytes in [%d, %d): %d, want %d", tc.from, tc.upTo, got, tc.batches*int64(one))
		}
	}
}

// A reader bounded by the old end of the log must not be given the bytes of an append that it races with.
func TestRead_RacingAppends_NeverAboveTheBound(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 5000 })
	l := f.log()
	const batches = 2000
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				upTo := l.EndOffset()
				if upTo == batches {
					return
				}
				if upTo == 0 {
					continue
				}
				from := rand.Int64N(upTo)
				r, err := l.Read(from, 1<<20, upTo, true)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := r.ReadAll(nil)
				r.Release()
				if err == nil && len(b) == 0 && from == upTo-1 {
					continue // the append of the last batch is not over: its end is known before its bytes may be read
				}
				if err != nil || len(b) == 0 {
					t.Errorf("offset %d of %d: %d bytes, %v", from, upTo, len(b), err)
					return
				}
				for len(b) > 0 {
					batch, rest, err := record.Next(b)
					if err != nil || batch.LastOffset() >= upTo {
						t.Errorf("bound %d: %v", upTo, err)
						return
					}
					b = rest
				}
			}
		})
	}
	b := f.batch(1, record.BuilderOptions{})
	for range batches {
		if _, err := l.AppendAsLeader(slices.Clone(b), 0, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

func TestRead_DeletedUnderAReader_StaysReadable(t *testing.T) {
	f := &fixture{t: t, cfg: DefaultConfig(), now: testStart}
	f.m = NewManager(Options{FS: vfs.OS{}, Dirs: []string{t.TempDir()}, Config: func(string) Config { return f.cfg }})
	if err := f.m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := f.log()
	want := len(f.batch(10, record.BuilderOptions{}))
	f.append(l, f.batch(10, record.BuilderOptions{}))
	r, err := l.Read(0, 1000, 10, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.m.Delete(testTP); err != nil {
		t.Fatal(err)
	}
	if b, err := r.ReadAll(nil); err != nil || len(b) != want {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	r.Release()
	if _, err := l.Read(0, 1000, 10, true); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("deleted log: %v", err)
	}
	if _, ok := f.m.Get(testTP); ok {
		t.Fatal("still there")
	}
	f.append(f.log(), f.batch(10, record.BuilderOptions{}))
	if err := f.m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRead_Allocs_None(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	for range 1000 {
		f.append(l, f.batch(10, record.BuilderOptions{}))
	}
	off := int64(0)
	n := testing.AllocsPerRun(500, func() {
		off += 17 // old ones and recent ones, on the boundary of a batch or inside
		r, err := l.Read(off, 1<<14, 9000, true)
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
	})
	if n != 0 {
		t.Fatalf("%.1f allocations per read", n)
	}
}
