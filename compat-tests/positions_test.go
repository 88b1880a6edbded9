//go:build compat

package compat

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestPositions_InsideABatch_WholeBatch: every offset between log start and log end is a legal position.
func TestPositions_InsideABatch_WholeBatch(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	mustProduce(t, addr, topic, 0, 1, wire.Values(series("a", 10)...))
	mustProduce(t, addr, topic, 0, 1, wire.Values(series("b", 10)...))
	for offset := int64(0); offset <= 20; offset++ {
		p := fetchOne(t, addr, topic, offset)
		if p.ErrorCode != 0 || p.HighWatermark != 20 || p.LogStartOffset != 0 {
			t.Errorf("at %d: error %d, high watermark %d, log start %d", offset, p.ErrorCode, p.HighWatermark, p.LogStartOffset)
		}
		batches, err := wire.Batches(p.RecordBatches)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case offset == 20 && len(batches) != 0:
			t.Errorf("at the end: %d batches", len(batches))
		case offset < 20 && (len(batches) == 0 || batches[0].FirstOffset != offset/10*10):
			t.Errorf("at %d: %d batches, the first is not the one at %d", offset, len(batches), offset/10*10)
		}
	}
	for _, offset := range []int64{21, -1, 1 << 62} {
		began := time.Now()
		req := wire.NewFetch(wire.Position{Topic: topic, Offset: offset})
		req.MaxWaitMillis = 5000
		p := ask[*kmsg.FetchResponse](t, addr, req, 11).Topics[0].Partitions[0]
		if p.ErrorCode != 1 || time.Since(began) > 2*time.Second {
			t.Errorf("at %d: error %d after %v, want 1 at once", offset, p.ErrorCode, time.Since(began))
		}
		if cluster.Target() == cluster.Jackdaw && (p.HighWatermark != -1 || p.LogStartOffset != -1) && (p.HighWatermark != 20 || p.LogStartOffset != 0) {
			t.Errorf("at %d: high watermark %d, log start %d", offset, p.HighWatermark, p.LogStartOffset)
		}
	}
}

// TestPositions_BetweenHighWatermarkAndEnd_EmptyNotOutOfRange: a consumer may stand where a record is that is not committed yet.
func TestPositions_BetweenHighWatermarkAndEnd_EmptyNotOutOfRange(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{
		"zookeeper.session.timeout.ms": "30000", "replica.lag.time.max.ms": "30000", "replica.fetch.wait.max.ms": "200",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2})
	leader, follower := c.Broker(1), c.Broker(2)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values(series("committed", 3)...))
	cluster.Eventually(t, 10*time.Second, "high watermark", func() error { return wantHW(t, leader.Addr(), topic, 3) })
	frozen(t, follower)
	for range 3 {
		mustProduce(t, leader.Addr(), topic, 0, 1, wire.Values("pending"))
	}
	for offset := int64(3); offset <= 6; offset++ {
		p := fetchOne(t, leader.Addr(), topic, offset)
		if p.ErrorCode != 0 || len(p.RecordBatches) != 0 || p.HighWatermark != 3 {
			t.Errorf("at %d: error %d, %d bytes, high watermark %d; want 0, none, 3", offset, p.ErrorCode, len(p.RecordBatches), p.HighWatermark)
		}
	}
	if p := fetchOne(t, leader.Addr(), topic, 7); p.ErrorCode != 1 {
		t.Errorf("behind the end: error %d, want 1", p.ErrorCode)
	}
	if off, code := listOffset(t, leader.Addr(), topic, -1, 7); off != 3 || code != 0 {
		t.Errorf("latest for a consumer: %d, error %d; want the high watermark 3", off, code)
	}
	thaw(t, follower)
	cluster.Eventually(t, 20*time.Second, "high watermark after the thaw", func() error { return wantHW(t, leader.Addr(), topic, 6) })
}

// listOffset asks for one timestamp's offset at a version.
func listOffset(t *testing.T, addr, topic string, timestamp int64, version int16) (int64, int16) {
	t.Helper()
	p := ask[*kmsg.ListOffsetsResponse](t, addr, wire.NewListOffsets(topic, 0, timestamp), version).Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

func deleteRecords(t *testing.T, addr, topic string, partition int32, offset int64) (low int64, code int16) {
	t.Helper()
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = 5000
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = partition, offset
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	p := ask[*kmsg.DeleteRecordsResponse](t, addr, r, 2).Topics[0].Partitions[0]
	return p.LowWatermark, p.ErrorCode
}

// TestPositions_DeleteRecords_FollowerDown_TakesTheStartLater: a dead replica is not waited for, and takes the log start over
// when it is back, here one in the middle of a batch.
func TestPositions_DeleteRecords_FollowerDown_TakesTheStartLater(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"zookeeper.session.timeout.ms": "6000"}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2})
	leader, follower := c.Broker(1), c.Broker(2)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values(series("a", 10)...))
	if err := follower.Kill(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, 0, 30*time.Second, 1)
	if low, code := deleteRecords(t, leader.Addr(), topic, 0, 5); low != 5 || code != 0 {
		t.Errorf("delete before 5 with a dead follower: low watermark %d, error %d", low, code)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, 0, 30*time.Second, 1, 2)
	// It answers when all live replicas are there.
	if low, code := deleteRecords(t, leader.Addr(), topic, 0, 5); low != 5 || code != 0 {
		t.Errorf("delete before 5 with the follower back: low watermark %d, error %d", low, code)
	}
	if err := leader.Stop(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, 0, 30*time.Second, 2)
	cluster.Eventually(t, 30*time.Second, "the start at the new leader", func() error {
		if off, code := listOffset(t, follower.Addr(), topic, -2, 7); off != 5 || code != 0 {
			return fmt.Errorf("earliest %d, error %d; want 5", off, code)
		}
		return nil
	})
}

func TestPositions_DeleteRecords_MovesTheStart(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	needVersion(t, addr, kmsg.DeleteRecords, 2)
	topic, compacted := topicName(t), topicName(t)+"-compacted"
	createTopic(t, c, topic, 1, 1)
	createTopic(t, c, compacted, 1, 1, "cleanup.policy", "compact")
	mustProduce(t, addr, topic, 0, 1, wire.Values(series("a", 10)...))
	mustProduce(t, addr, topic, 0, 1, wire.Values(series("b", 10)...))
	remove := func(topic string, partition int32, offset int64) (int64, int16) {
		return deleteRecords(t, addr, topic, partition, offset)
	}
	for _, row := range []struct{ offset, low int64 }{{5, 5}, {5, 5}, {3, 5}} {
		if low, code := remove(topic, 0, row.offset); low != row.low || code != 0 {
			t.Errorf("delete before %d: low watermark %d, error %d; want %d", row.offset, low, code, row.low)
		}
	}
	for _, row := range []struct {
		topic     string
		partition int32
		offset    int64
		want      int16
	}{{topic, 0, 25, 1}, {topic, 0, -2, 1}, {compacted, 0, 0, 44}, {topic, 9, 0, 3}, {"no-such", 0, 0, 3}} {
		if _, code := remove(row.topic, row.partition, row.offset); code != row.want {
			t.Errorf("delete %s-%d before %d: error %d, want %d", row.topic, row.partition, row.offset, code, row.want)
		}
	}
	if p := fetchOne(t, addr, topic, 4); p.ErrorCode != 1 {
		t.Errorf("fetch below the start: error %d, want 1", p.ErrorCode)
	}
	p := fetchOne(t, addr, topic, 5)
	if batches, err := wire.Batches(p.RecordBatches); err != nil || p.LogStartOffset != 5 || len(batches) == 0 || batches[0].FirstOffset != 0 {
		t.Errorf("fetch at the start: %+v, %v; want the batch it lies in", p, err)
	}
	if low, code := remove(topic, 0, -1); low != 20 || code != 0 {
		t.Errorf("delete all: low watermark %d, error %d; want 20", low, code)
	}
	if off, code := listOffset(t, addr, topic, -2, 7); off != 20 || code != 0 {
		t.Errorf("earliest %d, error %d; want 20", off, code)
	}
}
