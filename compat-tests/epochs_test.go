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

// TestEpochs_HistoryNotPresent: leadership moves there and back with records in between; clients are told the history.
func TestEpochs_HistoryNotPresent(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "auto.leader.rebalance.enable": "false",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2})
	write := func(id int, ts int64) int {
		t.Helper()
		waitLeaders(t, c, topic, 1)
		mustProduce(t, c.Broker(id).Addr(), topic, 0, -1, wire.Values("a", "b", "c").At(ts))
		s, err := c.Tree.State(topic, 0)
		if err != nil || s.Leader != id {
			t.Fatalf("leader %d (%v), want %d", s.Leader, err, id)
		}
		return s.LeaderEpoch
	}
	move := func(from, to int) {
		t.Helper()
		if err := c.Broker(from).Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tree.WaitState(topic, 0, 30*time.Second, fmt.Sprintf("leader %d", to), func(s cluster.PartitionState) bool { return s.Leader == to }); err != nil {
			t.Fatal(err)
		}
		if err := c.Broker(from).Start(); err != nil {
			t.Fatal(err)
		}
		waitISR(t, c, topic, 0, 60*time.Second, 1, 2)
	}
	epochs := []int{write(1, 1000)}
	move(1, 2)
	epochs = append(epochs, write(2, 2000))
	move(2, 1)
	epochs = append(epochs, write(1, 3000))
	if epochs[0] >= epochs[1] || epochs[1] >= epochs[2] {
		t.Fatalf("epochs %v do not rise", epochs)
	}
	addr := c.Broker(1).Addr()
	current := int32(epochs[2])
	checkHistory(t, addr, topic, epochs)
	for i, b := range fetchBatches(t, addr, topic, 0, 0) {
		if int(b.PartitionLeaderEpoch) != epochs[i] {
			t.Errorf("batch %d has leader epoch %d, want %d", i, b.PartitionLeaderEpoch, epochs[i])
		}
	}
	// ListOffsets tells the epoch of the record, not the current one.
	for timestamp, want := range map[int64]int{-2: epochs[0], -1: epochs[2], 1000: epochs[0], 1500: epochs[1], 2000: epochs[1], 3000: epochs[2]} {
		p := ask[*kmsg.ListOffsetsResponse](t, addr, wire.NewListOffsets(topic, 0, timestamp), 7).Topics[0].Partitions[0]
		if int(p.LeaderEpoch) != want {
			t.Errorf("time %d: leader epoch %d, want %d", timestamp, p.LeaderEpoch, want)
		}
	}
	checkDiverging(t, addr, topic, current, epochs)
	checkReplicasEqual(t, c, topic, 0)
}

// checkHistory asks for the end of epochs: three records each.
func checkHistory(t *testing.T, addr, topic string, epochs []int) {
	t.Helper()
	type answer struct {
		epoch int32
		end   int64
	}
	want := map[int32]answer{
		int32(epochs[0]):     {int32(epochs[0]), 3},
		int32(epochs[1]):     {int32(epochs[1]), 6},
		int32(epochs[2]):     {int32(epochs[2]), 9},
		int32(epochs[2]) + 1: {-1, -1},
		99:                   {-1, -1},
		-1:                   {-1, -1},
	}
	for between := epochs[0] + 1; between < epochs[1]; between++ { // an epoch without records: the one before it
		want[int32(between)] = answer{int32(epochs[0]), 3}
	}
	for epoch, w := range want {
		for _, replica := range []int32{-1, -2} {
			r := kmsg.NewPtrOffsetForLeaderEpochRequest()
			r.ReplicaID = replica
			rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
			rt.Topic = topic
			rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rp.CurrentLeaderEpoch, rp.LeaderEpoch = -1, epoch
			rt.Partitions = append(rt.Partitions, rp)
			r.Topics = append(r.Topics, rt)
			for version := int16(3); version <= 4; version++ {
				p := ask[*kmsg.OffsetForLeaderEpochResponse](t, addr, r, version).Topics[0].Partitions[0]
				if p.ErrorCode != 0 || p.LeaderEpoch != w.epoch || p.EndOffset != w.end {
					t.Errorf("v%d end of epoch %d for replica %d: error %d, epoch %d, offset %d; want %+v", version, epoch, replica, p.ErrorCode, p.LeaderEpoch, p.EndOffset, w)
				}
			}
		}
	}
}

// checkDiverging fetches with the epoch of the last record read: right ones go on, wrong ones are told where the logs part.
func checkDiverging(t *testing.T, addr, topic string, current int32, epochs []int) {
	t.Helper()
	for _, row := range []struct {
		offset     int64
		last       int
		epoch, end int64 // diverging; -1: none
	}{
		{3, epochs[0], -1, -1},
		{2, epochs[0], -1, -1},
		{6, epochs[1], -1, -1},
		{9, epochs[2], -1, -1},
		{4, epochs[1], -1, -1},
		{4, epochs[0], int64(epochs[0]), 3},
		{8, epochs[1], int64(epochs[1]), 6},
	} {
		req := wire.NewFetch(wire.Position{Topic: topic, Offset: row.offset})
		req.MaxWaitMillis = 100
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = current
		req.Topics[0].Partitions[0].LastFetchedEpoch = int32(row.last)
		p := ask[*kmsg.FetchResponse](t, addr, req, 12).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || int64(p.DivergingEpoch.Epoch) != row.epoch || p.DivergingEpoch.EndOffset != row.end {
			t.Errorf("fetch at %d after epoch %d: error %d, diverging %+v; want epoch %d end %d", row.offset, row.last, p.ErrorCode, p.DivergingEpoch, row.epoch, row.end)
		}
		if row.epoch >= 0 && len(p.RecordBatches) != 0 {
			t.Errorf("fetch at %d after epoch %d: %d bytes beside the divergence", row.offset, row.last, len(p.RecordBatches))
		}
	}
}
