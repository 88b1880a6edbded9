package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func only(denied string) func(string) bool { return func(name string) bool { return name == denied } }

func TestDenied_Topics_AloneAreRefused(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.commit(commitReq(8, tp("u", 0)))
		no := kerr.TopicAuthorizationFailed.Code
		got := codes(w.g.OffsetCommit(w.ctx(), commitReq(8, tp("u", 0), tp("nope", 0), tp("t", 0)), only("u")))
		if d := cmp.Diff([]int16{no, kerr.UnknownTopicOrPartition.Code, 0}, got); d != "" {
			t.Error("commit", d)
		}
		deleted := w.g.OffsetDelete(w.ctx(), offsetDelete("g", tp("u", 0), tp("t", 1)), only("u"))
		if deleted.Topics[0].Partitions[0].ErrorCode != no || deleted.Topics[1].Partitions[0].ErrorCode != 0 {
			t.Errorf("delete %+v", deleted.Topics)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Version = 8
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{
			{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "u", Partitions: []int32{0}}, {Topic: "t", Partitions: []int32{0}}}},
			{Group: "g"},
			{Group: "secret"},
		}
		groups := w.g.OffsetFetch(w.ctx(), fetch, FetchDenied{Topic: only("u"), Group: only("secret")}).Groups
		if named := groups[0].Topics; len(named) != 2 || named[0].Partitions[0].Offset != 5 || named[1].Topic != "u" ||
			named[1].Partitions[0].ErrorCode != no || named[1].Partitions[0].Offset != -1 {
			t.Errorf("named topics: %+v", named)
		}
		if all := groups[1].Topics; len(all) != 1 || all[0].Topic != "t" {
			t.Errorf("all topics: %+v", all)
		}
		if groups[2].ErrorCode != kerr.GroupAuthorizationFailed.Code || len(groups[2].Topics) > 0 {
			t.Errorf("denied group: %+v", groups[2])
		}
	})
}
