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

// joinAll lets members that have ids join together; the first error fails the test.
func joinAll(t *testing.T, members ...*member) {
	t.Helper()
	var sent []joining
	for _, m := range members {
		sent = append(sent, m.startJoin(t))
	}
	for _, j := range sent {
		if code := j.finish(t, wire.Timeout); code != 0 {
			t.Fatalf("join: error %d", code)
		}
	}
}

// stable makes a stable group of n members.
func stable(t *testing.T, c *cluster.Cluster, group string, n int) []*member {
	t.Helper()
	var members []*member
	for range n {
		members = append(members, newMember(t, c, group))
	}
	syncGeneration(t, members...)
	return members
}

// meet brings members into one generation, one after the other, and returns its leader. Nobody has synced the last generation.
func meet(t *testing.T, members ...*member) *member {
	t.Helper()
	members[0].join(t)
	for i := 1; i < len(members); i++ {
		syncEach(t, members[:i]...)
		if members[i].id == "" && members[i].instance == "" {
			members[i].getID(t)
		}
		newcomer := members[i].startJoin(t)
		for _, m := range members[:i] {
			m.waitHeartbeat(t, 27, 10*time.Second)
		}
		joinAll(t, members[:i]...)
		if code := newcomer.finish(t, wire.Timeout); code != 0 {
			t.Fatalf("join: error %d", code)
		}
	}
	return leaderAmong(t, members...)
}

func leaderAmong(t *testing.T, members ...*member) *member {
	t.Helper()
	i := slices.IndexFunc(members, (*member).leads)
	if i < 0 {
		t.Fatal("no leader among the members")
	}
	return members[i]
}

// syncEach syncs the members' generation, the leader first; each gets its own id as assignment.
func syncEach(t *testing.T, members ...*member) {
	t.Helper()
	leader := leaderAmong(t, members...)
	leader.syncAll(t)
	for _, m := range members {
		if m == leader {
			continue
		}
		if r := m.sync(t, nil); r.ErrorCode != 0 || string(r.MemberAssignment) != m.id {
			t.Fatalf("sync of %s: error %d, assignment %q", m.id, r.ErrorCode, r.MemberAssignment)
		}
	}
}

// syncGeneration is meet, and a sync of what it made.
func syncGeneration(t *testing.T, members ...*member) {
	t.Helper()
	meet(t, members...)
	syncEach(t, members...)
}

func TestJoin_WithoutAnID_MemberIDRequired(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	m := newMember(t, c, group)
	for version := int16(4); version <= 9; version++ {
		r, err := m.conn.Do(m.request(), version)
		if err != nil {
			t.Fatal(err)
		}
		if j := r.(*kmsg.JoinGroupResponse); j.ErrorCode != 79 || j.MemberID == "" {
			t.Errorf("v%d: error %d, member id %q", version, j.ErrorCode, j.MemberID)
		}
	}
	for version := int16(0); version < 4; version++ { // these join at once
		old := newMember(t, c, group+"-old")
		r, err := old.conn.Do(old.request(), version)
		if err != nil {
			t.Fatal(err)
		}
		j := r.(*kmsg.JoinGroupResponse)
		if j.ErrorCode != 0 || j.MemberID == "" {
			t.Errorf("v%d: error %d, member id %q", version, j.ErrorCode, j.MemberID)
		}
		old.id = j.MemberID
		old.leave(t)
	}
}

// TestJoin_PendingID_LeaveAndUse: an id that was handed out may leave, may be used, and may be used only while it is known.
func TestJoin_PendingID_LeaveAndUse(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	gone := newMember(t, c, group)
	gone.getID(t)
	gone.leave(t)
	if code := gone.tryJoin(t); code != 25 {
		t.Errorf("join with an id that left: error %d, want 25", code)
	}
	m := newMember(t, c, group)
	m.getID(t)
	m.join(t)
	m.syncAll(t)
	waitGroupState(t, c, group, "Stable", 1, 10*time.Second)
}

// TestJoin_MemberLeavesDuringRebalance_OthersGoOn: the join ends when all who are left have joined, not with the rebalance timeout.
func TestJoin_MemberLeavesDuringRebalance_OthersGoOn(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	members := stable(t, c, group, 3)
	leader := leaderAmong(t, members...)
	rest := slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == leader })
	comes, absent := rest[0], rest[1]
	leader.rebalance, comes.rebalance = 30000, 30000
	a := leader.startJoin(t) // a leader that comes again starts a rebalance
	comes.waitHeartbeat(t, 27, 10*time.Second)
	b := comes.startJoin(t)
	began := time.Now()
	absent.leave(t)
	if code := a.finish(t, wire.Timeout); code != 0 {
		t.Errorf("join: error %d", code)
	}
	if code := b.finish(t, wire.Timeout); code != 0 {
		t.Errorf("join: error %d", code)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the join ended %v after the last absent member left", took)
	}
}

// TestJoin_MemberDies_OthersAreTold: session expiry, the heartbeat's 27, a smaller generation.
func TestJoin_MemberDies_OthersAreTold(t *testing.T) {
	t.Parallel() // it mostly waits
	c := one(t)
	group := "g-" + topicName(t)
	alive, dead := newMember(t, c, group), newMember(t, c, group)
	dead.session = 6000
	syncGeneration(t, alive, dead)
	alive.waitHeartbeat(t, 27, 15*time.Second)
	alive.join(t)
	if alive.leads() && len(alive.last.Members) != 1 {
		t.Errorf("%d members after one died", len(alive.last.Members))
	}
	if code := dead.heartbeat(t); code != 25 {
		t.Errorf("heartbeat of the dead: error %d, want 25", code)
	}
}

// TestJoin_LastRealMemberExpires_GroupEmpty: a pending id keeps no group alive.
func TestJoin_LastRealMemberExpires_GroupEmpty(t *testing.T) {
	t.Parallel() // it mostly waits
	c := one(t)
	group := "g-" + topicName(t)
	m, pending := newMember(t, c, group), newMember(t, c, group)
	m.session = 6000
	m.join(t)
	m.syncAll(t)
	pending.session = 60000
	pending.getID(t)
	waitGroupState(t, c, group, "Empty", 0, 15*time.Second)
}

// TestJoin_OldClientsThatLoseTheAnswer_NoGhosts: a v0-v3 client that hangs up during its join leaves no member behind for long.
func TestJoin_OldClientsThatLoseTheAnswer_NoGhosts(t *testing.T) {
	t.Parallel() // it mostly waits
	c := one(t)
	group := "g-" + topicName(t)
	slow := newMember(t, c, group)
	slow.join(t)
	slow.syncAll(t)
	slow.session, slow.rebalance = 60000, 20000
	for range 50 {
		ghost := newMember(t, c, group)
		if _, err := ghost.conn.WriteRequest(wire.NewJoin(group, "", "range"), 3); err != nil {
			t.Fatal(err)
		}
		if err := ghost.conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	slow.waitHeartbeat(t, 27, 10*time.Second)
	// They were given 10 s sessions and send no heartbeat. Until then each join that is still under way, and each end of a
	// session, begins a rebalance, also between join and sync.
	cluster.Eventually(t, 40*time.Second, "group without ghosts", func() error {
		if code := slow.heartbeat(t); code == 27 {
			slow.join(t)
			if slow.leads() {
				if code := slow.sync(t, nil).ErrorCode; code != 0 && code != 27 {
					t.Fatalf("sync: error %d", code)
				}
			}
		}
		return wantMembers(describe(t, c, group), 1)
	})
}

func TestJoin_Protocols_TheOneAllSupport(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	a, b := newMember(t, c, group), newMember(t, c, group)
	a.protocols, b.protocols = []string{"range", "sticky"}, []string{"sticky", "range"}
	syncGeneration(t, a, b)
	chosen := deref(a.last.Protocol)
	if chosen != "range" && chosen != "sticky" {
		t.Errorf("protocol %q", chosen)
	}
	x := newMember(t, c, group)
	x.protocols = []string{"cooperative"}
	if code := x.tryJoin(t); code != 23 {
		t.Errorf("no common protocol: error %d, want 23", code)
	}
	y := newMember(t, c, group)
	req := y.request()
	req.ProtocolType = "connect"
	if r, err := y.conn.Do(req, 7); err != nil || r.(*kmsg.JoinGroupResponse).ErrorCode != 23 {
		t.Errorf("another protocol type: %+v, %v", r, err)
	}
	waitGroupState(t, c, group, "Stable", 2, 5*time.Second)
}

func TestSync_Assignments_ByteForByte(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	members := []*member{newMember(t, c, group), newMember(t, c, group), newMember(t, c, group)}
	leader := meet(t, members...)
	assignments := map[string][]byte{}
	blob := []byte{0, 1, 2, 255, 254, 0, 7}
	for i, m := range members {
		if i != 1 { // members[1] is not named
			assignments[m.id] = append(slices.Clone(blob), byte(i))
		}
	}
	for _, m := range append([]*member{leader}, members...) {
		r := m.sync(t, assignmentsOf(m, leader, assignments))
		if r.ErrorCode != 0 || !slices.Equal(r.MemberAssignment, assignments[m.id]) {
			t.Errorf("member %s: error %d, % x, want % x", m.id, r.ErrorCode, r.MemberAssignment, assignments[m.id])
		}
	}
}

func assignmentsOf(m, leader *member, all map[string][]byte) map[string][]byte {
	if m == leader {
		return all
	}
	return nil
}

// TestRejoin_Stable_FollowerKeepsGeneration: a follower that comes again unchanged disturbs nobody; a change, or the leader, does.
func TestRejoin_Stable_FollowerKeepsGeneration(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	members := stable(t, c, group, 2)
	leader, follower := members[0], members[1]
	if !leader.leads() {
		leader, follower = follower, leader
	}
	generation := leader.generation
	if code := follower.tryJoin(t); code != 0 || follower.generation != generation {
		t.Errorf("same metadata: error %d, generation %d, want %d", code, follower.generation, generation)
	}
	if code := leader.heartbeat(t); code != 0 {
		t.Errorf("the leader's heartbeat after it: error %d", code)
	}
	follower.metadata = subscription("other")
	j := follower.startJoin(t)
	leader.waitHeartbeat(t, 27, 10*time.Second)
	if code := leader.tryJoin(t); code != 0 {
		t.Errorf("leader: error %d", code)
	}
	if code := j.finish(t, wire.Timeout); code != 0 || follower.generation != generation+1 {
		t.Errorf("changed metadata: error %d, generation %d, want %d", code, follower.generation, generation+1)
	}
	l := leader
	if follower.leads() {
		l = follower
	}
	l.syncAll(t)
	j = l.startJoin(t)
	other := leader
	if l == leader {
		other = follower
	}
	other.sync(t, nil)
	other.waitHeartbeat(t, 27, 10*time.Second)
	other.join(t)
	if code := j.finish(t, wire.Timeout); code != 0 || l.generation != generation+2 {
		t.Errorf("the leader again: error %d, generation %d, want %d", code, l.generation, generation+2)
	}
}

func TestJoin_BadRequests(t *testing.T) {
	c := one(t)
	group := "g-" + topicName(t)
	m := newMember(t, c, group)
	for _, row := range []struct {
		name   string
		change func(*kmsg.JoinGroupRequest)
		want   int16
	}{
		{"session of 1 ms", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 }, 26},
		{"session of 1 h", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 3600000 }, 26},
		{"no group id", func(r *kmsg.JoinGroupRequest) { r.Group = "" }, 24},
		{"unknown member", func(r *kmsg.JoinGroupRequest) { r.MemberID = "ghost" }, 25},
		{"no protocols", func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }, 23},
		{"no protocol type", func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }, 23},
	} {
		for _, version := range []int16{3, 7, 9} {
			req := m.request()
			row.change(req)
			r, err := m.conn.Do(req, version)
			if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			if code := r.(*kmsg.JoinGroupResponse).ErrorCode; code != row.want {
				t.Errorf("%s v%d: error %d, want %d", row.name, version, code, row.want)
			}
		}
	}
	m.join(t)
	m.syncAll(t)
	wrong := *m
	wrong.generation += 5
	if code := wrong.heartbeat(t); code != 22 {
		t.Errorf("heartbeat of a wrong generation: error %d, want 22", code)
	}
	if r := wrong.sync(t, nil); r.ErrorCode != 22 {
		t.Errorf("sync of a wrong generation: error %d, want 22", r.ErrorCode)
	}
	commit := wire.NewCommit(group, m.id, m.generation+5, wire.Commit{Topic: "t"})
	r, err := m.conn.Do(commit, 8)
	if err != nil {
		t.Fatal(err)
	}
	if code := r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 22 && code != 3 {
		t.Errorf("commit of a wrong generation: error %d, want 22", code)
	}
	ghost := *m
	ghost.id = "ghost"
	if code := ghost.heartbeat(t); code != 25 {
		t.Errorf("heartbeat of a ghost: error %d, want 25", code)
	}
}

// TestJoin_InitialDelay_Kept: the first join of a new group waits for others to come.
func TestJoin_InitialDelay_Kept(t *testing.T) {
	t.Parallel() // it mostly waits
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"group.initial.rebalance.delay.ms": "2000"}})
	group := "g"
	a, b := newMember(t, c, group), newMember(t, c, group)
	a.getID(t)
	b.getID(t)
	began := time.Now()
	joinAll(t, a, b)
	if took := time.Since(began); took < 1900*time.Millisecond || took > 8*time.Second {
		t.Errorf("the first join took %v with a delay of 2 s", took)
	}
	if a.generation != 1 || b.generation != 1 {
		t.Errorf("generations %d and %d, want both in the first", a.generation, b.generation)
	}
}

func TestJoin_GroupMaxSize_Refused(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"group.max.size": "2"}})
	stable(t, c, "g", 2)
	x := newMember(t, c, "g")
	if code := x.tryJoin(t); code != 81 {
		t.Errorf("the third of two: error %d, want 81", code)
	}
	waitGroupState(t, c, "g", "Stable", 2, 5*time.Second)
}

// TestGroup_OtherBroker_NotCoordinator: only the leader of the group's offsets partition answers.
func TestGroup_OtherBroker_NotCoordinator(t *testing.T) {
	c := three(t)
	group := "g-" + topicName(t)
	at := coordinator(t, c, group)
	for _, b := range c.Brokers {
		if b == at {
			continue
		}
		r := ask[*kmsg.HeartbeatResponse](t, b.Addr(), wire.NewHeartbeat(group, "m", 1), 4)
		if r.ErrorCode != 16 {
			t.Errorf("heartbeat at broker %d: error %d, want 16", b.ID, r.ErrorCode)
		}
		j := ask[*kmsg.JoinGroupResponse](t, b.Addr(), wire.NewJoin(group, "", "range"), 7)
		if j.ErrorCode != 16 {
			t.Errorf("join at broker %d: error %d, want 16", b.ID, j.ErrorCode)
		}
	}
}
