package assignor

import (
	"cmp"
	"slices"

	"jackdaw/metadata"
)

// Uniform gives all members as many partitions as possible the same number, and moves as few as that allows.
// Kafka: UniformAssignor.
func Uniform(members []Member, counts map[metadata.TopicID]int32) map[string]Partitions {
	if len(members) == 0 {
		return nil
	}
	if sameTopics(members) {
		return uniformAlike(members, counts)
	}
	return newBalancer(members, counts).run()
}

// uniformAlike is Uniform for members that subscribe to the same topics: each keeps what it has up to its quota, and what is
// left goes to those below theirs. Those who hold most come first, so that a partition that not all can have more than others
// stays where it is. Kafka: UniformHomogeneousAssignmentBuilder.
func uniformAlike(members []Member, counts map[metadata.TopicID]int32) map[string]Partitions {
	taken := map[topicPartition]bool{}
	held := make(map[string][]topicPartition, len(members))
	order := byID(members)
	for _, m := range order {
		held[m.ID] = m.stillOwned(counts, taken)
	}
	slices.SortStableFunc(order, func(a, b *Member) int { return cmp.Compare(len(held[b.ID]), len(held[a.ID])) })

	free, total := freePartitions(members[0].Topics, counts, taken)
	quota, extra := total/len(members), total%len(members)
	quotas := make([]int, len(order))
	for i, m := range order {
		quotas[i] = quota
		if i < extra {
			quotas[i]++
		}
		if h := held[m.ID]; len(h) > quotas[i] {
			free = append(free, h[quotas[i]:]...)
			held[m.ID] = h[:quotas[i]:quotas[i]]
		}
	}
	out := make(map[string]Partitions, len(members))
	for i, m := range order {
		n := min(quotas[i]-len(held[m.ID]), len(free))
		out[m.ID] = setOf(append(held[m.ID], free[:n]...))
		free = free[n:]
	}
	return out
}

// stillOwned returns, in order, what a member was given and may keep: subscribed, existing, and not taken by another.
func (m *Member) stillOwned(counts map[metadata.TopicID]int32, taken map[topicPartition]bool) []topicPartition {
	var out []topicPartition
	for _, t := range m.Topics {
		for _, n := range m.Owned[t] {
			tp := topicPartition{t, n}
			if n < counts[t] && !taken[tp] {
				taken[tp] = true
				out = append(out, tp)
			}
		}
	}
	return out
}

// freePartitions returns the partitions of topics that are not taken, in order, and how many there are in all.
func freePartitions(topics []metadata.TopicID, counts map[metadata.TopicID]int32, taken map[topicPartition]bool) (free []topicPartition, total int) {
	for _, t := range topics {
		total += int(counts[t])
		for n := range counts[t] {
			if tp := (topicPartition{t, n}); !taken[tp] {
				free = append(free, tp)
			}
		}
	}
	return free, total
}

func setOf(tps []topicPartition) Partitions {
	out := Partitions{}
	for _, tp := range tps {
		out[tp.topic] = append(out[tp.topic], tp.partition)
	}
	return out.normalize()
}
