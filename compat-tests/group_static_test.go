//go:build compat

package compat

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// staticPair is a stable group of two static members, i1 and i2; the leader comes first.
func staticPair(t *testing.T, c *cluster.Cluster, group string) (leader, follower *member) {
	t.Helper()
	a, b := newMember(t, c, group), newMember(t, c, group)
	a.instance, b.instance = "i1", "i2"
	a.session, b.session = 30000, 30000
	syncGeneration(t, a, b)
	if b.leads() {
		return b, a
	}
	return a, b
}

// restarted is the same instance in a new process: no member id.
func restarted(t *testing.T, c *cluster.Cluster, m *member) *member {
	t.Helper()
	fresh := newMember(t, c, m.group)
	fresh.instance, fresh.session, fresh.protocols, fresh.metadata, fresh.rebalance = m.instance, m.session, m.protocols, m.metadata, m.rebalance
	return fresh
}

func TestStatic_FollowerRestarts_NoRebalance(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	leader, follower := staticPair(t, c, group)
	fresh := restarted(t, c, follower)
	if code := fresh.tryJoin(t); code != 0 {
		t.Fatalf("rejoin: error %d", code)
	}
	if fresh.id == follower.id || fresh.generation != follower.generation {
		t.Errorf("member id %q (old %q), generation %d (old %d): want a new id in the same generation", fresh.id, follower.id, fresh.generation, follower.generation)
	}
	if r := fresh.sync(t, nil); r.ErrorCode != 0 || string(r.MemberAssignment) != follower.id {
		t.Errorf("sync: error %d, assignment %q; want the old one back", r.ErrorCode, r.MemberAssignment)
	}
	if code := leader.heartbeat(t); code != 0 {
		t.Errorf("the other member's heartbeat: error %d, want no rebalance", code)
	}
	// The old process is fenced.
	if code := follower.heartbeat(t); code != 82 {
		t.Errorf("heartbeat of the old id: error %d, want 82", code)
	}
	if r := follower.sync(t, nil); r.ErrorCode != 82 {
		t.Errorf("sync of the old id: error %d, want 82", r.ErrorCode)
	}
	commit := wire.NewCommit(group, follower.id, follower.generation, wire.Commit{Topic: topicName(t)})
	commit.InstanceID = &follower.instance
	createTopic(t, c, topicName(t), 1, 1)
	r, err := follower.conn.Do(commit, 8)
	if err != nil {
		t.Fatal(err)
	}
	if code := r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 82 {
		t.Errorf("commit of the old id: error %d, want 82", code)
	}
}

func TestStatic_LeaderRestarts_NoRebalance(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	leader, follower := staticPair(t, c, group)
	fresh := restarted(t, c, leader)
	r, err := fresh.conn.Do(fresh.request(), 9)
	if err != nil {
		t.Fatal(err)
	}
	j := r.(*kmsg.JoinGroupResponse)
	if j.ErrorCode != 0 || j.Generation != leader.generation || !j.SkipAssignment {
		t.Errorf("v9: error %d, generation %d, skip assignment %v; want 0, %d, true", j.ErrorCode, j.Generation, j.SkipAssignment, leader.generation)
	}
	if code := follower.heartbeat(t); code != 0 {
		t.Errorf("the other member's heartbeat: error %d, want no rebalance", code)
	}
	again := restarted(t, c, leader) // an old client: it must not believe that it leads
	if code := again.tryJoin(t); code != 0 || again.generation != leader.generation || again.leads() {
		t.Errorf("v7: error %d, generation %d, leader %q of %q", code, again.generation, again.last.LeaderID, again.id)
	}
	if r := again.sync(t, nil); r.ErrorCode != 0 || string(r.MemberAssignment) != leader.id {
		t.Errorf("sync: error %d, assignment %q; want the old one back", r.ErrorCode, r.MemberAssignment)
	}
}

// TestStatic_RestartWithOtherProtocols_Rebalance: only if the group would choose another protocol; the metadata is not looked at.
func TestStatic_RestartWithOtherProtocols_Rebalance(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	a, b := newMember(t, c, group), newMember(t, c, group)
	a.instance, b.instance = "i1", "i2"
	a.protocols, b.protocols = []string{"range", "sticky"}, []string{"range", "sticky"}
	syncGeneration(t, a, b)
	leader, follower := a, b
	if b.leads() {
		leader, follower = b, a
	}
	fresh := restarted(t, c, follower)
	fresh.metadata = subscription("other")
	if code := fresh.tryJoin(t); code != 0 || fresh.generation != follower.generation {
		t.Errorf("other metadata: error %d, generation %d, want %d", code, fresh.generation, follower.generation)
	}
	other := restarted(t, c, fresh)
	other.protocols = []string{"sticky"}
	j := other.startJoin(t)
	leader.waitHeartbeat(t, 27, 10*time.Second)
	leader.join(t)
	if code := j.finish(t, wire.Timeout); code != 0 || other.generation != follower.generation+1 || deref(other.last.Protocol) != "sticky" {
		t.Errorf("other protocols: error %d, generation %d, protocol %s; want 0, %d, sticky", code, other.generation, deref(other.last.Protocol), follower.generation+1)
	}
}

func TestStatic_RestartWhileCompletingRebalance_Rebalance(t *testing.T) {
	c := one(t)
	leader, follower := staticPair(t, c, "g-"+topicName(t))
	j := leader.startJoin(t) // a leader's rejoin starts a rebalance
	follower.waitHeartbeat(t, 27, 10*time.Second)
	follower.join(t)
	if code := j.finish(t, wire.Timeout); code != 0 {
		t.Fatalf("join: error %d", code)
	}
	generation := follower.generation // nobody has synced
	fresh := restarted(t, c, follower)
	j = fresh.startJoin(t)
	leader.waitHeartbeat(t, 27, 10*time.Second)
	leader.join(t)
	if code := j.finish(t, wire.Timeout); code != 0 || fresh.generation != generation+1 {
		t.Errorf("error %d, generation %d, want %d", code, fresh.generation, generation+1)
	}
}

// TestStatic_TwoAtOnce_OneFenced: the one that waits in a join with the older id ends with 82.
func TestStatic_TwoAtOnce_OneFenced(t *testing.T) {
	c := one(t)
	leader, follower := staticPair(t, c, "g-"+topicName(t))
	follower.metadata = subscription("other") // its join has to wait for the leader
	waiting := follower.startJoin(t)
	leader.waitHeartbeat(t, 27, 10*time.Second)
	fresh := restarted(t, c, follower)
	second := fresh.startJoin(t)
	if code := waiting.finish(t, 5*time.Second); code != 82 {
		t.Errorf("the join of the older id: error %d, want 82", code)
	}
	leader.join(t)
	if code := second.finish(t, wire.Timeout); code != 0 {
		t.Errorf("the join of the newer: error %d", code)
	}
}

func TestStatic_LeaveByInstance(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	leader, follower := staticPair(t, c, group)
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, instance := range []string{follower.instance, "no-such"} {
		x := kmsg.NewLeaveGroupRequestMember()
		x.InstanceID = &instance
		req.Members = append(req.Members, x)
	}
	r, err := leader.conn.Do(req, 3)
	if err != nil {
		t.Fatal(err)
	}
	l := r.(*kmsg.LeaveGroupResponse)
	codes := []int16{}
	for _, m := range l.Members {
		codes = append(codes, m.ErrorCode)
	}
	if l.ErrorCode != 0 || !slices.Equal(codes, []int16{0, 25}) {
		t.Errorf("leave: error %d, members %v; want 0 and 25", l.ErrorCode, codes)
	}
	leader.waitHeartbeat(t, 27, 10*time.Second)
}

// TestStatic_CoordinatorRestarts_MappingKept: no member is fenced by a coordinator that only came back.
func TestStatic_CoordinatorRestarts_MappingKept(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	leader, follower := staticPair(t, c, "g")
	b := c.Brokers[0]
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, b)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	addr := coordinator(t, c, "g").Addr()
	for _, m := range []*member{leader, follower} {
		m.conn = dial(t, addr)
		if code := m.heartbeat(t); code != 0 {
			t.Errorf("heartbeat of %s after the restart: error %d, want 0", m.instance, code)
		}
	}
	fresh := restarted(t, c, follower)
	if code := fresh.tryJoin(t); code != 0 || fresh.generation != follower.generation {
		t.Errorf("rejoin after the restart: error %d, generation %d, want %d", code, fresh.generation, follower.generation)
	}
	if r := fresh.sync(t, nil); r.ErrorCode != 0 || string(r.MemberAssignment) != follower.id {
		t.Errorf("sync: error %d, assignment %q; want the old one back", r.ErrorCode, r.MemberAssignment)
	}
}
