package service

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
)

func staticJoin(version int16, instance, memberID string) *kmsg.JoinGroupRequest {
	r := joinReq(version, memberID)
	r.InstanceID = kmsg.StringPtr(instance)
	r.SessionTimeoutMillis = 30_000
	return r
}

// staticPair makes a Stable group of i1, the leader, and i2.
func (w *world) staticPair(version int16) (a, b string) {
	w.t.Helper()
	ja, jb := w.join(staticJoin(version, "i1", "")), w.join(staticJoin(version, "i2", ""))
	a, b = (<-ja).MemberID, (<-jb).MemberID
	<-w.sync(5, a, 1, map[string]string{a: "A", b: "B"})
	w.wantCode("sync", (<-w.sync(5, b, 1, nil)).ErrorCode, nil)
	return a, b
}

func (w *world) staticHeartbeat(instance, memberID string, generation int32) int16 {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = 4, "g", memberID, generation, &instance
	return w.g.Heartbeat(w.ctx(), r).ErrorCode
}

func slowStart(c *group.Config) { c.InitialRebalanceDelay = time.Second }

func TestStatic_Restart_KeepsAssignmentWithoutRebalance(t *testing.T) {
	for _, c := range []struct {
		name     string
		version  int16
		instance string
		assigned string
	}{
		{"a follower, JoinGroup 5", 5, "i2", "B"},
		{"a follower, JoinGroup 9", 9, "i2", "B"},
		{"the leader, JoinGroup 5", 5, "i1", "A"},
		{"the leader, JoinGroup 9", 9, "i1", "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, slowStart, func(t *testing.T, w *world) {
				a, b := w.staticPair(c.version)
				old := map[string]string{"i1": a, "i2": b}[c.instance]
				r := <-w.join(staticJoin(c.version, c.instance, ""))
				w.wantCode("restart", r.ErrorCode, nil)
				if r.MemberID == old || r.Generation != 1 {
					t.Errorf("member id %s, generation %d", r.MemberID, r.Generation)
				}
				switch leads := c.instance == "i1"; {
				case leads && c.version >= 9:
					if !r.SkipAssignment || r.LeaderID != r.MemberID || len(r.Members) != 2 {
						t.Errorf("skip %v, leader %s, %d members", r.SkipAssignment, r.LeaderID, len(r.Members))
					}
				default: // whoever it is, it is told the leader that it knows, and so is none
					if r.SkipAssignment || r.LeaderID != a || len(r.Members) != 0 {
						t.Errorf("skip %v, leader %s, %d members", r.SkipAssignment, r.LeaderID, len(r.Members))
					}
				}
				s := <-w.sync(5, r.MemberID, 1, nil)
				if s.ErrorCode != 0 || string(s.MemberAssignment) != c.assigned {
					t.Errorf("code %d, assignment %q", s.ErrorCode, s.MemberAssignment)
				}
				w.wantCode("the old id", w.staticHeartbeat(c.instance, old, 1), kerr.FencedInstanceID)
				w.wantCode("the new id", w.staticHeartbeat(c.instance, r.MemberID, 1), nil)

				w.elect() // the mapping is persisted: no false 82 after a move
				w.wantCode("the old id, elsewhere", w.staticHeartbeat(c.instance, old, 1), kerr.FencedInstanceID)
				w.wantCode("the new id, elsewhere", w.staticHeartbeat(c.instance, r.MemberID, 1), nil)
			})
		})
	}
}

func TestStatic_RestartInCompletingRebalance_Rebalances(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		ja, jb := w.join(staticJoin(5, "i1", "")), w.join(staticJoin(5, "i2", ""))
		a := (<-ja).MemberID
		<-jb
		restarted := w.join(staticJoin(5, "i2", ""))
		pending(t, restarted, "the restarted member's join")
		w.wantCode("the leader's sync", (<-w.sync(5, a, 1, map[string]string{a: "A"})).ErrorCode, kerr.RebalanceInProgress)
		if r := <-w.join(staticJoin(5, "i1", a)); r.Generation != 2 || len(r.Members) != 2 {
			t.Errorf("generation %d, %d members", r.Generation, len(r.Members))
		}
		w.wantCode("restart", (<-restarted).ErrorCode, nil)
	})
}

func TestStatic_TwoAtOnce_OneIsFencedAtOnce(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		first := w.join(staticJoin(5, "i1", ""))
		second := w.join(staticJoin(5, "i1", ""))
		w.wantCode("the first", (<-first).ErrorCode, kerr.FencedInstanceID)
		w.wantCode("the second", (<-second).ErrorCode, nil)
	})
}

func TestStatic_OldIDSyncsAndCommits_Fenced(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		_, b := w.staticPair(5)
		<-w.join(staticJoin(5, "i2", ""))
		s := kmsg.NewPtrSyncGroupRequest()
		s.Version, s.Group, s.MemberID, s.Generation, s.InstanceID = 4, "g", b, 1, kmsg.StringPtr("i2")
		w.wantCode("sync", w.g.Sync(w.ctx(), s).ErrorCode, kerr.FencedInstanceID)
		c := commitReq(8, tp("t", 0))
		c.MemberID, c.Generation, c.InstanceID = b, 1, kmsg.StringPtr("i2")
		w.wantCode("commit", codes(w.g.OffsetCommit(w.ctx(), c, nil))[0], kerr.FencedInstanceID)
		w.wantCode("join", (<-w.join(staticJoin(5, "i2", b))).ErrorCode, kerr.FencedInstanceID)
	})
}

func TestStatic_LeaveByInstanceID_Removed(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		w.staticPair(5)
		l := kmsg.NewPtrLeaveGroupRequest()
		l.Version, l.Group = 3, "g"
		l.Members = []kmsg.LeaveGroupRequestMember{{InstanceID: kmsg.StringPtr("i2")}, {InstanceID: kmsg.StringPtr("i9")}}
		r := w.g.Leave(w.ctx(), l)
		w.wantCode("i2", r.Members[0].ErrorCode, nil)
		w.wantCode("i9", r.Members[1].ErrorCode, kerr.UnknownMemberID)
		if n := len(w.describe("g").Members); n != 1 {
			t.Errorf("%d members", n)
		}
	})
}

func TestStatic_NewRebalanceTimeout_TakenOver(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		a, _ := w.staticPair(5)
		r := staticJoin(5, "i2", "")
		r.RebalanceTimeoutMillis, r.SessionTimeoutMillis = 200_000, 600_000
		restarted := (<-w.join(r)).MemberID
		lead := staticJoin(5, "i1", a)
		lead.SessionTimeoutMillis = 600_000
		j := w.join(lead) // the other one does not come: it has 200 s
		time.Sleep(199 * time.Second)
		pending(t, j, "the leader's join")
		time.Sleep(time.Second)
		synctest.Wait()
		got := <-j
		if got.Generation != 2 || len(got.Members) != 2 { // static members stay until their session ends
			t.Errorf("generation %d, %d members", got.Generation, len(got.Members))
		}
		w.wantCode("still a member", w.staticHeartbeat("i2", restarted, 2), nil)
	})
}
