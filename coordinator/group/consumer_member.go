package group

import (
	"maps"
	"slices"

	"jackdaw/coordinator/group/assignor"
)

// memberState is how far a member is on its way to what it is to own. The numbers are those on disk. Kafka: MemberState.
type memberState int8

const (
	// memberStable owns what it is to own in its epoch.
	memberStable memberState = 0
	// memberUnrevoked must give up partitions first: it stays in its epoch until it no longer names them.
	memberUnrevoked memberState = 1
	// memberUnreleased is in the target's epoch, but others have not given up all that it is to own.
	memberUnreleased memberState = 2
)

// Epochs of ConsumerGroupHeartbeat that say something else. Kafka: ConsumerGroupHeartbeatRequest.
const (
	epochJoin        = int32(0)
	epochLeave       = int32(-1)
	epochLeaveStatic = int32(-2)
)

// consumerMember is a member of a consumer group. It is never changed once it is made: records replace it.
// Kafka: ConsumerGroupMember.
type consumerMember struct {
	id                   string
	epoch, previousEpoch int32
	state                memberState
	memberMetadata
	// assigned is what it may use; revoking what it still has and must give up.
	assigned, revoking assignor.Partitions
}

// memberMetadata is what a member tells of itself. Kafka: ConsumerGroupMemberMetadataValue.
type memberMetadata struct {
	// instanceID is nil for a dynamic member.
	instanceID, rack     *string
	clientID, clientHost string
	topics               []string // subscribed, in order
	// regex is there for brokers that know more: it is kept and not used. Kafka 3.9 writes "".
	regex              *string
	rebalanceTimeoutMs int32
	// assignor is nil for the group's default.
	assignor *string
	// classic is set for a member that speaks the classic protocol.
	classic *classicMetadata
}

// classicMetadata is kept of a member that speaks the classic protocol.
type classicMetadata struct {
	sessionTimeoutMs int32
	protocols        []Protocol
}

func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, previousEpoch: -1, memberMetadata: memberMetadata{regex: new(string), rebalanceTimeoutMs: -1}}
}

func (m *consumerMember) isStatic() bool    { return m.instanceID != nil }
func (m *consumerMember) usesClassic() bool { return m.classic != nil }

// reconciledTo reports whether the member owns what the target of this epoch gives it.
func (m *consumerMember) reconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

// renamed returns a copy under another id that begins anew.
func (m *consumerMember) renamed(id string) *consumerMember {
	n := *m
	n.id, n.epoch, n.previousEpoch = id, 0, 0
	return &n
}

// moved returns a copy in another epoch and state, with these partitions.
func (m *consumerMember) moved(epoch int32, st memberState, assigned, revoking assignor.Partitions) *consumerMember {
	n := *m
	n.previousEpoch, n.epoch, n.state, n.assigned, n.revoking = m.epoch, epoch, st, assigned, revoking
	return &n
}

// placed reports whether both are in the same epoch and state, with the same partitions.
func (m *consumerMember) placed(o *consumerMember) bool {
	return m.epoch == o.epoch && m.previousEpoch == o.previousEpoch && m.state == o.state &&
		m.assigned.Equal(o.assigned) && m.revoking.Equal(o.revoking)
}

func (d *memberMetadata) equal(o *memberMetadata) bool {
	return same(d.instanceID, o.instanceID) && same(d.rack, o.rack) && same(d.regex, o.regex) && same(d.assignor, o.assignor) &&
		d.clientID == o.clientID && d.clientHost == o.clientHost && d.rebalanceTimeoutMs == o.rebalanceTimeoutMs &&
		slices.Equal(d.topics, o.topics) && d.classic.equal(o.classic)
}

func (c *classicMetadata) equal(o *classicMetadata) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.sessionTimeoutMs == o.sessionTimeoutMs && slices.EqualFunc(c.protocols, o.protocols, Protocol.equal)
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// sortedSet returns the distinct names in order.
func sortedSet(names []string) []string {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return slices.Sorted(maps.Keys(set))
}
