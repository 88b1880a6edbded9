package log

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// messageSet is a batch of n records in an old format.
func messageSet(f *fixture, magic int8, codec record.Codec, first int64, n int) []byte {
	f.t.Helper()
	b := record.Batch(f.codecBatch(codec, n, record.BuilderOptions{}))
	b.SetBaseOffset(first)
	set, err := record.DownConvert(nil, b, magic, 0, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return set
}

func TestAppend_OldFormats_StoredAsFormat2(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4} {
			f := newFixture(t, vfs.NewMem(nil), nil)
			l := f.log()
			for i := range int64(3) {
				info, err := l.AppendAsLeader(messageSet(f, magic, codec, 0, 50), 7, AppendOptions{OldFormats: true})
				if err != nil || !info.Converted || info.FirstOffset != i*50 || info.LastOffset != i*50+49 || info.NumRecords != 50 {
					t.Fatalf("format %d, %s: %+v, %v", magic, codec, info, err)
				}
			}
			b, _, err := record.Next(read(t, l, 60, 1<<20, 150, true))
			if err != nil || b.Magic() != 2 || b.Codec() != codec || b.BaseOffset() != 50 || b.LeaderEpoch() != 7 || !b.CheckCRC() {
				t.Fatalf("format %d, %s: stored %v, %v", magic, codec, b[:record.HeaderSize], err)
			}
		}
	}
}

func TestAppend_OldFormats_RefusedAsAWhole(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.MaxMessageBytes = 2000 })
	l := f.log()
	set := messageSet(f, 1, record.None, 0, 3)
	bad := messageSet(f, 1, record.None, 0, 3)
	bad[len(bad)-1]++
	mixed := append(messageSet(f, 1, record.Gzip, 0, 3), set...)
	for _, tc := range []struct {
		name string
		set  []byte
		o    AppendOptions
		want error
	}{
		{"not in this version", set, AppendOptions{}, kerr.InvalidRecord},
		{"not for coordinators", set, AppendOptions{Origin: Coordinator, OldFormats: true}, kerr.InvalidRecord},
		{"wrong checksum of the last message", bad, AppendOptions{OldFormats: true}, kerr.CorruptMessage},
		{"compressed beside others", mixed, AppendOptions{OldFormats: true}, kerr.InvalidRecord},
		{"cut short", set[:len(set)-3], AppendOptions{OldFormats: true}, kerr.InvalidRecord},
		{"too large as one batch", messageSet(f, 1, record.None, 0, 200), AppendOptions{OldFormats: true}, kerr.MessageTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := l.AppendAsLeader(tc.set, 0, tc.o); !errors.Is(err, tc.want) || l.EndOffset() != 0 {
				t.Fatalf("%v, want %v; log end %d", err, tc.want, l.EndOffset())
			}
		})
	}
}

// A log that old brokers wrote: no indexes, no snapshots, all formats in one segment.
func TestOpen_LogOfOldFormats_ReadableAndGoesOn(t *testing.T) {
	fsys := vfs.NewMem(nil)
	f := &fixture{t: t, fs: fsys, cfg: DefaultConfig(), now: testStart}
	f.cfg.IndexBytes, f.cfg.IndexIntervalBytes = 1<<20, 500
	var data []byte
	data = append(data, messageSet(f, 0, record.None, 0, 20)...)
	data = append(data, messageSet(f, 0, record.Gzip, 20, 20)...)
	data = append(data, messageSet(f, 1, record.None, 40, 20)...)
	data = append(data, messageSet(f, 1, record.LZ4, 60, 20)...)
	b := record.Batch(f.batch(20, record.BuilderOptions{}))
	b.SetBaseOffset(80)
	data = append(append(data, b...), messageSet(f, 1, record.None, 100, 1)[:20]...) // and a torn tail
	dir := filepath.Join("/data", testTP.String())
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(fsys, filepath.Join(dir, "00000000000000000000.log"), data); err != nil {
		t.Fatal(err)
	}
	f.open()
	l, ok := f.m.Get(testTP)
	if !ok || l.EndOffset() != 100 {
		t.Fatalf("loaded %v, log end %d, want 100", ok, l.EndOffset())
	}
	f.append(l, f.batch(5, record.BuilderOptions{}))
	for _, again := range []string{"recovered", "reopened"} {
		want := offsetsUpTo(105)
		for _, magic := range []int8{0, 1} {
			if diff := cmp.Diff(want, oldOffsets(t, l, magic)); diff != "" {
				t.Errorf("%s, as format %d (-want +got):\n%s", again, magic, diff)
			}
		}
		for at := range int64(105) {
			if raw := read(t, l, at, 100, 105, true); !holds(raw, at) {
				t.Fatalf("%s: what is read at %d does not hold it", again, at)
			}
		}
		found, ok, err := l.OffsetForTimestamp(f.now.UnixMilli()+5, 105)
		if err != nil || !ok || found.Offset != 45 {
			t.Errorf("%s: first record of that time: %+v, %v, %v, want offset 45", again, found, ok, err)
		}
		if again == "recovered" {
			l = f.reopen()
			l.SetHighWatermark(105)
		}
	}
	if _, ok := l.LatestEpoch(); !ok {
		t.Error("no leader epoch after an append")
	}
	if e, ok := l.EndOffsetForEpoch(metadata.LeaderEpoch(0)); !ok || e.EndOffset != 105 {
		t.Errorf("end of epoch 0: %+v, %v", e, ok)
	}
}

func offsetsUpTo(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// oldOffsets reads a log from its start in an old format.
func oldOffsets(t *testing.T, l *Log, magic int8) []int64 {
	t.Helper()
	var offsets []int64
	for at := int64(0); at < l.EndOffset(); {
		set, err := record.DownConvert(nil, read(t, l, at, 700, l.EndOffset(), true), magic, at, nil)
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		for r, err := range record.Messages(set, nil) {
			if err != nil {
				t.Fatalf("at %d: %v", at, err)
			}
			if r.Offset >= at {
				offsets = append(offsets, r.Offset)
				at = r.Offset + 1
			}
		}
	}
	return offsets
}

// holds tells whether an offset is inside the first batch of some bytes, or in one after it.
func holds(raw []byte, offset int64) bool {
	for len(raw) > 0 {
		b, rest, err := record.Next(raw)
		if err != nil {
			return false
		}
		if header(b).last() >= offset {
			return true
		}
		raw = rest
	}
	return false
}

func TestRecordsBefore_CutsAtTheFirstMatch(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	size := 0
	for _, c := range []record.Codec{record.None, record.Gzip, record.Zstd, record.None} {
		b := f.codecBatch(c, 10, record.BuilderOptions{})
		if c == record.None || c == record.Gzip {
			size += len(b)
		}
		f.append(l, b)
		if c == record.None && l.EndOffset() > 10 {
			size -= len(b)
		}
	}
	r, err := l.Read(0, 1<<20, 40, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	zstd := func(h record.Batch) bool { return h.Codec() == record.Zstd }
	got, err := r.Before(zstd)
	if err != nil || got.Size() != size {
		t.Errorf("%d bytes before the zstd batch, want %d, %v", got.Size(), size, err)
	}
	if got, err := r.Before(func(record.Batch) bool { return false }); err != nil || got.Size() != r.Size() {
		t.Errorf("%d of %d bytes without a match, %v", got.Size(), r.Size(), err)
	}
	if got, err := (Records{}).Before(zstd); err != nil || got.Size() != 0 {
		t.Errorf("of nothing: %d bytes, %v", got.Size(), err)
	}
	if got := r.Head(10); got.Size() != 10 || r.Head(1<<30).Size() != r.Size() {
		t.Errorf("head of 10: %d bytes", got.Size())
	}
}
