//go:build compat

package compat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

func TestCommit_GoodBesideBad_EachItsOwn(t *testing.T) {
	c := one(t)
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 2, 1)
	conn := dial(t, coordinator(t, c, group).Addr())
	long := strings.Repeat("m", 5000)
	for version := int16(2); version <= 9; version++ {
		offset := int64(version) * 10
		req := wire.NewCommit(group, "", -1,
			wire.Commit{Topic: topic, Partition: 0, Offset: offset}, // null metadata
			wire.Commit{Topic: topic, Partition: 9, Offset: 1},
			wire.Commit{Topic: topic, Partition: 1, Offset: 1, Metadata: &long},
			wire.Commit{Topic: "no-such", Partition: 0, Offset: 1})
		r, err := conn.Do(req, version)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int16{}
		for _, x := range r.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range x.Partitions {
				got[fmt.Sprintf("%s-%d", x.Topic, p.Partition)] = p.ErrorCode
			}
		}
		for name, want := range map[string]int16{topic + "-0": 0, topic + "-9": 3, topic + "-1": 12, "no-such-0": 3} {
			if code, ok := got[name]; !ok || code != want {
				t.Errorf("v%d: %s: error %d (answered %v), want %d", version, name, code, ok, want)
			}
		}
		// At once, on the same connection: nothing is pending for the bad ones.
		if off, meta, code := fetchOffset(t, conn.RemoteAddr().String(), group, topic, 0, 7, true); off != offset || meta != "" || code != 0 {
			t.Errorf("v%d: fetched offset %d, metadata %q, error %d; want %d", version, off, meta, code, offset)
		}
		if off, _, code := fetchOffset(t, conn.RemoteAddr().String(), group, topic, 1, 7, true); off != -1 || code != 0 {
			t.Errorf("v%d: the refused one: offset %d, error %d; want -1 and 0", version, off, code)
		}
	}
}

// TestCommit_WithoutMembership_ByGroupState: no member id and generation -1 commit into groups without members only.
func TestCommit_WithoutMembership_ByGroupState(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	group := "g-" + topic
	if code := commitSimple(t, c, group, topic, 1); code != 0 {
		t.Errorf("new group: error %d", code)
	}
	if code := commitSimple(t, c, group, topic, 2); code != 0 {
		t.Errorf("empty group: error %d", code)
	}
	withInstance := func(group string) int16 {
		req := wire.NewCommit(group, "", -1, wire.Commit{Topic: topic, Offset: 3})
		req.InstanceID = kmsg.StringPtr("i1")
		return ask[*kmsg.OffsetCommitResponse](t, coordinator(t, c, group).Addr(), req, 8).Topics[0].Partitions[0].ErrorCode
	}
	if code := withInstance(group); code != 0 {
		t.Errorf("empty group, with an instance id: error %d", code)
	}
	if code := withInstance("i-" + group); code != 0 {
		t.Errorf("new group, with an instance id: error %d", code)
	}
	m := newMember(t, c, group)
	m.join(t)
	m.syncAll(t)
	if code := commitSimple(t, c, group, topic, 4); code != 25 {
		t.Errorf("stable group: error %d, want 25", code)
	}
	m.leave(t)
	if code := commitSimple(t, c, group, topic, 5); code != 0 {
		t.Errorf("empty again: error %d", code)
	}
}

// commitAs commits as a member and returns the error code.
func (m *member) commitAs(t *testing.T, topic string, offset int64) int16 {
	t.Helper()
	r, err := m.conn.Do(wire.NewCommit(m.group, m.id, m.generation, wire.Commit{Topic: topic, Offset: offset}), 8)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

func TestCommit_DuringRebalance_PreparingYesCompletingNo(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	group := "g-" + topic
	members := stable(t, c, group, 2)
	leader, follower := members[0], members[1]
	if !leader.leads() {
		leader, follower = follower, leader
	}
	if code := follower.commitAs(t, topic, 1); code != 0 {
		t.Errorf("stable: error %d", code)
	}
	j := leader.startJoin(t)
	follower.waitHeartbeat(t, 27, 10*time.Second)
	if code := follower.commitAs(t, topic, 2); code != 0 {
		t.Errorf("preparing: error %d, want 0", code)
	}
	follower.join(t)
	if code := j.finish(t, wire.Timeout); code != 0 {
		t.Fatalf("join: error %d", code)
	}
	if code := follower.commitAs(t, topic, 3); code != 27 {
		t.Errorf("completing: error %d, want 27", code)
	}
	leader.syncAll(t)
	if code := follower.commitAs(t, topic, 4); code != 0 {
		t.Errorf("stable again: error %d", code)
	}
	if off, _, code := fetchOffset(t, coordinator(t, c, group).Addr(), group, topic, 0, 8, true); off != 4 || code != 0 {
		t.Errorf("offset %d, error %d; want 4", off, code)
	}
}

// TestCommit_SurvivesCrashAndCoordinatorMove: what was answered with 0 is there after a kill -9 and at the next coordinator.
func TestCommit_SurvivesCrashAndCoordinatorMove(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "offsets.topic.num.partitions": "1",
	}})
	topic, group := "t", "g"
	createTopic(t, c, topic, 1, 2)
	meta := "some metadata"
	commit := func(offset int64) {
		t.Helper()
		req := wire.NewCommit(group, "", -1, wire.Commit{Topic: topic, Offset: offset, Metadata: &meta})
		cluster.Eventually(t, 20*time.Second, "commit", func() error {
			r, err := wire.Ask[*kmsg.OffsetCommitResponse](coordinator(t, c, group).Addr(), req, 8)
			if err == nil && r.Topics[0].Partitions[0].ErrorCode != 0 {
				err = fmt.Errorf("error %d", r.Topics[0].Partitions[0].ErrorCode)
			}
			return err
		})
	}
	check := func(want int64) {
		t.Helper()
		cluster.Eventually(t, 30*time.Second, "committed offset", func() error {
			off, m, code := fetchOffset(t, coordinator(t, c, group).Addr(), group, topic, 0, 8, true)
			if off != want || m != meta || code != 0 {
				return fmt.Errorf("offset %d, metadata %q, error %d; want %d", off, m, code, want)
			}
			return nil
		})
	}
	for offset := range int64(20) { // many, so that the last of many wins
		commit(offset)
	}
	old := coordinator(t, c, group)
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, old)
	check(19)
	commit(20)
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	other := coordinator(t, c, group)
	waitISR(t, c, "__consumer_offsets", 0, 60*time.Second, 1, 2)
	if err := other.Stop(); err != nil {
		t.Fatal(err)
	}
	check(20)
}
