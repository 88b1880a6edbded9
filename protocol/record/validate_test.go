package record

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// threeRecords is a valid batch of three records from a client.
func threeRecords(c Codec, o BuilderOptions) Batch {
	b := NewBuilder(c, o)
	for i := range 3 {
		b.Append(goldenTime+int64(i), []byte("key"), []byte("value"), []Header{{Key: "h", Value: []byte("x")}})
	}
	return b.Build()
}

// raw is a batch with this header and these record bytes as they are.
func raw(count int32, codec Codec, body []byte) Batch {
	b := Batch(append(make([]byte, HeaderSize), body...))
	NewBuilder(codec, BuilderOptions{}).header(b)
	binary.BigEndian.PutUint32(b[posCount:], uint32(count))
	binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(count-1))
	b.updateCRC()
	return b
}

func TestValidate_Faults_Refused(t *testing.T) {
	patch := func(f func(b Batch)) Batch {
		b := threeRecords(None, BuilderOptions{})
		f(b)
		b.updateCRC()
		return b
	}
	body := threeRecords(None, BuilderOptions{}).RecordBytes()
	for _, tc := range []struct {
		name string
		b    Batch
		want *kerr.Error
	}{
		{"wrong checksum", func() Batch { b := threeRecords(None, BuilderOptions{}); b[70] ^= 1; return b }(), kerr.CorruptMessage},
		{"no records", patch(func(b Batch) { binary.BigEndian.PutUint32(b[posCount:], 0) }), kerr.InvalidRecord},
		{"negative count", patch(func(b Batch) { binary.BigEndian.PutUint32(b[posCount:], 1<<31) }), kerr.InvalidRecord},
		{"count above the offsets", patch(func(b Batch) { binary.BigEndian.PutUint32(b[posLastOffsetDelta:], 1) }), kerr.InvalidRecord},
		{"negative last offset delta", patch(func(b Batch) { binary.BigEndian.PutUint32(b[posLastOffsetDelta:], 1<<32-1) }), kerr.InvalidRecord},
		{"base offset", patch(func(b Batch) { b.SetBaseOffset(77) }), kerr.InvalidRecord},
		{"control bit", patch(func(b Batch) { b[posAttributes+1] |= attrControl }), kerr.InvalidRecord},
		{"producer without sequence", patch(func(b Batch) { binary.BigEndian.PutUint64(b[posProducerID:], 7) }), kerr.InvalidRecord},
		{"transactional without producer", patch(func(b Batch) { b[posAttributes+1] |= attrTransactional }), kerr.InvalidRecord},
		{"codec 7", patch(func(b Batch) { b[posAttributes+1] |= 7 }), kerr.UnsupportedCompressionType},
		{"two of three records", raw(3, None, body[:len(body)/3*2]), kerr.InvalidRecord},
		{"a record too many", raw(2, None, body), kerr.InvalidRecord},
		{"rubbish as gzip", raw(3, Gzip, body), kerr.InvalidRecord},
		{"rubbish as snappy", raw(3, Snappy, body), kerr.InvalidRecord},
		{"rubbish as lz4", raw(3, LZ4, body), kerr.InvalidRecord},
		{"lz4 with blocks that depend on each other", func() Batch {
			b := threeRecords(LZ4, BuilderOptions{})
			frame := b.RecordBytes()
			frame[4] &^= lz4Independent
			copy(frame, mendLZ4(frame))
			b.updateCRC()
			return b
		}(), kerr.InvalidRecord},
		{"rubbish as zstd", raw(3, Zstd, body), kerr.InvalidRecord},
		{"nothing as zstd", raw(3, Zstd, nil), kerr.InvalidRecord},
		{"offset deltas with a hole", func() Batch {
			b := NewBuilder(None, BuilderOptions{})
			b.AppendAt(1, 1, nil, nil, nil)
			p := Batch(b.Build())
			binary.BigEndian.PutUint32(p[posLastOffsetDelta:], 0)
			p.updateCRC()
			return p
		}(), kerr.InvalidRecord},
		{"negative record length", raw(1, None, []byte{1, 0, 0, 0, 1, 1, 0}), kerr.InvalidRecord},
		{"key length past the record", raw(1, None, []byte{12, 0, 0, 0, 100, 1, 0}), kerr.InvalidRecord},
		{"key length -2", raw(1, None, []byte{12, 0, 0, 0, 3, 1, 0}), kerr.InvalidRecord},
		{"a million headers", raw(1, None, []byte{16, 0, 0, 0, 1, 1, 0x80, 0x89, 0x7a}), kerr.InvalidRecord},
		{"varint of six bytes", raw(1, None, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), kerr.InvalidRecord},
		{"record length above its content", raw(1, None, []byte{14, 0, 0, 0, 1, 1, 0, 0}), kerr.InvalidRecord},
		{"null header key", raw(1, None, []byte{16, 0, 0, 0, 1, 1, 2, 1, 1}), kerr.InvalidRecord},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Validate(tc.b, ValidateOptions{Client: true}, nil)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestValidate_EveryCodec_Accepted(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		p := &Producer{ID: 1, Epoch: 2, BaseSequence: 1<<31 - 2}
		b := threeRecords(c, BuilderOptions{Producer: p})
		if _, err := Validate(b, ValidateOptions{Client: true, RequireKeys: true}, nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		if b.LastSequence() != 0 {
			t.Errorf("sequence wraps to %d, want 0", b.LastSequence())
		}
	}
}

func TestValidate_KeylessInCompacted_NamesRecords(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		b := NewBuilder(c, BuilderOptions{})
		b.Append(1, []byte("k"), nil, nil)
		b.Append(1, nil, []byte("v"), nil)
		_, err := Validate(b.Build(), ValidateOptions{RequireKeys: true, Partition: "c-0"}, nil)
		var ve *ValidationError
		if !errors.As(err, &ve) || !errors.Is(err, kerr.InvalidRecord) {
			t.Fatalf("%v: got %v", c, err)
		}
		const each = "Compacted topic cannot accept message without key in topic partition c-0"
		const whole = "One or more records have been rejected due to 1 record errors in total, and only showing the first three errors at most: " +
			"[RecordError(batchIndex=1, message='" + each + "')]"
		if len(ve.Records) != 1 || ve.Records[0] != (RecordError{1, each}) || ve.Message != whole {
			t.Errorf("%v: got %+v", c, ve)
		}
	}
}

func TestValidate_TimestampOutOfRange_InvalidTimestamp(t *testing.T) {
	o := ValidateOptions{CheckTimestamps: true, MinTimestamp: 1000, MaxTimestamp: 2000}
	for ts, good := range map[int64]bool{-1: true, 999: false, 1000: true, 2000: true, 2001: false} {
		b := NewBuilder(None, BuilderOptions{})
		b.Append(ts, nil, nil, nil)
		_, err := Validate(b.Build(), o, nil)
		if good != (err == nil) || (!good && !errors.Is(err, kerr.InvalidTimestamp)) {
			t.Errorf("timestamp %d: %v", ts, err)
		}
	}
}

func TestValidate_Bomb_StopsAtLimit(t *testing.T) {
	for c := Gzip; c <= Zstd; c++ {
		b := NewBuilder(c, BuilderOptions{})
		b.Append(1, nil, make([]byte, 8<<20), nil)
		_, err := Validate(b.Build(), ValidateOptions{MaxUncompressed: 1 << 20}, nil)
		if err == nil || !strings.Contains(err.Error(), "unfold to more") && !strings.Contains(err.Error(), "snappy") {
			t.Errorf("%v: got %v", c, err)
		}
	}
}

func TestBatch_SetMaxTimestamp_KeepsChecksum(t *testing.T) {
	b := threeRecords(None, BuilderOptions{})
	b.SetBaseOffset(1 << 40)
	b.SetLeaderEpoch(9)
	if !b.CheckCRC() || b.BaseOffset() != 1<<40 || b.LeaderEpoch() != 9 || b.NextOffset() != 1<<40+3 {
		t.Error("offset and epoch are outside the checksum")
	}
	b.SetLogAppendTime(5)
	if !b.CheckCRC() || b.TimestampType() != LogAppendTime || b.MaxTimestamp() != 5 {
		t.Error("log append time")
	}
	b.SetMaxTimestamp(CreateTime, 6)
	if !b.CheckCRC() || b.TimestampType() != CreateTime || b.MaxTimestamp() != 6 {
		t.Error("create time")
	}
}

func TestNext_NotABatch_Told(t *testing.T) {
	whole := threeRecords(None, BuilderOptions{})
	for i := range whole {
		if _, _, err := Next(whole[:i]); !errors.Is(err, ErrShort) {
			t.Fatalf("%d bytes: %v, want ErrShort", i, err)
		}
	}
	for name, f := range map[string]func(Batch){
		"magic 3":         func(b Batch) { b[posMagic] = 3 },
		"negative length": func(b Batch) { b[posLength] = 0xff },
		"length 48":       func(b Batch) { binary.BigEndian.PutUint32(b[posLength:], 48) },
		"zeros":           func(b Batch) { clear(b) },
	} {
		b := threeRecords(None, BuilderOptions{})
		f(b)
		var ce *CorruptError
		if _, _, err := Next(b); !errors.As(err, &ce) || !errors.Is(err, kerr.CorruptMessage) {
			t.Errorf("%s: %v, want a CorruptError", name, err)
		}
	}
}

func TestCompress_EveryLevel_RoundTrips(t *testing.T) {
	ws := new(Workspace)
	in := golden(t, "java-v2-none.bin")
	levels := map[Codec][]int{
		None: {0}, Snappy: {0}, Gzip: {DefaultLevel, -1, 1, 9}, LZ4: {DefaultLevel, 1, 8, 9, 10, 17}, Zstd: {DefaultLevel, -131072, 1, 3, 22},
	}
	for c, ls := range levels {
		for _, level := range ls {
			z, err := ws.Compress(nil, c, level, in)
			if err != nil {
				t.Fatalf("%v level %d: %v", c, level, err)
			}
			out, err := ws.Decompress(nil, c, z, int64(len(in)))
			if err != nil || string(out) != string(in) {
				t.Fatalf("%v level %d: %v, %d bytes", c, level, err, len(out))
			}
			if _, err := ws.Decompress(nil, c, z, int64(len(in))-1); err == nil {
				t.Errorf("%v: bound not kept", c)
			}
		}
	}
}

func TestValidate_Reused_DoesNotAllocate(t *testing.T) {
	ws := new(Workspace)
	for c := None; c <= Zstd; c++ {
		b := threeRecords(c, BuilderOptions{})
		work := ws
		if c == None {
			work = nil
		}
		got := testing.AllocsPerRun(100, func() {
			if _, err := Validate(b, ValidateOptions{Client: true, RequireKeys: true}, work); err != nil {
				t.Fatal(err)
			}
		})
		if limit := map[Codec]float64{Zstd: 1}[c]; got > limit {
			t.Errorf("%v: %v allocations", c, got)
		}
	}
}

func TestBatch_HeaderWork_DoesNotAllocate(t *testing.T) {
	b := threeRecords(None, BuilderOptions{})
	if n := testing.AllocsPerRun(100, func() {
		x, _, err := Next(b)
		if err != nil || !x.CheckCRC() {
			t.Fatal(err)
		}
		x.SetBaseOffset(5)
		x.SetLeaderEpoch(1)
		x.SetLogAppendTime(x.MaxTimestamp() + 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkValidate(b *testing.B) {
	for c := None; c <= Zstd; c++ {
		b.Run(c.String(), func(b *testing.B) {
			nb := NewBuilder(c, BuilderOptions{})
			for i := range 1000 {
				nb.Append(goldenTime+int64(i), nil, make([]byte, 100), nil)
			}
			batch, ws := Batch(nb.Build()), new(Workspace)
			b.SetBytes(int64(nb.Size()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Validate(batch, ValidateOptions{Client: true}, ws); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
