package service

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
	"jackdaw/metadata"
)

// A member that is silent is out when its session has ended, to the moment, and not before; a new coordinator gives it the whole
// time again.
func TestConsumerHeartbeat_SilentMember_OutAfterSession(t *testing.T) {
	inWorld(t, consumersOn, func(t *testing.T, w *world) {
		w.useImage()
		s := &script{w: w}
		w.wantCode("join", s.discarded(beatOf{id: "a", topics: []string{"t"}}).ErrorCode, nil)
		time.Sleep(6*time.Second - time.Millisecond)
		w.wantCode("in time", s.discarded(beatOf{id: "a", epoch: 1}).ErrorCode, nil)
		time.Sleep(5 * time.Second)
		w.elect()
		time.Sleep(6*time.Second - time.Millisecond)
		w.wantCode("in time after the fail-over", s.discarded(beatOf{id: "a", epoch: 1}).ErrorCode, nil)
		time.Sleep(6*time.Second + time.Millisecond)
		w.wantCode("too late", s.discarded(beatOf{id: "a", epoch: 1}).ErrorCode, kerr.UnknownMemberID)
	})
}

// A member that goes on without giving up what it must is out when its rebalance time-out has ended, whatever heartbeats it sends.
func TestConsumerHeartbeat_KeepsPartitions_OutAfterRebalanceTimeout(t *testing.T) {
	inWorld(t, consumersOn, func(t *testing.T, w *world) {
		w.useImage()
		s := &script{w: w}
		s.discarded(beatOf{id: "a", topics: []string{"t"}}) // 3 s
		s.discarded(beatOf{id: "b", topics: []string{"t"}})
		for range 3 {
			w.wantCode("still there", s.discarded(beatOf{id: "a", epoch: 1, owned: []string{"t-0", "t-2"}}).ErrorCode, nil)
			time.Sleep(time.Second - time.Millisecond)
		}
		time.Sleep(4 * time.Millisecond)
		w.wantCode("out", s.discarded(beatOf{id: "a", epoch: 1}).ErrorCode, kerr.UnknownMemberID)
		if r := s.discarded(beatOf{id: "b", epoch: 2}); r.Assignment == nil || len(r.Assignment.Topics[0].Partitions) != 4 {
			t.Errorf("the other one got %+v", r)
		}
	})
}

// An answer waits for the commit, also of one who wrote nothing; when that takes too long, the client is told to try elsewhere.
func TestConsumerHeartbeat_UncommittedWrite_AnswerWaits(t *testing.T) {
	inWorld(t, consumersOn, func(t *testing.T, w *world) {
		w.useImage()
		s := &script{w: w}
		w.log.hold()
		join := async(func() *kmsg.ConsumerGroupHeartbeatResponse {
			return s.discarded(beatOf{id: "a", topics: []string{"t"}})
		})
		pending(t, join, "the join")
		again := async(func() *kmsg.ConsumerGroupHeartbeatResponse { return s.discarded(beatOf{id: "a", epoch: 1}) })
		pending(t, again, "the heartbeat")
		w.log.release()
		w.wantCode("join", (<-join).ErrorCode, nil)
		w.wantCode("heartbeat", (<-again).ErrorCode, nil)
		w.log.hold()
		w.wantCode("never committed", s.discarded(beatOf{id: "b", topics: []string{"t"}}).ErrorCode, kerr.CoordinatorNotAvailable)
		w.log.release()
		synctest.Wait()
		w.wantCode("committed late", s.discarded(beatOf{id: "b", topics: []string{"t"}}).ErrorCode, nil)
	})
}

// Without the switch nothing is served; before the topics are known the group loads.
func TestConsumerHeartbeat_OffOrBlind_Refused(t *testing.T) {
	inWorld(t, nil, func(_ *testing.T, w *world) {
		s := &script{w: w}
		w.wantCode("off", s.discarded(beatOf{id: "a", topics: []string{"t"}}).ErrorCode, kerr.UnsupportedVersion)
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups = []string{"g"}
		w.wantCode("describe", w.g.DescribeConsumers(w.ctx(), r).Groups[0].ErrorCode, kerr.UnsupportedVersion)
	})
	inWorld(t, consumersOn, func(_ *testing.T, w *world) {
		s := &script{w: w}
		w.g.cfg.Image = metadata.NewImage
		w.wantCode("no topics yet", s.discarded(beatOf{id: "a", topics: []string{"t"}}).ErrorCode, kerr.CoordinatorLoadInProgress)
	})
	inWorld(t, func(c *group.Config) { consumersOn(c); c.Consumer.MaxSize = 1 }, func(t *testing.T, w *world) {
		w.useImage()
		s := &script{w: w}
		if r := s.discarded(beatOf{topics: []string{"t"}}); r.MemberID == nil || len(*r.MemberID) != 22 {
			t.Errorf("no id was given: %+v", r)
		}
		w.wantCode("full", s.discarded(beatOf{topics: []string{"t"}}).ErrorCode, kerr.GroupMaxSizeReached)
	})
}
