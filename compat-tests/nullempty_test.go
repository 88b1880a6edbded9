//go:build compat

package compat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// TestMetadata_NullIsAllEmptyIsNone: since v1 null asks for all topics and an empty list for none; v0 has only the empty list, for all.
func TestMetadata_NullIsAllEmptyIsNone(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	a, b := topicName(t)+"-a", topicName(t)+"-b"
	createTopic(t, c, a, 1, 1)
	createTopic(t, c, b, 1, 1)
	for _, version := range []int16{0, 1, 4, 8, 9, 10, 12} {
		for _, empty := range []bool{false, true} {
			t.Run(fmt.Sprintf("v%d empty %v", version, empty), func(t *testing.T) {
				req := kmsg.NewPtrMetadataRequest()
				if empty {
					req.Topics = []kmsg.MetadataRequestTopic{}
				}
				r := ask[*kmsg.MetadataResponse](t, addr, req, version)
				var names []string
				for _, topic := range r.Topics {
					names = append(names, deref(topic.Topic))
				}
				if all := version == 0 || !empty; all && (!slices.Contains(names, a) || !slices.Contains(names, b)) {
					t.Errorf("all topics asked for, got %v", names)
				} else if !all && len(names) != 0 {
					t.Errorf("no topic asked for, got %v", names)
				}
				if len(r.Brokers) != 1 || (version >= 1 && r.ControllerID != 1) {
					t.Errorf("%d brokers, controller %d", len(r.Brokers), r.ControllerID)
				}
			})
		}
	}
}

func TestMetadata_AbsentStrings_AreNull(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	for _, version := range []int16{1, 2, 9, 12} {
		r := ask[*kmsg.MetadataResponse](t, addr, wire.NewMetadata(), version)
		if r.Brokers[0].Rack != nil {
			t.Errorf("v%d: rack %q of a broker without one, want null", version, *r.Brokers[0].Rack)
		}
		if version >= 2 && (r.ClusterID == nil || *r.ClusterID == "") {
			t.Errorf("v%d: no cluster id", version)
		}
	}
}

func TestOffsetFetch_NullIsAllEmptyIsNone(t *testing.T) {
	c := one(t)
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 3, 1)
	addr := coordinator(t, c, group).Addr()
	commit := wire.NewCommit(group, "", -1, wire.Commit{Topic: topic, Partition: 0, Offset: 5}, wire.Commit{Topic: topic, Partition: 2, Offset: 7})
	if r := ask[*kmsg.OffsetCommitResponse](t, addr, commit, 8); r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("commit: error %d", r.Topics[0].Partitions[0].ErrorCode)
	}
	for version := int16(1); version <= 9; version++ {
		for _, empty := range []bool{false, true} {
			if version < 2 && !empty {
				continue // v0 and v1 have no null
			}
			t.Run(fmt.Sprintf("v%d empty %v", version, empty), func(t *testing.T) {
				want := 2
				if empty {
					want = 0
				}
				if n := fetchedOffsets(t, addr, group, version, empty); n != want {
					t.Errorf("%d offsets, want %d", n, want)
				}
			})
		}
	}
}

// fetchedOffsets asks for all (null) or none (empty) of a group's offsets and counts what comes.
func fetchedOffsets(t *testing.T, addr, group string, version int16, empty bool) int {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	g.MemberEpoch = -1
	if empty {
		req.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}
	req.Groups = append(req.Groups, g)
	r := ask[*kmsg.OffsetFetchResponse](t, addr, req, version)
	n := 0
	for _, topic := range r.Topics {
		n += len(topic.Partitions)
	}
	for _, answered := range r.Groups {
		if answered.ErrorCode != 0 {
			t.Errorf("group error %d", answered.ErrorCode)
		}
		for _, topic := range answered.Topics {
			n += len(topic.Partitions)
		}
	}
	if r.ErrorCode != 0 {
		t.Errorf("error %d", r.ErrorCode)
	}
	return n
}

func TestDescribeConfigs_NullAndEmptyAreAll(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "retention.ms", "12345")
	describeKeys := func(version int16, keys []string) []kmsg.DescribeConfigsResponseResourceConfig {
		req := kmsg.NewPtrDescribeConfigsRequest()
		x := kmsg.NewDescribeConfigsRequestResource()
		x.ResourceType, x.ResourceName, x.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, keys
		req.Resources = append(req.Resources, x)
		r := ask[*kmsg.DescribeConfigsResponse](t, addr, req, version)
		if r.Resources[0].ErrorCode != 0 {
			t.Fatalf("v%d: error %d", version, r.Resources[0].ErrorCode)
		}
		return r.Resources[0].Configs
	}
	for version := range int16(5) {
		all := describeKeys(version, nil)
		if len(all) < 25 {
			t.Errorf("v%d: null gives %d keys", version, len(all))
		}
		if n := len(describeKeys(version, []string{})); n != len(all) {
			t.Errorf("v%d: an empty list gives %d keys, null %d", version, n, len(all))
		}
		two := describeKeys(version, []string{"retention.ms", "segment.bytes"})
		if len(two) != 2 {
			t.Errorf("v%d: two keys give %d", version, len(two))
		}
		for _, entry := range two {
			if entry.Name == "retention.ms" && (deref(entry.Value) != "12345" || (version >= 1 && entry.Source != kmsg.ConfigSourceDynamicTopicConfig)) {
				t.Errorf("v%d: retention.ms is %s from %v", version, deref(entry.Value), entry.Source)
			}
			if entry.Name == "segment.bytes" && (deref(entry.Value) != "1073741824" || (version >= 1 && entry.Source != kmsg.ConfigSourceDefaultConfig)) {
				t.Errorf("v%d: segment.bytes is %s from %v", version, deref(entry.Value), entry.Source)
			}
		}
		if n := len(describeKeys(version, []string{"no.such"})); n != 0 {
			t.Errorf("v%d: an unknown key gives %d entries", version, n)
		}
	}
}

func TestEmptyLists_EmptyResults(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	create, remove := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrDeleteTopicsRequest()
	create.TimeoutMillis, remove.TimeoutMillis = 5000, 5000
	for _, version := range []int16{2, 4, 5, 7} {
		if r := ask[*kmsg.CreateTopicsResponse](t, addr, create, version); len(r.Topics) != 0 {
			t.Errorf("CreateTopics v%d: %d results", version, len(r.Topics))
		}
	}
	for _, version := range []int16{1, 3, 4, 5, 6} {
		if r := ask[*kmsg.DeleteTopicsResponse](t, addr, remove, version); len(r.Topics) != 0 {
			t.Errorf("DeleteTopics v%d: %d results", version, len(r.Topics))
		}
	}
	if r := ask[*kmsg.FindCoordinatorResponse](t, addr, kmsg.NewPtrFindCoordinatorRequest(), 4); len(r.Coordinators) != 0 || r.ErrorCode != 0 {
		t.Errorf("FindCoordinator v4 without keys: error %d, %d results", r.ErrorCode, len(r.Coordinators))
	}
	if r := ask[*kmsg.ListGroupsResponse](t, addr, kmsg.NewPtrListGroupsRequest(), 4); r.ErrorCode != 0 {
		t.Errorf("ListGroups v4 without states: error %d", r.ErrorCode)
	}
	if r := ask[*kmsg.DescribeGroupsResponse](t, addr, kmsg.NewPtrDescribeGroupsRequest(), 5); len(r.Groups) != 0 {
		t.Errorf("DescribeGroups without groups: %d results", len(r.Groups))
	}
	produce := wire.NewProduce(1)
	if r := ask[*kmsg.ProduceResponse](t, addr, produce, 9); len(r.Topics) != 0 {
		t.Errorf("Produce without topics: %d results", len(r.Topics))
	}
}
