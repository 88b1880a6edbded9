package group

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator/group/assignor"
)

// change is what one request does to a consumer group: the group as it was, and the records that change it.
type change struct {
	s  *Shard
	id string
	c  *consumerGroup
	// was is the group before, nil if there was none.
	was *group
	// upgraded is set if the group was a classic one with members.
	upgraded bool
	records  []consumerRecord
}

// consumerFor begins a change of a group. One who joins may make a new group, of nothing, of an empty classic group, or, if
// that may be upgraded, of a classic group with members. Kafka: getOrMaybeCreateConsumerGroup.
func (s *Shard) consumerFor(id string, joins bool) (*change, error) {
	g := s.groups[id]
	ch := &change{s: s, id: id, was: g}
	switch {
	case g != nil && g.consumer != nil:
		ch.c = g.consumer
	case g == nil && !joins:
		return nil, refuse(kerr.GroupIDNotFound, "Consumer group "+id+" not found.")
	case g == nil:
		ch.c = newConsumerGroup()
	case joins && g.state == Empty:
		ch.c = newConsumerGroup()
		ch.add(tombstone(kindClassic, ""))
	case joins && s.mayUpgrade(g):
		return ch, ch.upgrade(g)
	default:
		return nil, refuse(kerr.GroupIDNotFound, "Group "+id+" is not a consumer group.")
	}
	return ch, nil
}

func (ch *change) add(r ...consumerRecord) { ch.records = append(ch.records, r...) }

// checkRoom applies group.consumer.max.size. Kafka: throwIfConsumerGroupIsFull.
func (ch *change) checkRoom(id string) error {
	limit := ch.s.cfg.Consumer.MaxSize
	if len(ch.c.members) < limit || ch.c.members[id] != nil {
		return nil
	}
	return refuse(kerr.GroupMaxSizeReached, "The consumer group has reached its maximum capacity of "+strconv.Itoa(limit)+" members.")
}

// commit stores the records, if there are any. applied runs when the group has changed, done when that is committed.
func (ch *change) commit(applied func(g *group), done func(err error)) {
	if len(ch.records) == 0 {
		if applied != nil {
			applied(ch.was)
		}
		ch.s.afterWrites(done)
		return
	}
	g := ch.s.group(ch.id)
	ch.s.writeConsumer(&consumerWrite{g: g, records: ch.records, done: done, applied: func() {
		if ch.upgraded {
			ch.s.watchUpgraded(g)
		}
		if applied != nil {
			applied(g)
		}
	}})
}

// update brings a member from m to next, which differs in what it tells of itself, and on towards the target. It returns the
// member as it is then.
func (ch *change) update(m, next *consumerMember, owned assignor.Partitions) *consumerMember {
	bump := ch.subscribe(m, next)
	epoch, topics := ch.c.epoch, ch.c.topics
	if bump || ch.stale() {
		topics = ch.topicsOf(ch.subscribers(m, next))
		if !equalTopics(topics, ch.c.topics) {
			bump = true
			ch.add(consumerRecord{kind: kindTopics, value: topicsValue(topics)})
		}
		if bump {
			epoch++
			ch.add(consumerRecord{kind: kindEpoch, value: epochValue(epoch)})
		}
		ch.c.refresh = refresh{at: ch.s.now.Add(ch.s.cfg.Consumer.RefreshInterval), epoch: epoch, seen: ch.s.image}
	}
	targetEpoch, target := ch.c.targetEpoch, ch.c.targetOf(next)
	if epoch > targetEpoch {
		targetEpoch, target = epoch, ch.retarget(epoch, next, topics)
	}
	return ch.reconcile(next, targetEpoch, target, owned)
}

// subscribe stores what a member tells of itself if that is new, and reports whether it is about its subscription.
// Kafka: hasMemberSubscriptionChanged.
func (ch *change) subscribe(m, next *consumerMember) bool {
	if m.memberMetadata.equal(&next.memberMetadata) {
		return false
	}
	ch.add(consumerRecord{kind: kindMember, member: next.id, value: &next.memberMetadata})
	return !slices.Equal(m.topics, next.topics)
}

// subscribers counts the subscribers of each topic after a member has changed.
func (ch *change) subscribers(m, next *consumerMember) map[string]int {
	n := minus(ch.c.subscribers, m.topics) // a new member has none
	for _, t := range next.topics {
		n[t]++
	}
	return n
}

// minus counts one subscriber less for each of the topics.
func minus(counts map[string]int, topics []string) map[string]int {
	n := maps.Clone(counts)
	for _, t := range topics {
		if n[t]--; n[t] <= 0 {
			delete(n, t)
		}
	}
	return n
}

// retarget computes a new target assignment with next in it, and returns what next is to own. A static member that has come
// back takes over what its predecessor was to own. Kafka: TargetAssignmentBuilder.
func (ch *change) retarget(epoch int32, next *consumerMember, topics map[string]topicMetadata) assignor.Partitions {
	members := maps.Clone(ch.c.members)
	owned := ch.c.target[next.id]
	if next.isStatic() {
		if old, ok := ch.c.static[*next.instanceID]; ok && old != next.id {
			delete(members, old)
			owned = ch.c.target[old]
		}
	}
	members[next.id] = next
	in, counts := assignorInput(members, topics)
	for i := range in {
		in[i].Owned = ch.c.target[in[i].ID]
		if in[i].ID == next.id {
			in[i].Owned = owned
		}
	}
	out := assignor.ByName(ch.assignor(members))(in, counts)
	for _, m := range in {
		had, ok := ch.c.target[m.ID]
		if !ok || !out[m.ID].Equal(had) {
			ch.add(consumerRecord{kind: kindTarget, member: m.ID, value: targetValue(out[m.ID])})
		}
	}
	ch.add(consumerRecord{kind: kindTargetEpoch, value: epochValue(epoch)})
	return out[next.id]
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
