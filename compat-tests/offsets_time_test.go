//go:build compat

package compat

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// lookup asks for a timestamp's offset and the record's own timestamp, at v7.
func lookup(t *testing.T, addr, topic string, timestamp int64) (int64, int64) {
	t.Helper()
	p := ask[*kmsg.ListOffsetsResponse](t, addr, wire.NewListOffsets(topic, 0, timestamp), 7).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		t.Errorf("time %d: error %d", timestamp, p.ErrorCode)
	}
	return p.Offset, p.Timestamp
}

func TestListOffsets_ByTime_FirstRecordNotOlder(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	for _, ts := range []int64{2, 4, 6, 8} {
		mustProduce(t, addr, topic, 0, 1, wire.Values("v").At(ts))
	}
	for ask, want := range map[int64][2]int64{2: {0, 2}, 3: {1, 4}, 4: {1, 4}, 5: {2, 6}, 6: {2, 6}, 7: {3, 8}, 8: {3, 8}, 9: {-1, -1}, 0: {0, 2}} {
		if off, ts := lookup(t, addr, topic, ask); off != want[0] || ts != want[1] {
			t.Errorf("time %d: offset %d of time %d, want %v", ask, off, ts, want)
		}
	}
	if off, ts := lookup(t, addr, topic, -3); off != 3 || ts != 8 {
		t.Errorf("largest time: offset %d of time %d, want 3 and 8", off, ts)
	}
}

func TestListOffsets_InsideACompressedBatch_TheExactRecord(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	var records []wire.Record
	for i := range int32(50) {
		records = append(records, wire.Record{Key: []byte("k"), Value: fmt.Append(nil, i), OffsetDelta: i, TimestampDelta: int64(10 * i)})
	}
	mustProduce(t, addr, topic, 0, 1, wire.NewBatch(records...).At(1000).Gzip())
	for i := range int64(50) {
		if off, ts := lookup(t, addr, topic, 1000+10*i); off != i || ts != 1000+10*i {
			t.Errorf("time %d: offset %d of time %d, want %d", 1000+10*i, off, ts, i)
		}
	}
}

// TestListOffsets_TimesOutOfOrder_ByOffset: small segments, times that go up and down.
func TestListOffsets_TimesOutOfOrder_ByOffset(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "segment.bytes", "150") // a segment each
	for _, ts := range []int64{10, 50, 20, 60} {
		mustProduce(t, addr, topic, 0, 1, wire.Values("value that fills a segment more or less by itself").At(ts))
	}
	for ask, want := range map[int64]int64{5: 0, 10: 0, 15: 1, 50: 1, 51: 3, 60: 3, 61: -1} {
		if off, _ := lookup(t, addr, topic, ask); off != want {
			t.Errorf("time %d: offset %d, want %d", ask, off, want)
		}
	}
	if off, ts := lookup(t, addr, topic, -3); off != 3 || ts != 60 {
		t.Errorf("largest time: offset %d of time %d, want 3 and 60", off, ts)
	}
}

func TestListOffsets_MaxTimestamp_FirstOfEquals(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	for _, ts := range []int64{7, 9, 9, 8} {
		mustProduce(t, addr, topic, 0, 1, wire.Values("v").At(ts))
	}
	if off, ts := lookup(t, addr, topic, -3); off != 1 || ts != 9 {
		t.Errorf("largest time: offset %d of time %d, want 1 and 9", off, ts)
	}
}

func TestListOffsets_SpecialValues_ByVersion(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	mustProduce(t, addr, topic, 0, 1, wire.Values("a", "b"))
	for _, row := range []struct {
		timestamp int64
		version   int16
		code      int16
		offset    int64
	}{
		{-1, 1, 0, 2},
		{-2, 1, 0, 0},
		{-1, 9, 0, 2},
		{-2, 9, 0, 0},
		{-3, 6, 35, -1},
		{-3, 7, 0, 0},
		{-3, 9, 0, 0},
		{-4, 7, 35, -1},
		{-4, 8, 0, 0},
		{-5, 8, 35, -1},
		{-5, 9, 0, -1},
		{-6, 9, 35, -1},
		{-6, 1, 35, -1},
	} {
		if off, code := listOffset(t, addr, topic, row.timestamp, row.version); code != row.code || off != row.offset {
			t.Errorf("%d at v%d: offset %d, error %d; want %d and %d", row.timestamp, row.version, off, code, row.offset, row.code)
		}
	}
}

func TestListOffsets_SamePartitionTwice_Refused(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	req := wire.NewListOffsets(topic, 0, -1)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
	r := ask[*kmsg.ListOffsetsResponse](t, addr, req, 7)
	for _, p := range r.Topics[0].Partitions {
		if p.ErrorCode != 42 {
			t.Errorf("error %d, want 42", p.ErrorCode)
		}
	}
}

func TestListOffsets_V0_OldArray(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	mustProduce(t, addr, topic, 0, 1, wire.Values("a", "b"))
	for timestamp, want := range map[int64]int64{-1: 2, -2: 0} {
		req := wire.NewListOffsets(topic, 0, timestamp)
		req.Topics[0].Partitions[0].MaxNumOffsets = 10
		p := ask[*kmsg.ListOffsetsResponse](t, addr, req, 0).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || len(p.OldStyleOffsets) == 0 || p.OldStyleOffsets[0] != want {
			t.Errorf("time %d: error %d, offsets %v; want %d first", timestamp, p.ErrorCode, p.OldStyleOffsets, want)
		}
	}
}
