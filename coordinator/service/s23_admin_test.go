package service

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// threeGroups makes "stable" with one member that subscribes to t, "empty" with offsets, and "connect" of another type.
func (w *world) threeGroups() {
	w.t.Helper()
	for name, typ := range map[string]string{"stable": "consumer", "connect": "connect"} {
		r := joinReq(3, "")
		r.Group, r.ProtocolType, r.SessionTimeoutMillis = name, typ, 600_000
		j := <-w.join(r)
		s := kmsg.NewPtrSyncGroupRequest()
		s.Version, s.Group, s.MemberID, s.Generation = 3, name, j.MemberID, 1
		w.wantCode("sync", w.g.Sync(w.ctx(), s).ErrorCode, nil)
		c := commitReq(8, tp("t", 0), tp("u", 0))
		c.Group, c.MemberID, c.Generation = name, j.MemberID, 1
		w.commit(c)
	}
	c := commitReq(8, tp("t", 0), tp("u", 0))
	c.Group = "empty"
	w.commit(c)
}

func TestDescribe_States_NoErrorForUnknown(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.threeGroups()
		for v := int16(0); v <= 5; v++ {
			r := kmsg.NewPtrDescribeGroupsRequest()
			r.Version, r.Groups = v, []string{"never", "empty", "stable", ""}
			var got []string
			for _, g := range w.g.Describe(w.ctx(), r).Groups {
				w.wantCode(g.Group, g.ErrorCode, nil)
				got = append(got, g.State)
			}
			if d := cmp.Diff([]string{"Dead", "Empty", "Stable", "Dead"}, got); d != "" {
				t.Errorf("v%d: %s", v, d)
			}
		}
		d := w.describe("stable")
		if len(d.Members) != 1 || d.Protocol != "range" || d.Members[0].ClientHost != "/127.0.0.1" {
			t.Errorf("%+v", d)
		}
	})
}

func TestList_Filters_ByStateAndType(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.threeGroups()
		for _, c := range []struct {
			name          string
			states, types []string
			want          map[string]string
		}{
			{"no filter", nil, nil, map[string]string{"stable": "Stable", "connect": "Stable", "empty": "Empty"}},
			{"Stable", []string{"Stable"}, nil, map[string]string{"stable": "Stable", "connect": "Stable"}},
			{"case does not count", []string{"eMPTY"}, nil, map[string]string{"empty": "Empty"}},
			{"nonsense", []string{"nonsense"}, nil, map[string]string{}},
			{"classic", []string{"Empty"}, []string{"Classic"}, map[string]string{"empty": "Empty"}},
			{"consumer", nil, []string{"consumer"}, map[string]string{}},
		} {
			r := kmsg.NewPtrListGroupsRequest()
			r.Version, r.StatesFilter, r.TypesFilter = 5, c.states, c.types
			resp := w.g.List(w.ctx(), r)
			got := map[string]string{}
			for _, g := range resp.Groups {
				got[g.Group] = g.GroupState
			}
			if d := cmp.Diff(c.want, got); d != "" || resp.ErrorCode != 0 {
				t.Errorf("%s: code %d, %s", c.name, resp.ErrorCode, d)
			}
		}
	})
}

func TestDelete_ThreeGroups_69_0_68(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.threeGroups()
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Version, r.Groups = 2, []string{"never", "empty", "stable"}
		got := w.g.Delete(w.ctx(), r).Groups
		w.wantCode("never", got[0].ErrorCode, kerr.GroupIDNotFound)
		w.wantCode("empty", got[1].ErrorCode, nil)
		w.wantCode("stable", got[2].ErrorCode, kerr.NonEmptyGroup)
		w.elect()
		if d := w.describe("empty"); d.State != "Dead" {
			t.Errorf("deleted group is %s after a move", d.State)
		}
	})
}

func offsetDelete(id string, tps ...metadata.TopicPartition) *kmsg.OffsetDeleteRequest {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = id
	for _, tp := range tps {
		r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{
			Topic: tp.Topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: tp.Partition}},
		})
	}
	return r
}

func TestOffsetDelete_Groups_RightCodes(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.threeGroups()
		all := []metadata.TopicPartition{tp("t", 0), tp("u", 0), tp("missing", 0), tp("t", 99)}
		unknown := kerr.UnknownTopicOrPartition.Code
		for _, c := range []struct {
			group string
			top   *kerr.Error
			want  []int16
		}{
			{"never", kerr.GroupIDNotFound, nil},
			{"stable", nil, []int16{kerr.GroupSubscribedToTopic.Code, 0, unknown, unknown}},
			{"empty", nil, []int16{0, 0, unknown, unknown}},
			{"connect", kerr.NonEmptyGroup, nil},
			{"", kerr.InvalidGroupID, nil},
		} {
			resp := w.g.OffsetDelete(w.ctx(), offsetDelete(c.group, all...), nil)
			w.wantCode(c.group, resp.ErrorCode, c.top)
			var got []int16
			for _, t := range resp.Topics {
				got = append(got, t.Partitions[0].ErrorCode)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", c.group, d)
			}
		}
	})
}

func TestAdmin_OtherBroker_NotCoordinator(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for p := range int32(testPartitions) {
			w.g.Resigned(p, 99)
		}
		synctest.Wait()
		w.wantCode("describe", w.describe("g").ErrorCode, kerr.NotCoordinator)
		d := kmsg.NewPtrDeleteGroupsRequest()
		d.Version, d.Groups = 2, []string{"g"}
		w.wantCode("delete", w.g.Delete(w.ctx(), d).Groups[0].ErrorCode, kerr.NotCoordinator)
		w.wantCode("offset delete", w.g.OffsetDelete(w.ctx(), offsetDelete("g", tp("t", 0)), nil).ErrorCode, kerr.NotCoordinator)
		w.wantCode("commit", codes(w.g.OffsetCommit(w.ctx(), commitReq(8, tp("t", 0)), nil))[0], kerr.NotCoordinator)
		w.wantCode("join", (<-w.join(joinReq(9, ""))).ErrorCode, kerr.NotCoordinator)
		w.wantCode("heartbeat", w.heartbeat("x", 1), kerr.NotCoordinator)
		l := kmsg.NewPtrListGroupsRequest()
		l.Version = 5
		if r := w.g.List(w.ctx(), l); r.ErrorCode != 0 || len(r.Groups) != 0 {
			t.Errorf("%+v", r)
		}
	})
}
