package assignor

import (
	"bytes"
	"maps"
	"slices"

	"jackdaw/metadata"
)

// Partitions is a set of partitions: of each topic a rising list that is not empty. It is not changed once it is made.
type Partitions map[metadata.TopicID][]int32

// Has reports whether a partition is in the set.
func (p Partitions) Has(topic metadata.TopicID, partition int32) bool {
	_, ok := slices.BinarySearch(p[topic], partition)
	return ok
}

// Equal reports whether both are the same set.
func (p Partitions) Equal(o Partitions) bool { return maps.EqualFunc(p, o, slices.Equal) }

// Topics returns the topics in order.
func (p Partitions) Topics() []metadata.TopicID {
	return slices.SortedFunc(maps.Keys(p), compareIDs)
}

// Len counts the partitions.
func (p Partitions) Len() int {
	n := 0
	for _, l := range p {
		n += len(l)
	}
	return n
}

// Filter returns those for which keep is true.
func (p Partitions) Filter(keep func(topic metadata.TopicID, partition int32) bool) Partitions {
	out := Partitions{}
	for t, l := range p {
		for _, n := range l {
			if keep(t, n) {
				out[t] = append(out[t], n)
			}
		}
	}
	return out
}

// Union returns the partitions of both sets.
func (p Partitions) Union(o Partitions) Partitions {
	out := make(Partitions, len(p))
	for t, l := range p {
		out[t] = slices.Clone(l)
	}
	for t, l := range o {
		out[t] = append(out[t], l...)
	}
	return out.normalize()
}

// Add puts partitions of a topic into a set that is being made; Partitions from outside need not be in order.
func (p Partitions) Add(topic metadata.TopicID, partitions ...int32) {
	if len(partitions) > 0 {
		p[topic] = append(p[topic], partitions...)
		slices.Sort(p[topic])
		p[topic] = slices.Compact(p[topic])
	}
}

// normalize sorts the lists of a set that is being made.
func (p Partitions) normalize() Partitions {
	for t, l := range p {
		slices.Sort(l)
		p[t] = slices.Compact(l)
	}
	return p
}

func compareIDs(a, b metadata.TopicID) int { return bytes.Compare(a[:], b[:]) }

// topicPartition is a partition by the id of its topic.
type topicPartition struct {
	topic     metadata.TopicID
	partition int32
}
