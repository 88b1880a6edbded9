package service

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
	"jackdaw/coordinator/txn"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// Time-outs that no case beside this file waits for. The others: sessions and the initial delay TestJoin_OthersLeaveOrDie and
// TestJoin_InitialDelay, ids that nobody used TestJoin_PendingIDs, first joins TestJoin_FiftyLostAnswers, offsets TestExpiry_*,
// commits TestCommit_LogSilent, transactions TestTransaction_TimedOut, guards of verifications log/producer.

// A member that does not come back is out after the largest rebalance time-out, though it sends heartbeats.
func TestJoin_RebalanceTimeout_SlowMemberIsOut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		slow := w.member(1)
		j := w.join(joinReq(3, ""))
		w.stayAlive(slow, 1, 55*time.Second) // joinReq asks for 60 s
		pending(t, j, "the second join")
		time.Sleep(5 * time.Second)
		r := <-j
		if r.ErrorCode != 0 || r.Generation != 2 || len(r.Members) != 1 {
			t.Errorf("code %d, generation %d, %d members", r.ErrorCode, r.Generation, len(r.Members))
		}
		w.wantCode("the slow one", w.heartbeat(slow, 1), kerr.UnknownMemberID)
	})
}

// Members that joined and never ask for their assignment are out after the rebalance time-out.
func TestSync_NeverAsked_MemberIsOut(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		a, b := w.join(joinReq(3, "")), w.join(joinReq(3, ""))
		leader, silent := (<-a).MemberID, (<-b).MemberID
		w.wantCode("the leader's sync", (<-w.sync(3, leader, 1, nil)).ErrorCode, nil)
		for range 11 {
			time.Sleep(5 * time.Second)
			w.wantCode("the leader", w.heartbeat(leader, 1), nil)
			w.wantCode("the silent one", w.heartbeat(silent, 1), nil)
		}
		time.Sleep(5 * time.Second)
		w.wantCode("the leader", w.heartbeat(leader, 1), kerr.RebalanceInProgress)
		w.wantCode("the silent one", w.heartbeat(silent, 1), kerr.UnknownMemberID)
	})
}

// Members that keep coming prolong the initial delay, at most up to the rebalance time-out of the first.
func TestJoin_InitialDelayExtended_RebalanceTimeoutIsTheLimit(t *testing.T) {
	inWorld(t, func(c *group.Config) { c.InitialRebalanceDelay = 3 * time.Second }, func(t *testing.T, w *world) {
		start := time.Now()
		var joins []<-chan *kmsg.JoinGroupResponse
		for range 6 {
			r := joinReq(3, "")
			r.RebalanceTimeoutMillis = 10_000
			joins = append(joins, w.join(r))
			time.Sleep(1900 * time.Millisecond)
		}
		for _, j := range joins {
			<-j
		}
		if d := time.Since(start); d != 11400*time.Millisecond { // all had come by 9.5 s; the answers were there at 10 s
			t.Errorf("joined after %v", d)
		}
		if d := w.describe("g"); len(d.Members) != 6 || d.State != "CompletingRebalance" {
			t.Errorf("%s with %d members", d.State, len(d.Members))
		}
	})
}

// An id that was given out is used twice: the first join is answered, and it is one member.
func TestJoin_PendingIDTwice_OneMember(t *testing.T) {
	inWorld(t, slowStart, func(t *testing.T, w *world) {
		id := (<-w.join(joinReq(4, ""))).MemberID
		first := w.join(joinReq(4, id))
		pending(t, first, "the first join")
		second := w.join(joinReq(4, id))
		w.wantCode("the first", (<-first).ErrorCode, kerr.RebalanceInProgress)
		r := <-second
		w.wantCode("the second", r.ErrorCode, nil)
		if r.MemberID != id || len(r.Members) != 1 {
			t.Errorf("member %s of %d, want %s alone", r.MemberID, len(r.Members), id)
		}
	})
}

func TestTransactionalID_Idle_Forgotten(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		idle, used := w.producer("idle"), w.producer("used")
		time.Sleep(6 * 24 * time.Hour)
		w.mustAdd("used", used, tp("t", 0))
		w.wantCode("commit", w.end(3, "used", used, true), nil)
		w.wantState("idle", "Empty")
		time.Sleep(25 * time.Hour) // seven days, and a scan each hour
		w.wantState("idle", "")
		w.wantState("used", "CompleteCommit")
		if p := w.producer("idle"); p.ID == idle.ID || p.Epoch != 0 {
			t.Errorf("the forgotten id gets %+v again", p)
		}
	})
}

// The partition of __transaction_state is below min ISR while a producer tries fifty times: no try eats an epoch, neither of an
// idle id nor of one whose transaction must be aborted first.
func TestInitProducerID_BelowMinISRFiftyTimes_EatsNoEpoch(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		idle, open := w.producer("idle"), w.producer("open")
		w.mustAdd("open", open, tp("t", 0))
		w.log.refuseWith(kerr.NotEnoughReplicas)
		for range 50 {
			for _, id := range []string{"idle", "open", "new"} {
				w.wantCode(id, w.init(4, id, time.Minute, nil).ErrorCode, kerr.CoordinatorNotAvailable)
			}
		}
		w.wantState("open", "Ongoing")
		w.log.refuseWith(nil)
		if p, want := w.producer("idle"), (txn.Producer{ID: idle.ID, Epoch: 1}); p != want {
			t.Errorf("idle: %+v, want %+v", p, want)
		}
		if p := w.producer("new"); p.Epoch != 0 {
			t.Errorf("new: epoch %d", p.Epoch)
		}
		w.wantCode("open", w.init(4, "open", time.Minute, nil).ErrorCode, kerr.ConcurrentTransactions)
		synctest.Wait()
		if p, want := w.producer("open"), (txn.Producer{ID: open.ID, Epoch: 2}); p != want {
			t.Errorf("open: %+v, want %+v", p, want)
		}
	})
}

// The same with records that are in the log and not committed: the id waits for its own record, and one epoch is used.
func TestInitProducerID_RecordInDoubtFiftyTimes_OneEpoch(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.log.hold()
		w.wantCode("in doubt", w.init(4, "x", time.Minute, nil).ErrorCode, kerr.CoordinatorNotAvailable)
		for range 49 {
			w.wantCode("again", w.init(4, "x", time.Minute, nil).ErrorCode, kerr.ConcurrentTransactions)
		}
		w.log.release()
		synctest.Wait()
		if q, want := w.producer("x"), (txn.Producer{ID: p.ID, Epoch: 2}); q != want {
			t.Errorf("%+v, want %+v", q, want)
		}
	})
}

// Offsets in a transaction are stored in every state of the group, also without membership; a member's must be of its generation.
func TestTxnOffsets_GroupRebalances_Stored(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		id := w.member(1)
		commit := func(member string, generation int32, at metadata.TopicPartition) int16 {
			r := kmsg.NewPtrTxnOffsetCommitRequest()
			r.Version, r.Group, r.ProducerID, r.MemberID, r.Generation = 3, "g", 7, member, generation
			o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			o.Partition, o.Offset = at.Partition, 9
			r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: at.Topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{o}}}
			return w.g.TxnOffsetCommit(w.ctx(), r, nil).Topics[0].Partitions[0].ErrorCode
		}
		other := w.join(joinReq(3, ""))
		w.wantCode("preparing, member", commit(id, 1, tp("t", 0)), nil)
		w.wantCode("preparing, nobody", commit("", -1, tp("t", 1)), nil)
		<-w.join(joinReq(3, id))
		<-other
		w.wantCode("completing, member", commit(id, 2, tp("t", 2)), nil)
		w.wantCode("completing, old generation", commit(id, 1, tp("t", 3)), kerr.IllegalGeneration)
		at := w.log.marker(w.g.PartitionFor("g"), 7, record.Commit)
		if err := w.g.TxnCompleted(w.ctx(), w.g.PartitionFor("g"), 7, at, true); err != nil {
			t.Fatal(err)
		}
		for p, want := range []int64{9, 9, 9, -1} {
			w.wantOffset(tp("t", int32(p)), want)
		}
	})
}
