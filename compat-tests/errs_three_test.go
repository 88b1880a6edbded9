//go:build compat

package compat

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestErrs_WrongBroker_SaysSo: requests for the controller at another broker, and for a leader at a follower.
func TestErrs_WrongBroker_SaysSo(t *testing.T) {
	c := three(t)
	ctl := controller(t, c)
	var other *cluster.Broker
	for _, b := range c.Brokers {
		if b != ctl {
			other = b
		}
	}
	if r := ask[*kmsg.CreateTopicsResponse](t, other.Addr(), wire.NewCreateTopic("z", 1, 1), 7); r.Topics[0].ErrorCode != 41 {
		t.Errorf("CreateTopics: error %d, want 41", r.Topics[0].ErrorCode)
	}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	x := kmsg.NewDeleteTopicsRequestTopic()
	x.Topic = kmsg.StringPtr("z")
	remove.Topics = append(remove.Topics, x)
	if r := ask[*kmsg.DeleteTopicsResponse](t, other.Addr(), remove, 6); r.Topics[0].ErrorCode != 41 {
		t.Errorf("DeleteTopics: error %d, want 41", r.Topics[0].ErrorCode)
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	y := kmsg.NewCreatePartitionsRequestTopic()
	y.Topic, y.Count = "z", 5
	grow.Topics = append(grow.Topics, y)
	if r := ask[*kmsg.CreatePartitionsResponse](t, other.Addr(), grow, 3); r.Topics[0].ErrorCode != 41 {
		t.Errorf("CreatePartitions: error %d, want 41", r.Topics[0].ErrorCode)
	}
	alter := kmsg.NewPtrAlterPartitionRequest()
	alter.BrokerID, alter.BrokerEpoch = 1, 1
	if r := ask[*kmsg.AlterPartitionResponse](t, other.Addr(), alter, 3); r.ErrorCode != 41 {
		t.Errorf("AlterPartition: error %d, want 41", r.ErrorCode)
	}

	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{int32(ctl.ID), int32(other.ID)})
	// KIP-951: since v10 the answer names the leader.
	produce := wire.NewProduce(1, wire.Part{Topic: topic, Records: wire.Values("v").Encode()})
	r := ask[*kmsg.ProduceResponse](t, other.Addr(), produce, 10)
	p := r.Topics[0].Partitions[0]
	if p.ErrorCode != 6 || int(p.CurrentLeader.LeaderID) != ctl.ID || p.CurrentLeader.LeaderEpoch != 0 {
		t.Errorf("Produce v10 at a follower: error %d, leader %+v", p.ErrorCode, p.CurrentLeader)
	}
	if len(r.Brokers) != 1 || int(r.Brokers[0].NodeID) != ctl.ID {
		t.Errorf("Produce v10 at a follower: endpoints %+v", r.Brokers)
	}
	if end := epochEnd(t, other.Addr(), topic, 0, -1); end.ErrorCode != 6 || end.LeaderEpoch != -1 {
		t.Errorf("OffsetForLeaderEpoch at a follower: %+v", end)
	}
}

// TestCreatePartitions_GrowsWithoutMovingAnything: new ids follow the old ones, old assignments stay.
func TestCreatePartitions_GrowsWithoutMovingAnything(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 2, 3)
	before, err := c.Tree.Assignment(topic)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := admin(t, c).CreatePartitions(t.Context(), 2, topic); err != nil || r[topic].Err != nil {
		t.Fatalf("grow: %v, %+v", err, r[topic])
	}
	waitLeaders(t, c, topic, 4)
	after, err := c.Tree.Assignment(topic)
	if err != nil {
		t.Fatal(err)
	}
	for p := range 4 {
		if len(after[p]) != 3 {
			t.Errorf("partition %d: replicas %v", p, after[p])
		}
		if p < 2 && !slices.Equal(before[p], after[p]) {
			t.Errorf("partition %d moved from %v to %v", p, before[p], after[p])
		}
	}
	for p := range int32(4) {
		mustProduce(t, leaderOf(t, c, topic, int(p)).Addr(), topic, p, -1, wire.Values("v"))
	}
}
