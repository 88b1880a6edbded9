package service

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
)

func TestJoin_PendingIDs_ExpireLeaveAndCount(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.MaxSize = 2 }, func(t *testing.T, w *world) {
		w.member(1)
		first := <-w.join(joinReq(4, ""))
		w.wantCode("no member id", first.ErrorCode, kerr.MemberIDRequired)
		if first.MemberID == "" {
			t.Error("no id came with MEMBER_ID_REQUIRED")
		}
		w.wantCode("past the limit", (<-w.join(joinReq(4, ""))).ErrorCode, kerr.GroupMaxSizeReached)
		w.leave(first.MemberID)

		second := <-w.join(joinReq(4, ""))
		w.wantCode("there is room again", second.ErrorCode, kerr.MemberIDRequired)
		time.Sleep(5 * time.Second)
		w.wantCode("the member lives", w.heartbeat("c-1", 1), nil)
		time.Sleep(6 * time.Second)
		w.wantCode("expired", (<-w.join(joinReq(4, second.MemberID))).ErrorCode, kerr.UnknownMemberID)
	})
}

func TestJoin_OthersLeaveOrDie_CompletesAtOnce(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				a := w.member(1)
				j := w.join(joinReq(3, "")) // waits for a
				pending(t, j, "the second join")
				start := time.Now()
				if !dies {
					w.leave(a)
				}
				r := <-j
				w.wantCode("join", r.ErrorCode, nil)
				limit := time.Duration(0)
				if dies {
					limit = 10 * time.Second // a's session
				}
				if d := time.Since(start); d > limit || r.Generation != 2 || len(r.Members) != 1 {
					t.Errorf("joined after %v in generation %d with %d members", d, r.Generation, len(r.Members))
				}
			})
		})
	}
}

func TestJoin_LastMemberExpiresWithPendingID_GroupEmpty(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.member(1)
		r := joinReq(4, "")
		r.SessionTimeoutMillis = 60_000
		<-w.join(r)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if d := w.describe("g"); d.State != "Empty" {
			t.Errorf("state %s", d.State)
		}
	})
}

// Fifty clients come, lose the answer after ten seconds and come again, while a slow member holds the rebalance.
func TestJoin_FiftyLostAnswers_GhostsEnd(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		slow := joinReq(3, "")
		slow.SessionTimeoutMillis, slow.RebalanceTimeoutMillis = 30_000, 3_600_000
		j := <-w.join(slow)
		<-w.sync(3, j.MemberID, 1, nil)
		most := 0
		for range 50 {
			ctx, cancel := context.WithCancelCause(w.ctx())
			ch := async(func() *kmsg.JoinGroupResponse { return w.g.Join(ctx, joinReq(3, ""), "lost", "/127.0.0.1") })
			time.Sleep(10 * time.Second)
			cancel(errGone)
			w.wantCode("a client that has gone", (<-ch).ErrorCode, kerr.RequestTimedOut)
			w.wantCode("the slow one lives", w.heartbeat(j.MemberID, 1), kerr.RebalanceInProgress)
			most = max(most, len(w.describe("g").Members))
		}
		if most > 32 { // 5 minutes of one each 10 s, and the slow one
			t.Errorf("the group grew to %d members", most)
		}
		for range 60 {
			time.Sleep(5 * time.Second)
			w.heartbeat(j.MemberID, 1)
		}
		if n := len(w.describe("g").Members); n != 1 {
			t.Errorf("%d members are left, want the slow one", n)
		}
	})
}

func TestJoin_Protocols_VotedAndChecked(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.InitialRebalanceDelay = time.Second }, func(t *testing.T, w *world) {
		names := func(ns ...string) []kmsg.JoinGroupRequestProtocol {
			var out []kmsg.JoinGroupRequestProtocol
			for _, n := range ns {
				out = append(out, kmsg.JoinGroupRequestProtocol{Name: n})
			}
			return out
		}
		var waits []<-chan *kmsg.JoinGroupResponse
		for _, ns := range [][]string{{"range", "sticky"}, {"sticky", "range"}, {"sticky", "range"}} {
			r := joinReq(7, "")
			r.Version, r.Protocols = 3, names(ns...)
			waits = append(waits, w.join(r))
		}
		for _, wait := range waits {
			if r := <-wait; r.ErrorCode != 0 || *r.Protocol != "sticky" {
				t.Errorf("code %d, protocol %v", r.ErrorCode, r.Protocol)
			}
		}
		for what, change := range map[string]func(*kmsg.JoinGroupRequest){
			"nothing in common": func(r *kmsg.JoinGroupRequest) { r.Protocols = names("x") },
			"no protocols":      func(r *kmsg.JoinGroupRequest) { r.Protocols = nil },
			"other type":        func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" },
			"no type":           func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" },
		} {
			r := joinReq(3, "")
			change(r)
			w.wantCode(what, (<-w.join(r)).ErrorCode, kerr.InconsistentGroupProtocol)
		}
	})
}

func TestSync_Assignments_ByteForByte(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.InitialRebalanceDelay = time.Second }, func(t *testing.T, w *world) {
		a, b := w.join(joinReq(3, "")), w.join(joinReq(3, ""))
		ja, jb := <-a, <-b
		if ja.LeaderID != ja.MemberID || jb.LeaderID != ja.MemberID || len(ja.Members) != 2 || len(jb.Members) != 0 {
			t.Fatalf("leader %q, members %d and %d", ja.LeaderID, len(ja.Members), len(jb.Members))
		}
		sb := w.sync(5, jb.MemberID, 1, nil)
		pending(t, sb, "the follower's sync")
		sa := <-w.sync(5, ja.MemberID, 1, map[string]string{ja.MemberID: "\x00\xff"})
		if d := cmp.Diff([]byte("\x00\xff"), sa.MemberAssignment); d != "" {
			t.Error(d)
		}
		if r := <-sb; r.ErrorCode != 0 || len(r.MemberAssignment) != 0 || *r.Protocol != "range" {
			t.Errorf("%+v", r)
		}
	})
}

func TestRejoin_Stable_SameMetadataOnlyIsQuiet(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.InitialRebalanceDelay = time.Second }, func(t *testing.T, w *world) {
		a, b := w.join(joinReq(3, "")), w.join(joinReq(3, ""))
		leader, follower := (<-a).MemberID, (<-b).MemberID
		<-w.sync(3, leader, 1, nil)
		<-w.sync(3, follower, 1, nil)

		r := <-w.join(joinReq(3, follower))
		if r.ErrorCode != 0 || r.Generation != 1 {
			t.Errorf("follower, same metadata: code %d, generation %d", r.ErrorCode, r.Generation)
		}
		w.wantCode("no rebalance", w.heartbeat(leader, 1), nil)

		changed := joinReq(3, follower)
		changed.Protocols[0].Metadata = subscriptionTo("t", "u")
		j := w.join(changed)
		pending(t, j, "a changed subscription")
		w.wantCode("rebalance", w.heartbeat(leader, 1), kerr.RebalanceInProgress)
		if r := <-w.join(joinReq(3, leader)); r.Generation != 2 {
			t.Errorf("generation %d", r.Generation)
		}
		<-j
		<-w.sync(3, leader, 2, nil)
		j = w.join(joinReq(3, leader))
		pending(t, j, "the leader's join")
		w.wantCode("rebalance", w.heartbeat(follower, 2), kerr.RebalanceInProgress)
		<-w.join(changed)
		<-j
	})
}

func TestGroup_WrongRequests_RightCodes(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		id := w.member(1)
		for _, c := range []struct {
			what    string
			session int32
			group   string
			member  string
			want    *kerr.Error
		}{
			{"session 1 ms", 1, "g", "", kerr.InvalidSessionTimeout},
			{"session 1 h", 3_600_000, "g", "", kerr.InvalidSessionTimeout},
			{"empty group id", 10_000, "", "", kerr.InvalidGroupID},
			{"unknown group with a member id", 10_000, "none", "ghost", kerr.UnknownMemberID},
			{"unknown member", 10_000, "g", "ghost", kerr.UnknownMemberID},
		} {
			r := joinReq(9, c.member)
			r.SessionTimeoutMillis, r.Group = c.session, c.group
			got := <-w.join(r)
			w.wantCode(c.what, got.ErrorCode, c.want)
			if got.MemberID != c.member {
				t.Errorf("%s: member id %q, want %q", c.what, got.MemberID, c.member)
			}
		}
		w.wantCode("heartbeat of another generation", w.heartbeat(id, 2), kerr.IllegalGeneration)
		w.wantCode("sync of another generation", (<-w.sync(5, id, 2, nil)).ErrorCode, kerr.IllegalGeneration)
		c := commitReq(8, tp("t", 0))
		c.MemberID, c.Generation = id, 2
		w.wantCode("commit of another generation", codes(w.g.OffsetCommit(w.ctx(), c, nil))[0], kerr.IllegalGeneration)
		bare := kmsg.NewPtrSyncGroupRequest()
		bare.Version, bare.Group, bare.MemberID, bare.Generation = 5, "g", id, 1
		w.wantCode("sync 5 without protocol", w.g.Sync(w.ctx(), bare).ErrorCode, kerr.InconsistentGroupProtocol)
		h := kmsg.NewPtrHeartbeatRequest()
		h.Version = 4
		w.wantCode("heartbeat without group", w.g.Heartbeat(w.ctx(), h).ErrorCode, kerr.InvalidGroupID)
		l := kmsg.NewPtrLeaveGroupRequest()
		l.Version, l.Group = 5, "g"
		l.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "ghost"}, {MemberID: id}}
		got := w.g.Leave(w.ctx(), l)
		w.wantCode("leave", got.ErrorCode, nil)
		w.wantCode("a ghost leaves", got.Members[0].ErrorCode, kerr.UnknownMemberID)
		w.wantCode("a member leaves", got.Members[1].ErrorCode, nil)
	})
}

func TestJoin_InitialDelay_HonouredAndExtended(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.InitialRebalanceDelay = 3 * time.Second }, func(t *testing.T, w *world) {
		start := time.Now()
		a := w.join(joinReq(3, ""))
		time.Sleep(2 * time.Second)
		b := w.join(joinReq(3, ""))
		<-a
		<-b
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("joined after %v, want 6s", d)
		}
	})
}

// During a load the clients stay where they are: heartbeats are good, a sync is sent back to join.
func TestGroup_Loading_AnswersOfKafka(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		id := w.member(1)
		w.log.gate = make(chan struct{})
		w.elect()
		w.wantCode("heartbeat", w.heartbeat(id, 1), nil)
		w.wantCode("sync", (<-w.sync(5, id, 1, nil)).ErrorCode, kerr.RebalanceInProgress)
		w.wantCode("join", (<-w.join(joinReq(9, id))).ErrorCode, kerr.CoordinatorLoadInProgress)
		w.wantCode("commit", codes(w.g.OffsetCommit(w.ctx(), commitReq(8, tp("t", 0)), nil))[0], kerr.CoordinatorLoadInProgress)
		l := kmsg.NewPtrListGroupsRequest()
		l.Version = 5
		w.wantCode("list", w.g.List(w.ctx(), l).ErrorCode, kerr.CoordinatorLoadInProgress)
		close(w.log.gate)
		synctest.Wait()
		w.wantCode("heartbeat", w.heartbeat(id, 1), nil)
	})
}
