//go:build compat

package compat

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// shape is one bad record set and the errors that are right for it.
type shape struct {
	name          string
	version       int16 // of Produce; 0: v7
	records       []byte
	want          []int16
	apacheDiffers string // why Apache Kafka 3.9.2 answers otherwise
}

func key(k, v string) wire.Record { return wire.Record{Key: []byte(k), Value: []byte(v)} }

// oldMessage is one message of magic 1 in a set.
func oldMessage() []byte {
	m := binary.BigEndian.AppendUint64([]byte{1, 0}, 1700000000000)
	m = append(binary.BigEndian.AppendUint32(m, 1), 'k')
	m = append(binary.BigEndian.AppendUint32(m, 1), 'v')
	m = append([]byte{0, 0, 0, 0}, m...) // the CRC is not looked at before the magic
	return append(binary.BigEndian.AppendUint32(make([]byte, 8), uint32(len(m))), m...)
}

func shapes() []shape {
	good := wire.Values("v").Encode()
	broken := slices.Clone(good)
	broken[20] ^= 0xff
	cut := slices.Clone(good)
	binary.BigEndian.PutUint32(cut[8:], uint32(len(good))) // says more than there is
	short := slices.Clone(good[:len(good)-5])
	edit := func(change func(*wire.Batch)) []byte { return wire.Values("v").With(change).Encode() }
	const never, server = "throws while it builds the message and never answers", "answers -1 UNKNOWN_SERVER_ERROR"
	return []shape{
		{"null records", 0, nil, []int16{87}, never},
		{"empty records", 0, []byte{}, []int16{87}, ""},
		{"two batches", 0, append(slices.Clone(good), good...), []int16{87}, ""},
		{"magic 1", 0, oldMessage(), []int16{87}, ""},
		{"magic 3", 0, edit(func(b *wire.Batch) { b.Magic = 3 }), []int16{2, 87}, "refuses all partitions of the request"},
		{"no records in the batch", 0, wire.NewBatch().Encode(), []int16{87}, ""},
		{"count 3, last offset delta 1", 0, wire.Values("a", "b", "c").With(func(b *wire.Batch) { b.LastOffsetDelta = 1 }).Encode(), []int16{87}, ""},
		{"last offset delta -1", 0, edit(func(b *wire.Batch) { b.LastOffsetDelta = -1 }), []int16{87}, ""},
		{"control bit", 0, edit(func(b *wire.Batch) { b.Attributes = 0x20 }), []int16{87}, ""},
		{"producer without sequence", 0, wire.Values("v").Producer(7, 0, -1).Encode(), []int16{87}, ""},
		{"wrong CRC", 0, broken, []int16{2}, ""},
		{"codec 7", 0, edit(func(b *wire.Batch) { b.Attributes = 7 }), []int16{2, 87, 76}, server},
		{"gzip of rubbish", 0, edit(func(b *wire.Batch) { b.Attributes = 1 }), []int16{2, 87}, server},
		{"count 3, two records inside", 0, wire.Values("a", "b").With(func(b *wire.Batch) { b.NumRecords, b.LastOffsetDelta = 3, 2 }).Encode(), []int16{2, 87}, ""},
		{"count 1, two records inside", 0, wire.Values("a", "b").With(func(b *wire.Batch) { b.NumRecords, b.LastOffsetDelta = 1, 0 }).Encode(), []int16{2, 87}, ""},
		{"count of 2^31-1", 0, edit(func(b *wire.Batch) { b.NumRecords, b.LastOffsetDelta = 0x7fffffff, 0x7ffffffe }), []int16{2, 87}, ""},
		{"count -1", 0, edit(func(b *wire.Batch) { b.NumRecords = -1 }), []int16{2, 87}, ""},
		{"length past the end", 0, cut, []int16{87}, ""},
		{"cut short", 0, short, []int16{87}, ""},
		{"ten bytes of rubbish", 0, []byte("0123456789"), []int16{87}, ""},
		{"base offset 77", 0, edit(func(b *wire.Batch) { b.FirstOffset = 77 }), []int16{87}, ""},
		{"log append time bit", 0, edit(func(b *wire.Batch) { b.Attributes = 8 }), []int16{32}, "accepts it"},
		{"zstd at v3", 3, edit(func(b *wire.Batch) { b.Attributes = 4 }), []int16{76}, ""},
		{"zstd at v6", 6, edit(func(b *wire.Batch) { b.Attributes = 4 }), []int16{76}, ""},
	}
}

// TestProduce_BadBatches_RefusedAndNothingStored: a bad batch gets its error, its partition stays as it was, and the other partition of
// the same request is written.
func TestProduce_BadBatches_RefusedAndNothingStored(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 2, 1)
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			if s.apacheDiffers != "" {
				jackdawOnly(t, s.apacheDiffers)
			}
			version := s.version
			if version == 0 {
				version = 7
			}
			before, other := endOffset(t, addr, topic, 0), endOffset(t, addr, topic, 1)
			req := wire.NewProduce(1, wire.Part{Topic: topic, Records: s.records}, wire.Part{Topic: topic, Partition: 1, Records: wire.Values("good").Encode()})
			r := ask[*kmsg.ProduceResponse](t, addr, req, version)
			for _, p := range r.Topics[0].Partitions {
				if p.Partition == 1 && (p.ErrorCode != 0 || p.BaseOffset != other) {
					t.Errorf("the good partition: error %d, base offset %d", p.ErrorCode, p.BaseOffset)
				}
				if p.Partition == 0 && !slices.Contains(s.want, p.ErrorCode) {
					t.Errorf("error %d (%v), want one of %v", p.ErrorCode, kerr.ErrorForCode(p.ErrorCode), s.want)
				}
				if p.Partition == 0 && p.BaseOffset != -1 {
					t.Errorf("base offset %d with an error", p.BaseOffset)
				}
			}
			if end := endOffset(t, addr, topic, 0); end != before {
				t.Errorf("end moved from %d to %d", before, end)
			}
		})
	}
	checkAlive(t, c)
}

// zstdBatch is a batch of two records.
func zstdBatch(t *testing.T) *wire.Batch {
	t.Helper()
	b := wire.Values("a", "b")
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Records, b.Attributes = enc.EncodeAll(b.Records, nil), 4
	return b
}

func TestProduce_ZstdBatch_AtV7ButNotBelowFetchV10(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	for compression, apacheDiffers := range map[string]string{"zstd": "", "producer": "looks at the topic's compression.type alone"} {
		t.Run(compression, func(t *testing.T) {
			topic := topicName(t)
			createTopic(t, c, topic, 1, 1, "compression.type", compression)
			mustProduce(t, addr, topic, 0, 1, zstdBatch(t))
			for version, want := range map[int16]int16{9: 76, 10: 0, 12: 0} {
				if version < 10 && apacheDiffers != "" && cluster.Target() == cluster.Apache {
					continue
				}
				f := ask[*kmsg.FetchResponse](t, addr, wire.NewFetch(wire.Position{Topic: topic}), version)
				if p := f.Topics[0].Partitions[0]; p.ErrorCode != want || (want == 0) != (len(p.RecordBatches) > 0) {
					t.Errorf("fetch v%d of zstd: error %d with %d bytes, want %d", version, p.ErrorCode, len(p.RecordBatches), want)
				}
			}
		})
	}
}

// TestProduce_KeylessToCompacted_RecordNamed: KIP-467, the answer names the records.
func TestProduce_KeylessToCompacted_RecordNamed(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "cleanup.policy", "compact")
	b := wire.NewBatch(key("a", "1"), wire.Record{Value: []byte("2"), OffsetDelta: 1}, wire.Record{Key: []byte("c"), OffsetDelta: 2})
	for _, version := range []int16{7, 8, 9} {
		req := wire.NewProduce(1, wire.Part{Topic: topic, Records: b.Encode()})
		p := ask[*kmsg.ProduceResponse](t, addr, req, version).Topics[0].Partitions[0]
		if p.ErrorCode != 87 {
			t.Errorf("v%d: error %d, want 87", version, p.ErrorCode)
		}
		if version < 8 {
			continue
		}
		want := "Compacted topic cannot accept message without key in topic partition " + topic + "-0"
		if len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 1 || deref(p.ErrorRecords[0].ErrorMessage) != want {
			t.Errorf("v%d: record errors %+v, want index 1: %s", version, p.ErrorRecords, want)
		}
	}
	if end := endOffset(t, addr, topic, 0); end != 0 {
		t.Errorf("end %d after refusals only", end)
	}
}

// TestProduce_StoredAsSent: what is read back is what was sent but for offset and leader epoch, CRC and all.
func TestProduce_StoredAsSent(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	b := wire.NewBatch(
		wire.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kmsg.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}}},
		wire.Record{OffsetDelta: 1, TimestampDelta: 17},
		wire.Record{OffsetDelta: 2, Key: []byte{}, Value: []byte{}},
	)
	mustProduce(t, addr, topic, 0, 1, wire.Values("first"))
	mustProduce(t, addr, topic, 0, 1, b)
	f := ask[*kmsg.FetchResponse](t, addr, wire.NewFetch(wire.Position{Topic: topic, Offset: 1}), 11)
	got, want := f.Topics[0].Partitions[0].RecordBatches, b.Encode()
	binary.BigEndian.PutUint64(want, 1)
	binary.BigEndian.PutUint32(want[12:], 0)
	if !bytes.Equal(got, want) {
		t.Errorf("stored % x\nsent   % x", got, want)
	}
}
