//go:build compat

package compat

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestOffline_BrokersDie_WhatClientsSee: replicas die one after another, none by the lag timer, and come back in another order.
func TestOffline_BrokersDie_WhatClientsSee(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "replica.lag.time.max.ms": "60000", // the controller shrinks, not the timer
	}})
	ctl := controller(t, c)
	others := slices.DeleteFunc(slices.Clone(c.Brokers), func(b *cluster.Broker) bool { return b == ctl })
	leader, follower := others[0], others[1]
	all := []int32{int32(leader.ID), int32(follower.ID), int32(ctl.ID)}
	createAssigned(t, c, "t", []string{"min.insync.replicas", "2"}, all)
	createAssigned(t, c, "single", nil, []int32{int32(follower.ID)})
	mustProduce(t, leader.Addr(), "t", 0, -1, wire.Values(series("a", 5)...))
	mustProduce(t, follower.Addr(), "single", 0, -1, wire.Values("only"))

	if err := follower.Kill(); err != nil {
		t.Fatal(err)
	}
	s := waitISR(t, c, "t", 0, 15*time.Second, leader.ID, ctl.ID)
	if s.Leader != leader.ID {
		t.Errorf("leader %d, want %d: a dead follower is no reason to move", s.Leader, leader.ID)
	}
	checkOffline(t, leader, "single", []int32{int32(follower.ID)})
	mustProduce(t, leader.Addr(), "t", 0, -1, wire.Values("two in sync"))

	// The controller dies, which is a follower too: somebody takes over and takes it out of the ISR.
	if err := ctl.Kill(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 20*time.Second, "another controller", func() error {
		id, err := c.Tree.Controller()
		if err == nil && id != leader.ID {
			err = fmt.Errorf("controller %d", id)
		}
		return err
	})
	waitISR(t, c, "t", 0, 20*time.Second, leader.ID)
	cluster.Eventually(t, 30*time.Second, "acks=all with one of two in sync", func() error {
		p := produceOne(t, leader.Addr(), "t", 0, -1, wire.Values("unsure").Encode())
		if p.ErrorCode == 0 {
			return cluster.Stop(errors.New("acknowledged"))
		}
		if p.ErrorCode != 19 { // 7: appended before the leader heard of its isr
			return fmt.Errorf("error %d, want 19", p.ErrorCode)
		}
		return nil
	})
	if p := produceOne(t, leader.Addr(), "t", 0, 1, wire.Values("acks=1").Encode()); p.ErrorCode != 0 {
		t.Errorf("acks=1: error %d", p.ErrorCode)
	}
	if p := fetchOne(t, leader.Addr(), "t", 0); p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
		t.Errorf("read: error %d, %d bytes", p.ErrorCode, len(p.RecordBatches))
	}

	// The last one dies too. The others come back first: they are not in the ISR and may not lead.
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, leader)
	for _, b := range []*cluster.Broker{follower, ctl} {
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Tree.WaitState("single", 0, 20*time.Second, "its leader back", func(s cluster.PartitionState) bool { return s.Leader == follower.ID }); err != nil {
		t.Fatal(err)
	}
	last, err := c.Tree.WaitState("t", 0, 20*time.Second, "no leader", func(s cluster.PartitionState) bool { return s.Leader == -1 })
	if err != nil || !slices.Equal(last.ISR, []int{leader.ID}) {
		t.Fatalf("state %+v, %v: the last member must stay in the isr", last, err)
	}
	checkOffline(t, follower, "t", all)

	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, "t", 0, 30*time.Second, 1, 2, 3)
	waitLeaders(t, c, "t", 1)
	want := append(series("a", 5), "two in sync", "acks=1")
	var got []string
	for _, v := range franzRead(t, c, "t", int(endOffset(t, leader.Addr(), "t", 0)))[0] {
		if v != "unsure" {
			got = append(got, v)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("contents %v, want %v", got, want)
	}
	checkReplicasEqual(t, c, "t", 0)
}
