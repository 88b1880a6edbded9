//go:build compat

package compat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

func wantMembers(d kmsg.DescribeGroupsResponseGroup, n int) error {
	if len(d.Members) != n {
		return fmt.Errorf("%d members in state %s, want %d", len(d.Members), d.State, n)
	}
	return nil
}

// commitSimple commits an offset without being a member and returns the error code.
func commitSimple(t *testing.T, c *cluster.Cluster, group, topic string, offset int64) int16 {
	t.Helper()
	req := wire.NewCommit(group, "", -1, wire.Commit{Topic: topic, Offset: offset})
	return ask[*kmsg.OffsetCommitResponse](t, coordinator(t, c, group).Addr(), req, 8).Topics[0].Partitions[0].ErrorCode
}

func TestDescribeGroups_NeverExistedEmptyAndStable(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	never, empty, full := "never-"+topic, "empty-"+topic, "stable-"+topic
	if code := commitSimple(t, c, empty, topic, 3); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	m := newMember(t, c, full)
	m.join(t)
	m.syncAll(t)
	addr := coordinator(t, c, full).Addr()
	for version := int16(0); version <= 5; version++ {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{never, empty, full}
		states := map[string]string{}
		for _, g := range ask[*kmsg.DescribeGroupsResponse](t, addr, req, version).Groups {
			if g.ErrorCode != 0 {
				t.Errorf("v%d: %s: error %d", version, g.Group, g.ErrorCode)
			}
			states[g.Group] = fmt.Sprintf("%s/%d", g.State, len(g.Members))
		}
		want := map[string]string{never: "Dead/0", empty: "Empty/0", full: "Stable/1"}
		for g, s := range want {
			if states[g] != s {
				t.Errorf("v%d: %s is %s, want %s", version, g, states[g], s)
			}
		}
	}
	d := describe(t, c, full)
	if d.ProtocolType != "consumer" || d.Protocol != "range" || d.Members[0].MemberID != m.id ||
		string(d.Members[0].MemberAssignment) != m.id || d.Members[0].ClientHost != "/127.0.0.1" || d.Members[0].ClientID != "compat" {
		t.Errorf("description %+v", d)
	}
}

func TestListGroups_StatesFilter(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	empty, full := "empty-"+topic, "stable-"+topic
	if code := commitSimple(t, c, empty, topic, 3); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	m := newMember(t, c, full)
	m.join(t)
	m.syncAll(t)
	addr := coordinator(t, c, full).Addr()
	list := func(version int16, states ...string) map[string]string {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = states
		r := ask[*kmsg.ListGroupsResponse](t, addr, req, version)
		if r.ErrorCode != 0 {
			t.Errorf("v%d %v: error %d", version, states, r.ErrorCode)
		}
		got := map[string]string{}
		for _, g := range r.Groups {
			got[g.Group] = g.GroupState
		}
		return got
	}
	for version := int16(0); version <= 5; version++ {
		all := list(version)
		if _, ok := all[empty]; !ok || !slices.Contains([]string{"", "Stable"}, all[full]) {
			t.Errorf("v%d lists %v", version, all)
		}
	}
	for version := int16(4); version <= 5; version++ {
		if got := list(version, "Stable"); got[full] != "Stable" || got[empty] != "" {
			t.Errorf("v%d Stable: %v", version, got)
		}
		if got := list(version, "Empty"); got[empty] != "Empty" || got[full] != "" {
			t.Errorf("v%d Empty: %v", version, got)
		}
		if got := list(version, "nonsense"); len(got) != 0 {
			t.Errorf("v%d nonsense: %v", version, got)
		}
	}
}

func TestDeleteGroups_ByState(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	needVersion(t, addr, kmsg.DeleteGroups, 2)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	never, empty, full := "never-"+topic, "empty-"+topic, "stable-"+topic
	if code := commitSimple(t, c, empty, topic, 3); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	m := newMember(t, c, full)
	m.join(t)
	m.syncAll(t)
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{never, empty, full}
	got := map[string]int16{}
	for _, g := range ask[*kmsg.DeleteGroupsResponse](t, addr, req, 2).Groups {
		got[g.Group] = g.ErrorCode
	}
	for g, want := range map[string]int16{never: 69, empty: 0, full: 68} {
		if got[g] != want {
			t.Errorf("%s: error %d, want %d", g, got[g], want)
		}
	}
}

func TestOffsetDelete_Rules(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	needVersion(t, addr, kmsg.OffsetDelete, 0)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	group := "g-" + topic
	if code := commitSimple(t, c, group, topic, 3); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	remove := func(group, topic string, partition int32) (int16, int16) {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		x := kmsg.NewOffsetDeleteRequestTopic()
		x.Topic = topic
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = partition
		x.Partitions = append(x.Partitions, p)
		req.Topics = append(req.Topics, x)
		r := ask[*kmsg.OffsetDeleteResponse](t, addr, req, 0)
		if len(r.Topics) == 0 {
			return r.ErrorCode, 0
		}
		return r.ErrorCode, r.Topics[0].Partitions[0].ErrorCode
	}
	if top, _ := remove("never-"+topic, topic, 0); top != 69 {
		t.Errorf("unknown group: error %d, want 69", top)
	}
	if _, code := remove(group, "no-such", 0); code != 3 {
		t.Errorf("missing topic: error %d, want 3", code)
	}
	if _, code := remove(group, topic, 9); code != 3 {
		t.Errorf("missing partition: error %d, want 3", code)
	}
	if top, code := remove(group, topic, 0); top != 0 || code != 0 {
		t.Errorf("empty group: errors %d and %d", top, code)
	}
}

func TestOffsetFetch_UnknownGroup_MinusOne(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	group := "never-" + topic
	addr := coordinator(t, c, group).Addr()
	for version := int16(1); version <= 9; version++ {
		off, meta, code := fetchOffset(t, addr, group, topic, 0, version, false)
		if off != -1 || meta != "" || code != 0 {
			t.Errorf("v%d: offset %d, metadata %q, error %d; want -1, empty, 0", version, off, meta, code)
		}
	}
}

// fetchOffset asks for one committed offset at a version.
func fetchOffset(t *testing.T, addr, group, topic string, partition int32, version int16, requireStable bool) (offset int64, metadata string, code int16) {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, requireStable
	x := kmsg.NewOffsetFetchRequestTopic()
	x.Topic, x.Partitions = topic, []int32{partition}
	req.Topics = append(req.Topics, x)
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = group, -1
	y := kmsg.NewOffsetFetchRequestGroupTopic()
	y.Topic, y.Partitions = topic, []int32{partition}
	g.Topics = append(g.Topics, y)
	req.Groups = append(req.Groups, g)
	r := ask[*kmsg.OffsetFetchResponse](t, addr, req, version)
	if version >= 8 {
		p := r.Groups[0].Topics[0].Partitions[0]
		return p.Offset, deref(p.Metadata), max(p.ErrorCode, r.Groups[0].ErrorCode)
	}
	p := r.Topics[0].Partitions[0]
	return p.Offset, deref(p.Metadata), max(p.ErrorCode, r.ErrorCode)
}
