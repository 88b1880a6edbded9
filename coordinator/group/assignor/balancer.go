package assignor

import (
	"cmp"
	"maps"
	"slices"

	"jackdaw/metadata"
)

// balancer is Uniform for members whose subscriptions differ: keep what is owned, give the rest to those who have least, then
// move partitions from those who have more to those who have less until nothing improves.
// Kafka: UniformHeterogeneousAssignmentBuilder.
type balancer struct {
	members map[string]*Member
	order   []*Member // by id
	counts  map[metadata.TopicID]int32
	// subscribers of each topic, by id.
	subscribers map[metadata.TopicID][]string
	owner       map[topicPartition]string
	size        map[string]int
	moves       moves
}

func newBalancer(members []Member, counts map[metadata.TopicID]int32) *balancer {
	b := &balancer{
		members: map[string]*Member{}, order: byID(members), counts: counts, subscribers: map[metadata.TopicID][]string{},
		owner: map[topicPartition]string{}, size: map[string]int{}, moves: newMoves(),
	}
	for _, m := range b.order {
		b.members[m.ID] = m
		for _, t := range m.Topics {
			b.subscribers[t] = append(b.subscribers[t], m.ID)
		}
	}
	return b
}

func (b *balancer) run() map[string]Partitions {
	taken := map[topicPartition]bool{}
	for _, m := range b.order {
		for _, tp := range m.stillOwned(b.counts, taken) {
			b.give(tp, m.ID)
		}
	}
	topics := slices.SortedFunc(maps.Keys(b.subscribers), compareIDs)
	free, _ := freePartitions(topics, b.counts, taken)
	b.sort(free)
	for _, tp := range free {
		b.give(tp, b.least(b.subscribers[tp.topic]))
	}
	b.balance()

	tps := map[string][]topicPartition{}
	for tp, id := range b.owner {
		tps[id] = append(tps[id], tp)
	}
	out := make(map[string]Partitions, len(b.order))
	for _, m := range b.order {
		out[m.ID] = setOf(tps[m.ID])
	}
	return out
}

func (b *balancer) give(tp topicPartition, id string) {
	if old, ok := b.owner[tp]; ok {
		b.size[old]--
	}
	b.owner[tp] = id
	b.size[id]++
}

// least is the member with the fewest partitions; the first id of several.
func (b *balancer) least(ids []string) string {
	return slices.MinFunc(ids, func(x, y string) int { return cmp.Compare(b.size[x], b.size[y]) })
}

// sort puts partitions first that few members can take: many partitions for each subscriber, then few subscribers.
func (b *balancer) sort(tps []topicPartition) {
	slices.SortFunc(tps, func(x, y topicPartition) int {
		nx, ny := len(b.subscribers[x.topic]), len(b.subscribers[y.topic])
		return cmp.Or(
			cmp.Compare(float64(b.counts[y.topic])/float64(ny), float64(b.counts[x.topic])/float64(nx)),
			cmp.Compare(nx, ny), cmp.Compare(x.partition, y.partition), compareIDs(x.topic, y.topic))
	})
}

// balance moves partitions of topics with several subscribers. Kafka: performReassignments.
func (b *balancer) balance() {
	var movable []topicPartition
	for tp := range b.owner {
		if len(b.subscribers[tp.topic]) > 1 {
			movable = append(movable, tp)
		}
	}
	b.sort(movable)
	for modified := true; modified; {
		modified = false
		for _, tp := range movable {
			modified = b.improve(tp) || modified
		}
	}
}

// improve moves tp, or another partition of the topic in its stead, if a subscriber has at least two fewer than its owner.
// Each move makes the sum of the squared sizes smaller, so there is an end.
func (b *balancer) improve(tp topicPartition) bool {
	from := b.owner[tp]
	to := b.least(b.subscribers[tp.topic])
	if b.size[from] <= b.size[to]+1 {
		return false
	}
	tp = b.moves.instead(tp, from, to)
	b.moves.note(tp, from, to)
	b.give(tp, to)
	return true
}
