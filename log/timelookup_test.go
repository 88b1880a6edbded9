package log

import (
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// timed builds a batch with the given timestamps.
func timed(codec record.Codec, times ...int64) []byte {
	b := record.NewBuilder(codec, record.BuilderOptions{})
	for _, ts := range times {
		b.Append(ts, []byte("k"), make([]byte, 50), nil)
	}
	return b.Build()
}

func TestOffsetForTimestamp_RisingTimes_FirstAtOrAfter(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip} {
		f := newFixture(t, vfs.NewMem(nil), nil)
		l := f.log()
		f.append(l, timed(codec, 2, 4))
		f.append(l, timed(codec, 6, 8))
		for ts, want := range map[int64]TimestampOffset{
			2: {2, 0, 0}, 3: {4, 1, 0}, 4: {4, 1, 0}, 5: {6, 2, 0}, 6: {6, 2, 0}, 7: {8, 3, 0}, 8: {8, 3, 0},
		} {
			got, ok, err := l.OffsetForTimestamp(ts, 4)
			if err != nil || !ok || got != want {
				t.Errorf("%s %d: %+v %v %v", codec, ts, got, ok, err)
			}
		}
		if got, ok, err := l.OffsetForTimestamp(9, 4); ok || err != nil {
			t.Errorf("9: %+v %v", got, err)
		}
		if got, ok, _ := l.OffsetForTimestamp(7, 3); ok {
			t.Errorf("above the bound: %+v", got)
		}
	}
}

func TestOffsetForTimestamp_OutOfOrderOverSegments_InOffsetOrder(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.SegmentBytes = 200; c.IndexIntervalBytes = 0 })
	l := f.log()
	for _, ts := range []int64{10, 50, 20, 60} {
		f.append(l, timed(record.None, ts))
	}
	for range 2 {
		for ts, want := range map[int64]int64{5: 0, 10: 0, 15: 1, 50: 1, 55: 3, 60: 3} {
			if got, ok, err := l.OffsetForTimestamp(ts, 4); err != nil || !ok || got.Offset != want {
				t.Errorf("%d: %+v %v %v", ts, got, ok, err)
			}
		}
		if got, ok, err := l.MaxTimestampOffset(4); err != nil || !ok || got.Offset != 3 || got.Timestamp != 60 {
			t.Errorf("max: %+v %v %v", got, ok, err)
		}
		l = f.reopen()
	}
	if _, err := l.TruncateTo(3); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := l.MaxTimestampOffset(4); err != nil || !ok || got.Offset != 1 {
		t.Errorf("max after truncation: %+v %v %v", got, ok, err)
	}
}

func TestOffsetForTimestamp_InsideCompressedBatch_ExactRecord(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	var times []int64
	for i := range int64(50) {
		times = append(times, 100+i)
	}
	f.append(l, timed(record.Gzip, times...))
	for i := range int64(50) {
		if got, ok, err := l.OffsetForTimestamp(100+i, 50); err != nil || !ok || got.Offset != i {
			t.Fatalf("%d: %+v %v %v", i, got, ok, err)
		}
	}
	if err := l.IncrementStartOffset(20); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := l.OffsetForTimestamp(0, 50); got.Offset != 20 {
		t.Fatalf("below the start: %+v", got)
	}
}

func TestMaxTimestampOffset_EmptyLog_None(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	if got, ok, err := f.log().MaxTimestampOffset(100); ok || err != nil {
		t.Fatal(got, err)
	}
}
