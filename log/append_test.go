package log

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestAppendAsLeader_Batches_GetConsecutiveOffsets(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	for i := range 5 {
		info := f.append(l, f.batch(10, record.BuilderOptions{}))
		if info.FirstOffset != int64(i*10) || info.LastOffset != int64(i*10+9) || info.NumRecords != 10 || info.LogAppendTime != -1 {
			t.Fatalf("append %d: %+v", i, info)
		}
	}
	if got := readAll(t, l); !slices.Equal(got, []int64{0, 10, 20, 30, 40}) {
		t.Fatalf("read %v", got)
	}
	if e, ok := l.LatestEpoch(); !ok || e != 0 {
		t.Fatalf("epoch %d %v", e, ok)
	}
}

func TestAppendAsLeader_BadBatches_RefusedWithTheirCode(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.MaxMessageBytes = 1000; c.SegmentBytes = 900 })
	f.cfg.Compact = false
	l := f.log()
	good := func() record.Batch { return f.batch(3, record.BuilderOptions{}) }
	crc := func(b record.Batch) record.Batch { b[30] ^= 1; return b }
	keyless := record.NewBuilder(record.None, record.BuilderOptions{})
	keyless.Append(1, nil, []byte("v"), nil)
	tests := []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, kerr.InvalidRecord},
		{"two batches", slices.Concat([]byte(good()), []byte(good())), kerr.InvalidRecord},
		{"length past the end", good()[:80], kerr.InvalidRecord},
		{"wrong checksum", crc(good()), kerr.CorruptMessage},
		{"control batch", record.EndTxnMarker(record.Commit, 1, 0, 0, 5), kerr.InvalidRecord},
		{"larger than max.message.bytes", f.batch(80, record.BuilderOptions{}), kerr.MessageTooLarge},
		{"larger than a segment", f.batch(50, record.BuilderOptions{}), kerr.RecordListTooLarge},
		{"LogAppendTime of a client", f.batch(1, record.BuilderOptions{TimestampType: record.LogAppendTime}), kerr.InvalidTimestamp},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := l.AppendAsLeader(tc.in, 0, AppendOptions{})
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if l.EndOffset() != 0 || l.Size() != 0 {
				t.Fatalf("appended: end %d size %d", l.EndOffset(), l.Size())
			}
		})
	}
}

func TestAppendAsLeader_KeylessToCompacted_NamesTheRecord(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.Compact, c.Delete = true, false })
	b := record.NewBuilder(record.None, record.BuilderOptions{})
	b.Append(1, []byte("k"), []byte("v"), nil)
	b.Append(1, nil, []byte("v"), nil)
	info, err := f.log().AppendAsLeader(b.Build(), 0, AppendOptions{})
	if !errors.Is(err, kerr.InvalidRecord) {
		t.Fatalf("got %v", err)
	}
	if len(info.RecordErrors) != 1 || info.RecordErrors[0].Index != 1 {
		t.Fatalf("record errors %+v", info.RecordErrors)
	}
}

func TestAppendAsLeader_TimestampOutOfRange_Refused(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.TimestampBefore, c.TimestampAfter = time.Hour, time.Hour })
	l := f.log()
	for _, tc := range []struct {
		ts   int64
		want error
	}{
		{f.now.Add(2 * time.Hour).UnixMilli(), kerr.InvalidTimestamp},
		{f.now.Add(-2 * time.Hour).UnixMilli(), kerr.InvalidTimestamp},
		{f.now.UnixMilli(), nil},
		{-1, nil},
	} {
		b := record.NewBuilder(record.None, record.BuilderOptions{})
		b.Append(tc.ts, []byte("k"), nil, nil)
		if _, err := l.AppendAsLeader(b.Build(), 0, AppendOptions{}); !errors.Is(err, tc.want) {
			t.Errorf("ts %d: got %v, want %v", tc.ts, err, tc.want)
		}
	}
}

func TestAppendAsLeader_LogAppendTime_StampsBatchAndAnswer(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.TimestampType = LogAppendTime })
	l := f.log()
	for _, codec := range []record.Codec{record.None, record.Gzip} {
		b := f.codecBatch(codec, 3, record.BuilderOptions{})
		f.now = f.now.Add(time.Minute)
		info := f.append(l, b)
		if info.LogAppendTime != f.now.UnixMilli() {
			t.Fatalf("%s: append time %d", codec, info.LogAppendTime)
		}
		stored := record.Batch(read(t, l, info.FirstOffset, 1<<20, l.EndOffset(), true))
		if stored.TimestampType() != record.LogAppendTime || stored.MaxTimestamp() != info.LogAppendTime || !stored.CheckCRC() {
			t.Fatalf("%s: stored type %d time %d", codec, stored.TimestampType(), stored.MaxTimestamp())
		}
	}
}

func TestAppendAsLeader_OtherCompressionType_Recompressed(t *testing.T) {
	for _, to := range []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.CompressionType = to })
		l := f.log()
		for from := record.None; from <= record.Zstd; from++ {
			info := f.append(l, f.codecBatch(from, 20, record.BuilderOptions{}))
			stored := record.Batch(read(t, l, info.FirstOffset, 1<<20, l.EndOffset(), true))
			want, _ := record.ParseCodec(to)
			if stored.Codec() != want {
				t.Fatalf("%s to %s: stored %s", from, to, stored.Codec())
			}
			n := 0
			for r, err := range stored.Records(nil) {
				if err != nil || string(r.Key) == "" {
					t.Fatalf("%s to %s: record %d: %v", from, to, n, err)
				}
				n++
			}
			if n != 20 || !stored.CheckCRC() {
				t.Fatalf("%s to %s: %d records", from, to, n)
			}
		}
	}
}

func TestAppendAsLeader_RecompressedTooLarge_Refused(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), func(c *Config) { c.MaxMessageBytes = 10000; c.CompressionType = "uncompressed" })
	b := record.NewBuilder(record.Gzip, record.BuilderOptions{})
	b.Append(1, []byte("k"), make([]byte, 200_000), nil)
	if _, err := f.log().AppendAsLeader(b.Build(), 0, AppendOptions{}); !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatalf("got %v", err)
	}
}

func TestAppendAsLeader_Idempotent_FollowsKafkasRules(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	one := func(epoch int16, seq int32) []byte {
		return f.batch(1, record.BuilderOptions{Producer: &record.Producer{ID: 7, Epoch: epoch, BaseSequence: seq}})
	}
	try := func(epoch int16, seq int32) (AppendInfo, error) {
		return l.AppendAsLeader(one(epoch, seq), 0, AppendOptions{})
	}
	for seq := range int32(10) {
		f.append(l, one(0, seq))
	}
	for _, seq := range []int32{9, 7, 5} {
		info, err := try(0, seq)
		if err != nil || !info.Duplicate || info.FirstOffset != int64(seq) || info.LastOffset != int64(seq) {
			t.Fatalf("resend %d: %+v %v", seq, info, err)
		}
	}
	for _, seq := range []int32{4, 12} {
		if _, err := try(0, seq); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
			t.Fatalf("seq %d: %v", seq, err)
		}
	}
	if _, err := try(1, 5); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
		t.Fatalf("new epoch, seq 5: %v", err)
	}
	if _, err := try(1, 0); err != nil {
		t.Fatalf("new epoch, seq 0: %v", err)
	}
	if _, err := try(0, 10); !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Fatalf("old epoch: %v", err)
	}
	if l.EndOffset() != 11 {
		t.Fatalf("end %d", l.EndOffset())
	}
	l = f.reopen()
	l.SetHighWatermark(l.EndOffset())
	if info, err := try(1, 0); err != nil || !info.Duplicate || info.FirstOffset != 10 {
		t.Fatalf("resend after restart: %+v %v", info, err)
	}
	f.now = f.now.Add(25 * time.Hour)
	l.expireProducers()
	if _, err := try(1, 77); err != nil {
		t.Fatalf("after expiry: %v", err)
	}
}

func TestAppendAsFollower_Batches_KeepOffsetsAndEpochs(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	b := slices.Concat(
		f.batch(2, record.BuilderOptions{BaseOffset: 0, LeaderEpoch: 1}),
		f.batch(3, record.BuilderOptions{BaseOffset: 2, LeaderEpoch: 4}),
		f.batch(1, record.BuilderOptions{BaseOffset: 9, LeaderEpoch: 4})[:70], // cut off
	)
	info, err := l.AppendAsFollower(b)
	if err != nil || info.FirstOffset != 0 || info.LastOffset != 4 {
		t.Fatalf("%+v %v", info, err)
	}
	if end, ok := l.EndOffsetForEpoch(1); !ok || end != (EpochEnd{1, 2}) {
		t.Fatalf("epoch 1 ends %+v %v", end, ok)
	}
	if end, ok := l.EndOffsetForEpoch(3); !ok || end != (EpochEnd{1, 2}) {
		t.Fatalf("epoch 3 ends %+v %v", end, ok)
	}
	if end, ok := l.EndOffsetForEpoch(4); !ok || end != (EpochEnd{4, 5}) {
		t.Fatalf("epoch 4 ends %+v %v", end, ok)
	}
	if _, ok := l.EndOffsetForEpoch(5); ok {
		t.Fatal("epoch 5 is known")
	}
	var order *OffsetsOutOfOrderError
	if _, err := l.AppendAsFollower(f.batch(2, record.BuilderOptions{BaseOffset: 3, LeaderEpoch: 4})); !errors.As(err, &order) {
		t.Fatalf("overlap: %v", err)
	}
	bad := f.batch(2, record.BuilderOptions{BaseOffset: 5, LeaderEpoch: 4})
	bad[len(bad)-1] ^= 1
	if _, err := l.AppendAsFollower(bad); !errors.Is(err, kerr.CorruptMessage) {
		t.Fatalf("bad checksum: %v", err)
	}
}

func TestAppendAsFollower_StartInsideFirstBatch_BeginsWithTheBatch(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	if err := l.TruncateFullyAndStartAt(5); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendAsFollower(f.batch(10, record.BuilderOptions{})); err != nil {
		t.Fatal(err)
	}
	if l.StartOffset() != 5 || l.EndOffset() != 10 {
		t.Fatalf("log is %d to %d", l.StartOffset(), l.EndOffset())
	}
	if got := bases(t, read(t, l, 5, 1<<20, 10, true)); !slices.Equal(got, []int64{0}) {
		t.Fatalf("read %v", got)
	}
}

func TestAppend_Transactions_MoveTheLastStableOffset(t *testing.T) {
	f := newFixture(t, vfs.NewMem(nil), nil)
	l := f.log()
	txn := func(id int64, seq int32) []byte {
		return f.batch(1, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: id, BaseSequence: seq}})
	}
	marker := func(id int64, kind record.MarkerType, coordinator int32) error {
		_, err := l.AppendAsLeader(record.EndTxnMarker(kind, id, 0, coordinator, f.now.UnixMilli()), 0, AppendOptions{Origin: Coordinator})
		return err
	}
	f.append(l, f.batch(2, record.BuilderOptions{})) // 0, 1
	f.append(l, txn(1, 0))                           // 2
	f.append(l, txn(2, 0))                           // 3
	f.append(l, f.batch(1, record.BuilderOptions{})) // 4
	if lso := l.LastStableOffset(); lso != 2 {
		t.Fatalf("two open: lso %d", lso)
	}
	if _, err := l.AppendAsLeader(f.batch(1, record.BuilderOptions{Producer: &record.Producer{ID: 1, BaseSequence: 1}}), 0, AppendOptions{}); !errors.Is(err, kerr.InvalidTxnState) {
		t.Fatalf("plain batch in a transaction: %v", err)
	}
	if err := marker(1, record.Abort, 3); err != nil { // 5
		t.Fatal(err)
	}
	if lso := l.LastStableOffset(); lso != 2 {
		t.Fatalf("marker above the high watermark: lso %d", lso)
	}
	l.SetHighWatermark(6)
	if lso := l.LastStableOffset(); lso != 3 {
		t.Fatalf("one open: lso %d", lso)
	}
	if err := marker(1, record.Abort, 2); !errors.Is(err, kerr.TransactionCoordinatorFenced) {
		t.Fatalf("marker of an old coordinator: %v", err)
	}
	if err := marker(2, record.Commit, 3); err != nil { // 6
		t.Fatal(err)
	}
	l.SetHighWatermark(7)
	want := []AbortedTxn{{ProducerID: 1, FirstOffset: 2}}
	for range 2 {
		if lso := l.LastStableOffset(); lso != 7 {
			t.Fatalf("none open: lso %d", lso)
		}
		if diff := cmp.Diff(want, aborted(t, l, 0, 7)); diff != "" {
			t.Fatal(diff)
		}
		if got := aborted(t, l, 6, 7); len(got) != 0 {
			t.Fatalf("after the marker: %v", got)
		}
		l = f.reopen()
		l.SetHighWatermark(7)
	}
}

func TestAppendAsLeader_Allocs_NonePerBatch(t *testing.T) {
	dir := t.TempDir()
	m := NewManager(Options{Dirs: []string{dir}})
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.Close(t.Context())
	l, err := m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, now: testStart}
	pristine := f.batch(100, record.BuilderOptions{Producer: &record.Producer{ID: 1}})
	b := make(record.Batch, len(pristine))
	seq := int32(0)
	n := testing.AllocsPerRun(2000, func() {
		copy(b, pristine)
		b[56] = byte(seq) // base sequence, rewritten through the record package's checksum below
		b[55], b[54], b[53] = byte(seq>>8), byte(seq>>16), byte(seq>>24)
		b.SetMaxTimestamp(record.LogAppendTime, 1)
		b.SetMaxTimestamp(record.CreateTime, pristine2max(pristine))
		if _, err := l.AppendAsLeader(b, 0, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		seq += 100
	})
	if n != 0 {
		t.Fatalf("%.1f allocations per append", n)
	}
}

func pristine2max(b record.Batch) int64 { return b.MaxTimestamp() }

func BenchmarkAppendAsLeader(b *testing.B) {
	m := NewManager(Options{Dirs: []string{b.TempDir()}})
	if err := m.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer m.Close(b.Context())
	l, err := m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		b.Fatal(err)
	}
	bl := record.NewBuilder(record.None, record.BuilderOptions{})
	for range 100 {
		bl.Append(1, []byte("key"), make([]byte, 100), nil)
	}
	pristine := bl.Build()
	buf := make([]byte, len(pristine))
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		copy(buf, pristine)
		if _, err := l.AppendAsLeader(buf, 0, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
