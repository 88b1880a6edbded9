package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goldenTime = int64(1700000000000)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// batches splits p and fails the test where that is not possible.
func batches(t testing.TB, p []byte) []Batch {
	t.Helper()
	var all []Batch
	for len(p) > 0 {
		b, rest, err := Next(p)
		if err != nil {
			t.Fatalf("batch %d: %v", len(all), err)
		}
		all, p = append(all, b), rest
	}
	return all
}

type goldenRecord struct {
	ts         int64
	key, value []byte
	headers    []Header
}

// goldenRecordAt is record i of testdata/Golden.java.
func goldenRecordAt(i, magic int) goldenRecord {
	r := goldenRecord{ts: goldenTime + int64(i)*7, key: fmt.Appendf(nil, "key-%d", i)}
	r.value = []byte("value " + strings.Repeat("abcdefgh", i*5))
	if magic == 0 {
		r.ts = NoTimestamp
	}
	if i%5 == 3 {
		r.key = nil
	}
	if i%5 == 4 {
		r.value = nil
	}
	if magic == 2 && i%2 == 1 {
		r.headers = []Header{{Key: fmt.Sprintf("h%d", i), Value: []byte{1, 2, byte(i)}}, {Key: ""}}
	}
	return r
}

func (g goldenRecord) check(t *testing.T, i int, ts int64, key, value []byte, headers []Header) {
	t.Helper()
	if ts != g.ts {
		t.Errorf("record %d: timestamp %d, want %d", i, ts, g.ts)
	}
	if !bytes.Equal(key, g.key) || (key == nil) != (g.key == nil) {
		t.Errorf("record %d: key %q, want %q", i, key, g.key)
	}
	if !bytes.Equal(value, g.value) || (value == nil) != (g.value == nil) {
		t.Errorf("record %d: value of %d bytes, want %d", i, len(value), len(g.value))
	}
	if fmt.Sprint(headers) != fmt.Sprint(g.headers) {
		t.Errorf("record %d: headers %v, want %v", i, headers, g.headers)
	}
}

func TestRecords_JavaBatches_ReadAsWritten(t *testing.T) {
	ws := new(Workspace)
	for range 2 { // twice, so that the workspace is reused
		for c := None; c <= Zstd; c++ {
			t.Run(c.String(), func(t *testing.T) {
				b := batches(t, golden(t, "java-v2-"+c.String()+".bin"))[0]
				if b.Codec() != c || b.BaseOffset() != 100 || b.LastOffset() != 149 || b.Count() != 50 || !b.CheckCRC() {
					t.Fatalf("header: codec %v offsets %d-%d count %d", b.Codec(), b.BaseOffset(), b.LastOffset(), b.Count())
				}
				i := 0
				for r, err := range b.Records(ws) {
					if err != nil {
						t.Fatal(err)
					}
					if int(r.OffsetDelta) != i {
						t.Fatalf("offset delta %d, want %d", r.OffsetDelta, i)
					}
					goldenRecordAt(i, 2).check(t, i, b.BaseTimestamp()+r.TimestampDelta, r.Key, r.Value, r.Headers)
					i++
				}
				if i != 50 {
					t.Fatalf("%d records, want 50", i)
				}
			})
		}
	}
}

func TestValidate_JavaBatches_Valid(t *testing.T) {
	plain, err := Validate(Batch(golden(t, "java-v2-none.bin")), ValidateOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plain.MaxTimestamp != goldenTime+49*7 || plain.MaxTimestampDelta != 49 {
		t.Errorf("max timestamp %d at %d", plain.MaxTimestamp, plain.MaxTimestampDelta)
	}
	ws := new(Workspace)
	for c := Gzip; c <= Zstd; c++ {
		s, err := Validate(Batch(golden(t, "java-v2-"+c.String()+".bin")), ValidateOptions{}, ws)
		if err != nil || s != plain {
			t.Errorf("%v: %+v %v, want %+v", c, s, err, plain)
		}
	}
}

func TestBuilder_JavaBatches_SameBytes(t *testing.T) {
	b := NewBuilder(None, BuilderOptions{BaseOffset: 100, LeaderEpoch: -1})
	for i := range 50 {
		r := goldenRecordAt(i, 2)
		b.Append(r.ts, r.key, r.value, r.headers)
	}
	want := golden(t, "java-v2-none.bin")
	if b.Size() != len(want) {
		t.Errorf("size %d, want %d", b.Size(), len(want))
	}
	if got := b.Build(); !bytes.Equal(got, want) {
		t.Errorf("differs from Kafka's at byte %d", firstDifference(got, want))
	}
	b.Reset(BuilderOptions{BaseOffset: 100, LeaderEpoch: -1, TimestampType: LogAppendTime})
	for i := range 3 {
		r := goldenRecordAt(i, 2)
		b.Append(r.ts, r.key, r.value, r.headers)
	}
	got := Batch(b.Build())
	want = golden(t, "java-v2-none-append.bin")
	got.SetLogAppendTime(Batch(want).MaxTimestamp())
	if got.Count() != 3 || got.TimestampType() != LogAppendTime || !got.CheckCRC() {
		t.Errorf("log append time batch: count %d type %d", got.Count(), got.TimestampType())
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestEndTxnMarker_JavaMarker_SameBytes(t *testing.T) {
	want := golden(t, "java-marker.bin")
	got := Batch(EndTxnMarker(Commit, 4000, 3, 12, goldenTime))
	got.SetBaseOffset(7)
	got.SetLeaderEpoch(-1)
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", []byte(got), want)
	}
	outcome, epoch, ok := ParseMarker(want)
	if outcome != Commit || epoch != 12 || !ok {
		t.Errorf("parsed %v %d %v", outcome, epoch, ok)
	}
}

func TestNext_Segments_OffsetsGoOn(t *testing.T) {
	for name, want := range map[string]struct {
		batches int
		end     int64
		markers int
	}{
		"codecs.log":           {6, 22, 0},
		"txn.log":              {0, 24, 4},
		"compact.log":          {0, 64, 0},
		"consumer_offsets.log": {3, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			markers, next := 0, int64(0)
			all := batches(t, golden(t, name))
			for _, b := range all {
				if b.BaseOffset() < next || !b.CheckCRC() || b.Size() != int(b.Length())+LogOverhead {
					t.Fatalf("batch at %d after %d: crc %v", b.BaseOffset(), next, b.CheckCRC())
				}
				if _, _, ok := ParseMarker(b); ok {
					markers++
				}
				n := int32(0)
				for _, err := range b.Records(nil) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n != b.Count() {
					t.Fatalf("%d records, want %d", n, b.Count())
				}
				next = b.NextOffset()
			}
			if next != want.end || markers != want.markers || (want.batches > 0 && len(all) != want.batches) {
				t.Errorf("end %d, markers %d, batches %d; want %+v", next, markers, len(all), want)
			}
		})
	}
}
