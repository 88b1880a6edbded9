package plan

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jackdaw/protocol/record"
)

func TestOffsetMap_RandomPuts_AgreeWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewOffsetMap(rapid.IntRange(48, 2000).Draw(t, "bytes"), rapid.SampledFrom([]float64{0.5, 0.9, 1}).Draw(t, "load"))
		model := map[string]int64{}
		for off := range int64(rapid.IntRange(0, 150).Draw(t, "puts")) {
			key := fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "key"))
			_, known := model[key]
			if ok := m.Put([]byte(key), off); ok {
				model[key] = off
			} else if known || m.Len() < m.limit {
				t.Fatalf("key %s refused with %d of %d", key, m.Len(), m.limit)
			}
		}
		for k := range 61 {
			want, ok := model[fmt.Sprint(k)]
			if !ok {
				want = -1
			}
			if got := m.Get(fmt.Append(nil, k)); got != want {
				t.Fatalf("key %d: %d, want %d", k, got, want)
			}
		}
	})
}

func seg(base, next, size int64) Segment {
	return Segment{Base: base, Next: next, Bytes: size, LargestTimestamp: next, FirstTimestamp: base + 1}
}

func TestCleanable_Bounds_AreKafkas(t *testing.T) {
	segments := []Segment{seg(0, 10, 100), seg(10, 20, 100), seg(20, 30, 100), seg(30, 35, 50)}
	base := Log{Settings: Settings{MaxCompactionLag: math.MaxInt64, MinCleanableRatio: 0.5}, Segments: segments, End: 35, LastStable: 35}
	for _, tc := range []struct {
		name       string
		change     func(*Log)
		now        int64
		dirty, end int64
		wanted     bool
	}{
		{"never cleaned", func(*Log) {}, 1000, 0, 30, true},
		{"cleaned to 20", func(l *Log) { l.Checkpoint, l.HasCheckpoint = 20, true }, 1000, 20, 30, false},
		{"cleaned to 10", func(l *Log) { l.Checkpoint, l.HasCheckpoint = 10, true }, 1000, 10, 30, true},
		{"checkpoint above the log", func(l *Log) { l.Checkpoint, l.HasCheckpoint = 99, true }, 1000, 0, 30, true},
		{"checkpoint below the start", func(l *Log) { l.Checkpoint, l.HasCheckpoint, l.Start = 5, true, 12 }, 1000, 12, 30, true},
		{"open transaction", func(l *Log) { l.LastStable = 15 }, 1000, 0, 15, true},
		{"young records", func(l *Log) { l.MinCompactionLag = 90 * time.Millisecond }, 110, 0, 20, true},
		{"all young", func(l *Log) { l.MinCompactionLag = time.Second }, 110, 0, 0, false},
		{"overdue", func(l *Log) {
			l.Checkpoint, l.HasCheckpoint, l.MaxCompactionLag = 20, true, 10*time.Millisecond
		}, 1000, 20, 30, true},
	} {
		l := base
		tc.change(&l)
		r := Cleanable(l, tc.now)
		if r.FirstDirty != tc.dirty || r.FirstUncleanable != tc.end || r.Wanted(l.Settings) != tc.wanted {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestChoose_Several_TakesTheDirtiest(t *testing.T) {
	mk := func(checkpoint int64) Log {
		return Log{
			Settings: Settings{MaxCompactionLag: math.MaxInt64, MinCleanableRatio: 0.1}, End: 35, LastStable: 35,
			Segments:   []Segment{seg(0, 10, 100), seg(10, 20, 100), seg(20, 30, 100), seg(30, 35, 50)},
			Checkpoint: checkpoint, HasCheckpoint: true,
		}
	}
	if i, _ := Choose([]Log{mk(20), mk(10), mk(30)}, 1000); i != 1 {
		t.Fatal(i)
	}
	if i, _ := Choose([]Log{mk(30)}, 1000); i != -1 {
		t.Fatal(i)
	}
}

func TestGroup_Segments_MergedUpToTheLimits(t *testing.T) {
	in := []Segment{seg(0, 10, 40), seg(10, 20, 40), seg(20, 30, 40), seg(30, 1<<33, 10), seg(1<<33, 1<<33+5, 10), seg(1<<33+5, 1<<33+9, 10)}
	var got [][]int64
	for _, g := range Group(in, 1<<33+5, 100, 1<<20) {
		var bases []int64
		for _, s := range g {
			bases = append(bases, s.Base)
		}
		got = append(got, bases)
	}
	if diff := cmp.Diff([][]int64{{0, 10}, {20}, {30}, {1 << 33}}, got); diff != "" {
		t.Fatal(diff)
	}
}

// kv is a record of a test batch; an empty value is a tombstone.
type kv struct{ k, v string }

func batch(base int64, o record.BuilderOptions, kvs ...kv) record.Batch {
	o.BaseOffset = base
	b := record.NewBuilder(record.None, o)
	for i, r := range kvs {
		var key, value []byte
		if r.k != "" {
			key = []byte(r.k)
		}
		if r.v != "" {
			value = []byte(r.v)
		}
		b.Append(1000+int64(i), key, value, []record.Header{{Key: "h", Value: []byte("x")}})
	}
	return b.Build()
}

// filtered collects the keys of all batches, filters them at a time, and describes what stays.
func filtered(t *testing.T, now int64, aborted []Aborted, producers map[int64]LastRecord, in ...record.Batch) (text []string, out []record.Batch) {
	t.Helper()
	var ws record.Workspace
	c := Collector{Map: NewOffsetMap(1<<16, 0.9), Txns: NewTransactions(), Workspace: &ws}
	c.Txns.Add(aborted...)
	for _, b := range in {
		if full, err := c.Add(b); full || err != nil {
			t.Fatal(full, err)
		}
	}
	f := Filter{Map: c.Map, Txns: NewTransactions(), Producers: producers, NowMs: now, DeleteRetentionMs: 100, Workspace: &ws}
	f.Txns.Add(aborted...)
	for _, b := range in {
		o, _, err := f.Batch(b)
		if err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		o = append(record.Batch(nil), o...)
		if !o.CheckCRC() || o.BaseOffset() != b.BaseOffset() || o.LastOffset() != b.LastOffset() || o.LastSequence() != b.LastSequence() {
			t.Fatalf("batch %d to %d became %d to %d", b.BaseOffset(), b.LastOffset(), o.BaseOffset(), o.LastOffset())
		}
		out = append(out, o)
		s := fmt.Sprintf("%d:", o.BaseOffset())
		for r, err := range o.Records(nil) {
			if err != nil {
				t.Fatal(err)
			}
			if o.IsControl() {
				s += " marker"
				continue
			}
			s += fmt.Sprintf(" %s=%s@%d", r.Key, r.Value, o.BaseTimestamp()+r.TimestampDelta)
		}
		text = append(text, s)
	}
	return text, out
}

func TestFilter_SupersededAndKeyless_Go(t *testing.T) {
	got, _ := filtered(t, 0, nil, nil,
		batch(0, record.BuilderOptions{}, kv{"a", "1"}, kv{"b", "1"}, kv{"", "keyless"}),
		batch(3, record.BuilderOptions{}, kv{"a", "2"}),
		batch(4, record.BuilderOptions{}, kv{"a", "3"}, kv{"c", "1"}),
	)
	if diff := cmp.Diff([]string{"0: b=1@1001", "4: a=3@1000 c=1@1001"}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestFilter_Tombstones_StayUntilTheirHorizon(t *testing.T) {
	in := batch(0, record.BuilderOptions{}, kv{"a", "1"}, kv{"a", ""}, kv{"b", "1"})
	got, out := filtered(t, 5000, nil, nil, in)
	want := []string{"0: a=@1001 b=1@1002"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if ms, ok := out[0].DeleteHorizon(); !ok || ms != 5100 {
		t.Fatal(ms, ok)
	}
	got, again := filtered(t, 5099, nil, nil, out[0])
	if diff := cmp.Diff(want, got); diff != "" || !bytes.Equal(again[0], out[0]) {
		t.Fatal("before the horizon", diff)
	}
	if got, _ = filtered(t, 5100, nil, nil, out[0]); !cmp.Equal(got, []string{"0: b=1@1002"}) {
		t.Fatal("at the horizon", got)
	}
}

func marker(base, id int64, kind record.MarkerType) record.Batch {
	b := record.Batch(record.EndTxnMarker(kind, id, 0, 0, 2000))
	b.SetBaseOffset(base)
	return b
}

func txn(id int64, seq int32) record.BuilderOptions {
	return record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: id, BaseSequence: seq}}
}

func TestFilter_Transactions_MarkersOutliveTheirData(t *testing.T) {
	in := []record.Batch{
		batch(0, record.BuilderOptions{}, kv{"a", "old"}),
		batch(1, txn(1, 0), kv{"a", "aborted"}),
		marker(2, 1, record.Abort),
		batch(3, txn(2, 0), kv{"b", "committed"}),
		marker(4, 2, record.Commit),
		batch(5, txn(3, 0), kv{"c", "superseded"}),
		marker(6, 3, record.Commit),
		batch(7, record.BuilderOptions{}, kv{"c", "new"}),
	}
	aborted := []Aborted{{1, 1, 2, 3}}
	got, out := filtered(t, 5000, aborted, nil, in...)
	want := []string{"0: a=old@1000", "2: marker", "3: b=committed@1000", "4: marker", "6: marker", "7: c=new@1000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal("first pass: the data goes, the markers stay", diff)
	}
	// In the second pass nothing is left of the first and the third transaction, so their markers get a horizon.
	got, out = filtered(t, 5000, aborted, nil, out...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal("second pass", diff)
	}
	for _, b := range out {
		_, ok := b.DeleteHorizon()
		if want := b.BaseOffset() == 2 || b.BaseOffset() == 6; ok != want {
			t.Errorf("batch %d has a horizon: %v", b.BaseOffset(), ok)
		}
	}
	got, _ = filtered(t, 5100, aborted, nil, out...)
	if diff := cmp.Diff([]string{"0: a=old@1000", "3: b=committed@1000", "4: marker", "7: c=new@1000"}, got); diff != "" {
		t.Fatal("third pass", diff)
	}
}

func TestFilter_LastBatchOfAProducer_StaysEmpty(t *testing.T) {
	o := func(seq int32) record.BuilderOptions {
		return record.BuilderOptions{Producer: &record.Producer{ID: 9, Epoch: 3, BaseSequence: seq}}
	}
	got, out := filtered(t, 0, nil, map[int64]LastRecord{9: {DataOffset: 2, Epoch: 3}},
		batch(0, o(0), kv{"a", "1"}), batch(1, o(1), kv{"a", "2"}, kv{"a", "3"}), batch(3, record.BuilderOptions{}, kv{"a", "4"}))
	if diff := cmp.Diff([]string{"1:", "3: a=4@1000"}, got); diff != "" {
		t.Fatal(diff)
	}
	if b := out[0]; b.Count() != 0 || len(b) != record.HeaderSize || b.ProducerEpoch() != 3 || b.LastSequence() != 2 {
		t.Fatalf("%+v", b)
	}
}

// The empty batches of Kafka's cleaner pass through unchanged, and an empty batch is made as Kafka makes it.
func TestFilter_EmptyBatchesOfKafka_SameBytes(t *testing.T) {
	file, err := os.ReadFile("../../testdata/kafka/datadir/compact-0/00000000000000000000.log")
	if err != nil {
		t.Fatal(err)
	}
	var ws record.Workspace
	for len(file) > 0 {
		b, rest, err := record.Next(file)
		if err != nil {
			t.Fatal(err)
		}
		f := Filter{Map: NewOffsetMap(100, 0.9), Txns: NewTransactions(), Workspace: &ws, Producers: map[int64]LastRecord{b.ProducerID(): {DataOffset: b.LastOffset()}}}
		out, _, err := f.Batch(b)
		if err != nil || !bytes.Equal(out, b) {
			t.Fatalf("batch %d: %x became %x, %v", b.BaseOffset(), b, out, err)
		}
		file = rest
	}
}

func TestCollector_MapFull_EndsBeforeTheBatch(t *testing.T) {
	c := Collector{Map: NewOffsetMap(slotSize*4, 0.9), Txns: NewTransactions(), Workspace: new(record.Workspace)}
	for i, want := range []bool{false, true} {
		full, err := c.Add(batch(int64(i*2), record.BuilderOptions{}, kv{fmt.Sprint("x", i), "1"}, kv{fmt.Sprint("y", i), "1"}))
		if err != nil || full != want {
			t.Fatal(i, full, err)
		}
	}
	if c.Map.Latest() != 1 {
		t.Fatal(c.Map.Latest())
	}
}
