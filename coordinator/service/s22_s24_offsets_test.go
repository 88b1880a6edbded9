package service

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func shortRetention(c *group.Config) {
	c.OffsetsRetention, c.RetentionCheckInterval = time.Minute, 5*time.Second
}

func (w *world) commit(r *kmsg.OffsetCommitRequest) {
	w.t.Helper()
	for _, c := range codes(w.g.OffsetCommit(w.ctx(), r, nil)) {
		w.wantCode("commit", c, nil)
	}
}

func (w *world) memberCommit(id string, generation int32, tps ...metadata.TopicPartition) {
	w.t.Helper()
	r := commitReq(8, tps...)
	r.MemberID, r.Generation = id, generation
	w.commit(r)
}

func (w *world) stayAlive(id string, generation int32, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(5 * time.Second)
		w.heartbeat(id, generation)
	}
}

func TestExpiry_ActiveMember_OnlyUnsubscribedTopics(t *testing.T) {
	inWorld(t, shortRetention, func(t *testing.T, w *world) {
		id := w.member(1) // subscribes to t
		w.memberCommit(id, 1, tp("t", 0), tp("u", 0))
		w.stayAlive(id, 1, 5*time.Minute)
		w.wantOffset(tp("t", 0), 5)
		w.wantOffset(tp("u", 0), -1)
	})
}

func TestExpiry_EndlessRebalance_Nothing(t *testing.T) {
	inWorld(t, shortRetention, func(t *testing.T, w *world) {
		r := joinReq(3, "")
		r.RebalanceTimeoutMillis = 1_000_000
		id := (<-w.join(r)).MemberID
		<-w.sync(3, id, 1, nil)
		w.memberCommit(id, 1, tp("t", 0), tp("u", 0))
		other := w.join(joinReq(3, ""))
		w.stayAlive(id, 1, 4*time.Minute)
		w.wantOffset(tp("t", 0), 5)
		w.wantOffset(tp("u", 0), 5)
		w.leave(id)
		<-other
	})
}

func TestExpiry_LastMemberLeaves_MinuteAfterEmpty(t *testing.T) {
	inWorld(t, shortRetention, func(t *testing.T, w *world) {
		id := w.member(1)
		w.memberCommit(id, 1, tp("t", 0))
		w.stayAlive(id, 1, 2*time.Minute)
		w.leave(id)
		time.Sleep(40 * time.Second)
		w.elect() // a move changes no expiry
		time.Sleep(19 * time.Second)
		w.wantOffset(tp("t", 0), 5)
		time.Sleep(7 * time.Second)
		w.wantOffset(tp("t", 0), -1)
		if d := w.describe("g"); d.State != "Dead" {
			t.Errorf("state %s", d.State)
		}
		w.elect()
		w.wantOffset(tp("t", 0), -1)
	})
}

func TestExpiry_SimpleConsumer_MinuteAfterLastCommit(t *testing.T) {
	inWorld(t, shortRetention, func(t *testing.T, w *world) {
		for range 4 {
			w.commit(commitReq(8, tp("t", 0)))
			time.Sleep(30 * time.Second)
		}
		w.wantOffset(tp("t", 0), 5)
		time.Sleep(36 * time.Second)
		w.wantOffset(tp("t", 0), -1)
	})
}

func TestExpiry_TimesInTheRequest_ByVersion(t *testing.T) {
	inWorld(t, shortRetention, func(t *testing.T, w *world) {
		v1 := commitReq(1, tp("t", 1))
		v1.Topics[0].Partitions[0].Timestamp = time.Now().Add(-50 * time.Second).UnixMilli()
		w.commit(v1)
		now := commitReq(1, tp("t", 2))
		now.Topics[0].Partitions[0].Timestamp = -1
		w.commit(now)
		for v := int16(2); v <= 4; v++ {
			r := commitReq(v, tp("t", int32(v)+1))
			r.RetentionTimeMillis = 300_000
			w.commit(r)
		}
		v5 := commitReq(5, tp("t", 6))
		v5.RetentionTimeMillis = 300_000 // not in version 5
		w.commit(v5)

		time.Sleep(20 * time.Second)
		w.wantOffset(tp("t", 1), -1)
		w.wantOffset(tp("t", 2), 5)
		time.Sleep(60 * time.Second)
		w.wantOffset(tp("t", 2), -1)
		w.wantOffset(tp("t", 6), -1)
		w.elect()
		for p := int32(3); p <= 5; p++ {
			w.wantOffset(tp("t", p), 5)
		}
		time.Sleep(230 * time.Second)
		for p := int32(3); p <= 5; p++ {
			w.wantOffset(tp("t", p), -1)
		}
	})
}

func TestCommit_GoodAndBadPartitions_SideBySide(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		r := commitReq(8, tp("t", 0), tp("t", 99), tp("missing", 0), tp("t", 1))
		r.Topics[0].Partitions[2].Metadata = kmsg.StringPtr(strings.Repeat("x", 5000))
		want := []int16{0, kerr.UnknownTopicOrPartition.Code, kerr.OffsetMetadataTooLarge.Code, kerr.UnknownTopicOrPartition.Code}
		if d := cmp.Diff(want, codes(w.g.OffsetCommit(w.ctx(), r, nil))); d != "" {
			t.Error(d)
		}
		w.wantOffset(tp("t", 0), 5)
		w.wantOffset(tp("t", 1), -1) // nothing stays pending for the bad one
		w.elect()
		w.wantOffset(tp("t", 0), 5)
	})
}

func TestCommit_OddValues_ComeBack(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		r := commitReq(8, tp("t", 0))
		r.Topics[0].Partitions[0].Offset = -1
		w.commit(r)
		f := kmsg.NewPtrOffsetFetchRequest()
		f.Version, f.Group = 7, "g"
		p := w.g.OffsetFetch(w.ctx(), f, FetchDenied{}).Topics[0].Partitions[0]
		if p.Offset != -1 || p.LeaderEpoch != -1 || p.Metadata == nil || *p.Metadata != "" || p.ErrorCode != 0 {
			t.Errorf("%+v", p)
		}
	})
}

func TestCommit_WithoutMember_NewAndEmptyGroupsOnly(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		static := commitReq(8, tp("t", 0))
		static.InstanceID = kmsg.StringPtr("i1")
		w.commit(static)                   // new group
		w.commit(commitReq(8, tp("t", 0))) // Empty
		id := w.member(1)                  // Stable
		w.wantCode("Stable", codes(w.g.OffsetCommit(w.ctx(), commitReq(8, tp("t", 0)), nil))[0], kerr.UnknownMemberID)
		w.wantCode("Stable, instance id", codes(w.g.OffsetCommit(w.ctx(), static, nil))[0], kerr.UnknownMemberID)
		w.leave(id)
		w.commit(static)
	})
}

func TestCommit_DuringRebalance_AcceptedBeforeJoinRefusedBeforeSync(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		id := w.member(1)
		other := w.join(joinReq(3, ""))
		w.memberCommit(id, 1, tp("t", 0)) // PreparingRebalance
		w.wantOffset(tp("t", 0), 5)
		<-w.join(joinReq(3, id))
		<-other
		r := commitReq(8, tp("t", 0)) // CompletingRebalance
		r.MemberID, r.Generation = id, 2
		w.wantCode("CompletingRebalance", codes(w.g.OffsetCommit(w.ctx(), r, nil))[0], kerr.RebalanceInProgress)
	})
}

func TestCommit_LogSilent_TimedOutThenVisible(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.log.hold()
		start := time.Now()
		r := w.g.OffsetCommit(w.ctx(), commitReq(8, tp("t", 0)), nil)
		w.wantCode("commit", codes(r)[0], kerr.RequestTimedOut)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("after %v", d)
		}
		if _, code := w.offset(tp("t", 0), true); code != kerr.UnstableOffsetCommit.Code {
			t.Errorf("code %d while the write is in flight", code)
		}
		w.log.release()
		synctest.Wait()
		w.wantOffset(tp("t", 0), 5)
	})
}

func TestTxnOffsets_MarkerDecides_LaterRecordWins(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		p := w.g.PartitionFor("g")
		end := func(producer int64, typ record.MarkerType) {
			t.Helper()
			at := w.log.marker(p, producer, typ)
			if err := w.g.TxnCompleted(w.ctx(), p, producer, at, typ == record.Commit); err != nil {
				t.Error(err)
			}
		}
		txn := func(producer, offset int64) {
			t.Helper()
			r := kmsg.NewPtrTxnOffsetCommitRequest()
			r.Version, r.Group, r.ProducerID, r.Generation = 3, "g", producer, -1
			o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			o.Offset = offset
			r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{o}}}
			w.wantCode("TxnOffsetCommit", w.g.TxnOffsetCommit(w.ctx(), r, nil).Topics[0].Partitions[0].ErrorCode, nil)
		}
		txn(7, 10)
		if _, code := w.offset(tp("t", 0), true); code != kerr.UnstableOffsetCommit.Code {
			t.Errorf("code %d in an open transaction", code)
		}
		if off, code := w.offset(tp("t", 0), false); off != -1 || code != 0 {
			t.Errorf("offset %d, code %d without require_stable", off, code)
		}
		w.elect()
		end(7, record.Commit)
		w.wantOffset(tp("t", 0), 10)
		txn(7, 20)
		end(7, record.Abort)
		w.wantOffset(tp("t", 0), 10)
		txn(8, 30)
		w.commit(commitReq(8, tp("t", 0))) // 5, later in the log
		end(8, record.Commit)
		w.wantOffset(tp("t", 0), 5)
		w.elect()
		w.wantOffset(tp("t", 0), 5)
	})
}

// S04: null asks for all, an empty list for none; version 1 has no null.
func TestOffsetFetch_NullAndEmpty_AreTwoThings(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.commit(commitReq(8, tp("t", 0), tp("t", 1), tp("u", 0)))
		count := func(v int16, topics []kmsg.OffsetFetchRequestTopic) (n int) {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Version, r.Group, r.Topics = v, "g", topics
			for _, t := range w.g.OffsetFetch(w.ctx(), r, FetchDenied{}).Topics {
				n += len(t.Partitions)
			}
			return n
		}
		none := []kmsg.OffsetFetchRequestTopic{}
		for v := int16(1); v <= 7; v++ {
			want := 3
			if v == 1 {
				want = 0
			}
			if n := count(v, nil); n != want {
				t.Errorf("v%d null: %d offsets, want %d", v, n, want)
			}
			if n := count(v, none); n != 0 {
				t.Errorf("v%d empty: %d offsets", v, n)
			}
		}
		for v := int16(8); v <= 9; v++ {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Version = v
			r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}, {Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{}}, {Group: "none"}}
			got := w.g.OffsetFetch(w.ctx(), r, FetchDenied{}).Groups
			if len(got[0].Topics) != 2 || len(got[1].Topics) != 0 || len(got[2].Topics) != 0 || got[2].ErrorCode != 0 {
				t.Errorf("v%d: %+v", v, got)
			}
		}
	})
}

func TestOffsetFetch_NotCoordinator_CodeWhereTheVersionHasIt(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.g.Resigned(w.g.PartitionFor("g"), 99)
		for v := int16(1); v <= 9; v++ {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Version, r.Group = v, "g"
			r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
			r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
			resp := w.g.OffsetFetch(w.ctx(), r, FetchDenied{})
			code := resp.ErrorCode
			switch {
			case v == 1:
				code = resp.Topics[0].Partitions[0].ErrorCode
			case v >= 8:
				code = resp.Groups[0].ErrorCode
			}
			w.wantCode("fetch", code, kerr.NotCoordinator)
		}
	})
}

// Version 0 keeps offsets in ZooKeeper, apart from those of later versions.
func TestOffsets_Version0_InZooKeeper(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.commit(commitReq(0, tp("t", 0)))
		w.wantOffset(tp("t", 0), -1)
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Group = "g"
		r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}, {Topic: "missing", Partitions: []int32{0}}}
		got := w.g.OffsetFetch(w.ctx(), r, FetchDenied{}).Topics
		if p := got[0].Partitions[0]; p.Offset != 5 || p.ErrorCode != 0 {
			t.Errorf("%+v", p)
		}
		w.wantCode("never committed", got[0].Partitions[1].ErrorCode, kerr.UnknownTopicOrPartition)
		w.wantCode("missing topic", got[1].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	})
}
