package group

import (
	"maps"
	"slices"
	"time"

	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// consumerGroup is what a group is made of whose members speak the protocol of KIP-848, some of them perhaps the classic
// one. It changes by records alone, when they are in the log: see apply. Kafka: ConsumerGroup, ModernGroup.
type consumerGroup struct {
	// epoch grows with each change of members, subscriptions and their topics; targetEpoch is the one that the target
	// assignment was computed for.
	epoch, targetEpoch int32
	members            map[string]*consumerMember
	static             map[string]string // member ids by instance id
	// target is what each member is to own.
	target map[string]assignor.Partitions
	// topics are the subscribed topics that exist, as the target was computed with them.
	topics map[string]topicMetadata
	// subscribers counts the members for each topic name.
	subscribers map[string]int
	// owner is the member that has a partition now, be it that it must give it up.
	owner map[ownedPartition]string

	// What follows is not in the log.
	refresh refresh
	timers  map[string]*consumerTimers // by member id
}

type ownedPartition struct {
	topic     metadata.TopicID
	partition int32
}

// refresh tells when the topics are looked at again.
type refresh struct {
	at time.Time
	// epoch is that of the group after the last look; if the group is behind it, that look was not written.
	epoch int32
	// seen is what was looked at.
	seen *metadata.Image
}

func newConsumerGroup() *consumerGroup {
	return &consumerGroup{
		members: map[string]*consumerMember{}, static: map[string]string{}, target: map[string]assignor.Partitions{},
		topics: map[string]topicMetadata{}, subscribers: map[string]int{}, owner: map[ownedPartition]string{},
		timers: map[string]*consumerTimers{},
	}
}

// ConsumerState is the state of a consumer group. Kafka: ConsumerGroup.ConsumerGroupState.
type ConsumerState string

// The states of consumer groups, as ConsumerGroupDescribe and ListGroups give them.
const (
	ConsumerEmpty       ConsumerState = "Empty"
	ConsumerAssigning   ConsumerState = "Assigning"
	ConsumerReconciling ConsumerState = "Reconciling"
	ConsumerStable      ConsumerState = "Stable"
)

func (c *consumerGroup) state() ConsumerState {
	switch {
	case len(c.members) == 0:
		return ConsumerEmpty
	case c.epoch > c.targetEpoch:
		return ConsumerAssigning
	}
	for _, m := range c.members {
		if !m.reconciledTo(c.targetEpoch) {
			return ConsumerReconciling
		}
	}
	return ConsumerStable
}

// ids returns the members in order.
func (c *consumerGroup) ids() []string { return slices.Sorted(maps.Keys(c.members)) }

// staticMember returns the member of an instance id, or nil.
func (c *consumerGroup) staticMember(instanceID string) *consumerMember {
	return c.members[c.static[instanceID]]
}

// put replaces a member, or adds it.
func (c *consumerGroup) put(m *consumerMember) {
	c.release(c.members[m.id])
	c.members[m.id] = m
	if m.isStatic() {
		c.static[*m.instanceID] = m.id
	}
	for _, t := range m.topics {
		c.subscribers[t]++
	}
	for _, p := range []assignor.Partitions{m.assigned, m.revoking} {
		for t, l := range p {
			for _, n := range l {
				c.owner[ownedPartition{t, n}] = m.id
			}
		}
	}
}

func (c *consumerGroup) remove(id string) {
	m := c.members[id]
	if m == nil {
		return
	}
	c.release(m)
	delete(c.members, id)
	delete(c.timers, id)
}

// release takes a member out of all books but members. What another has taken over meanwhile stays the other's: at load, the
// record by which this one gave it up may have been compacted away.
func (c *consumerGroup) release(m *consumerMember) {
	if m == nil {
		return
	}
	if m.isStatic() && c.static[*m.instanceID] == m.id {
		delete(c.static, *m.instanceID)
	}
	for _, t := range m.topics {
		if c.subscribers[t]--; c.subscribers[t] == 0 {
			delete(c.subscribers, t)
		}
	}
	for _, p := range []assignor.Partitions{m.assigned, m.revoking} {
		for t, l := range p {
			for _, n := range l {
				if tp := (ownedPartition{t, n}); c.owner[tp] == m.id {
					delete(c.owner, tp)
				}
			}
		}
	}
}

// owned reports whether some member has the partition.
func (c *consumerGroup) owned(t metadata.TopicID, n int32) bool {
	_, ok := c.owner[ownedPartition{t, n}]
	return ok
}

// classicMembers counts the members that speak the classic protocol, and how many of them support each strategy.
func (c *consumerGroup) classicMembers() (n int, supported map[string]int) {
	supported = map[string]int{}
	for _, m := range c.members {
		if !m.usesClassic() {
			continue
		}
		n++
		for _, p := range m.classic.protocols {
			supported[p.Name]++
		}
	}
	return n, supported
}

// subscribed are the topics that members subscribe to.
func (c *consumerGroup) subscribed() map[string]bool {
	out := make(map[string]bool, len(c.subscribers))
	for t := range c.subscribers {
		out[t] = true
	}
	return out
}
