package assignor

import (
	"cmp"
	"slices"

	"jackdaw/metadata"
)

// Member is one member as an assignor sees it.
type Member struct {
	ID string
	// InstanceID is nil for a dynamic member.
	InstanceID *string
	// Topics are those that the member subscribes to and that exist, in order.
	Topics []metadata.TopicID
	// Owned is what the member was given last time.
	Owned Partitions
}

func (m *Member) subscribes(topic metadata.TopicID) bool {
	_, ok := slices.BinarySearchFunc(m.Topics, topic, compareIDs)
	return ok
}

// Assignor gives each partition of the topics to one of the members that subscribe to the topic. counts are the numbers of
// partitions; every member is in the result.
type Assignor func(members []Member, counts map[metadata.TopicID]int32) map[string]Partitions

// Names of the assignors, as clients and group.consumer.assignors have them.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// ByName returns an assignor, nil if there is none of that name.
func ByName(name string) Assignor {
	switch name {
	case UniformName:
		return Uniform
	case RangeName:
		return Range
	default:
		return nil
	}
}

// sameTopics reports whether all members subscribe to the same topics. Kafka: SubscriptionType.HOMOGENEOUS.
func sameTopics(members []Member) bool {
	for i := range members {
		if !slices.Equal(members[i].Topics, members[0].Topics) {
			return false
		}
	}
	return true
}

// byID returns the members in the order of their ids.
func byID(members []Member) []*Member {
	out := make([]*Member, len(members))
	for i := range members {
		out[i] = &members[i]
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
