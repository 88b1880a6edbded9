package assignor

import (
	"cmp"
	"slices"

	"jackdaw/metadata"
)

// pair is the way of a partition from one member to another.
type pair struct{ from, to string }

// moves remembers where partitions came from, so that two members do not swap partitions of a topic: one goes home instead.
// Kafka: PartitionMovements.
type moves struct {
	byPartition map[topicPartition]pair
	byTopic     map[metadata.TopicID]map[pair][]topicPartition
}

func newMoves() moves {
	return moves{byPartition: map[topicPartition]pair{}, byTopic: map[metadata.TopicID]map[pair][]topicPartition{}}
}

// instead returns the partition to move between two members: one of the topic that had come the other way, else tp itself.
//
// Differs from Kafka: which also goes by where tp came from first, and then may take the other partition from a third member.
func (m *moves) instead(tp topicPartition, from, to string) topicPartition {
	if back := m.byTopic[tp.topic][pair{to, from}]; len(back) > 0 {
		return slices.MinFunc(back, func(a, b topicPartition) int { return cmp.Compare(a.partition, b.partition) })
	}
	return tp
}

// note records a move. What comes home counts as not moved.
func (m *moves) note(tp topicPartition, from, to string) {
	if p, ok := m.byPartition[tp]; ok {
		m.forget(tp, p)
		if p.from == to {
			return
		}
	}
	p := pair{from, to}
	m.byPartition[tp] = p
	if m.byTopic[tp.topic] == nil {
		m.byTopic[tp.topic] = map[pair][]topicPartition{}
	}
	m.byTopic[tp.topic][p] = append(m.byTopic[tp.topic][p], tp)
}

func (m *moves) forget(tp topicPartition, p pair) {
	delete(m.byPartition, tp)
	l := m.byTopic[tp.topic][p]
	m.byTopic[tp.topic][p] = slices.DeleteFunc(l, func(o topicPartition) bool { return o == tp })
}
