package group

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
)

// MigrationPolicy is group.consumer.migration.policy: which way groups with members may change their protocol. Groups without
// members always may. Kafka: ConsumerGroupMigrationPolicy.
type MigrationPolicy string

// The policies.
const (
	MigrateNot  MigrationPolicy = "disabled"
	MigrateUp   MigrationPolicy = "upgrade"
	MigrateDown MigrationPolicy = "downgrade"
	MigrateBoth MigrationPolicy = "bidirectional"
)

func (p MigrationPolicy) allows(way MigrationPolicy) bool {
	return strings.EqualFold(string(p), string(way)) || strings.EqualFold(string(p), string(MigrateBoth))
}

// kindClassic is the record of a classic group as a whole.
const kindClassic = recordKind(groupKeyVersion)

// classicValue is a classic group as it is stored, encoded.
type classicValue []byte

func (v classicValue) appendTo([]byte) []byte { return v }

// clearClassic makes the group an empty one that nobody has joined. Offsets stay.
func (g *group) clearClassic() {
	for _, m := range g.order {
		m.session.seq = 0
	}
	fresh := newGroup(g.id, time.Time{})
	fresh.offsets, fresh.consumer = g.offsets, g.consumer
	*g = *fresh
}

// mayUpgrade reports whether a classic group with members may become a consumer group. Kafka: validateOnlineUpgrade.
func (s *Shard) mayUpgrade(g *group) bool {
	return s.cfg.Consumer.Migration.allows(MigrateUp) && g.isConsumerGroup() && len(g.members) <= s.cfg.Consumer.MaxSize
}

// upgrade turns a classic group into a consumer group with the same members, epoch and assignments. Members that wait for a
// rebalance are sent into the next one, which the new member brings about. Kafka: convertToConsumerGroup.
func (ch *change) upgrade(g *group) error {
	scratch := &group{id: g.id}
	scratch.becomeConsumer()
	records := []consumerRecord{tombstone(kindClassic, "")}
	var targets, currents []consumerRecord
	for _, m := range g.order {
		up, err := ch.s.upgraded(g, m)
		if err != nil {
			return refuse(kerr.GroupIDNotFound, "Cannot upgrade the classic group "+g.id+
				" to consumer group because the embedded consumer protocol is malformed.")
		}
		records = append(records, consumerRecord{kind: kindMember, member: m.id, value: &up.memberMetadata})
		targets = append(targets, consumerRecord{kind: kindTarget, member: m.id, value: targetValue(up.assigned)})
		currents = append(currents, up.current())
	}
	records = append(records, consumerRecord{kind: kindEpoch, value: epochValue(g.generation)})
	records = append(records, targets...)
	records = append(records, consumerRecord{kind: kindTargetEpoch, value: epochValue(g.generation)})
	records = append(records, currents...)
	for i := range records[1:] {
		scratch.apply(&records[i+1])
	}
	for _, m := range g.order {
		ch.s.answerWaiting(g, m, kerr.RebalanceInProgress)
	}
	ch.records, ch.c, ch.upgraded = records, scratch.consumer, true
	return nil
}

// upgraded is a classic member as a member of a consumer group.
func (s *Shard) upgraded(g *group, m *member) (*consumerMember, error) {
	p := m.protocols
	subscription := p[0].Metadata
	if g.protocol != nil {
		subscription = m.metadata(*g.protocol)
	}
	sub, err := parseSubscription(subscription)
	if err != nil {
		return nil, err
	}
	assigned, err := s.decodeAssignment(m.assignment)
	if err != nil {
		return nil, err
	}
	up := newConsumerMember(m.id)
	up.epoch, up.previousEpoch, up.assigned = g.generation, g.generation, assigned
	up.tellClassic(&JoinRequest{
		InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost, RebalanceTimeout: m.rebalanceTimeout,
		SessionTimeout: m.sessionTimeout, Protocols: p,
	}, &sub)
	return up, nil
}

// decodeAssignment reads what a leader assigned; a member that got none yet has an empty one.
func (s *Shard) decodeAssignment(p []byte) (assignor.Partitions, error) {
	out := assignor.Partitions{}
	if len(p) == 0 {
		return out, nil
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(p); err != nil {
		return nil, err
	}
	for _, at := range a.Topics {
		if t, ok := s.image.Topic(at.Topic); ok {
			out.Add(t.ID, at.Partitions...)
		}
	}
	return out, nil
}

// watchUpgraded starts the sessions of the members that an upgrade brought.
func (s *Shard) watchUpgraded(g *group) {
	for _, id := range g.consumer.ids() {
		if m := g.consumer.members[id]; m.usesClassic() {
			s.consumerHeard(g, id, m.classicSession())
		}
	}
}

// mayDowngrade reports whether the group is to become a classic one when the member leaves: all others speak the classic
// protocol. Kafka: validateOnlineDowngrade.
func (s *Shard) mayDowngrade(c *consumerGroup, leaves *consumerMember) bool {
	n, _ := c.classicMembers()
	return !leaves.usesClassic() && n > 0 && n == len(c.members)-1 && s.cfg.Consumer.Migration.allows(MigrateDown) && n <= s.cfg.MaxSize
}

// downgrading is what happens with a downgrade once its records are in the log, and committed.
type downgrading struct {
	applied func(g *group)
	done    func(err error)
}

// downgrade ends the consumer group and begins a classic one with the members that stay, who are then sent into a rebalance.
// Kafka: convertToClassicGroup, ClassicGroup.fromConsumerGroup.
func (ch *change) downgrade(leaves *consumerMember) (downgrading, error) {
	s := ch.s
	fresh := newGroup(ch.id, s.now)
	for _, id := range ch.c.ids() {
		if m := ch.c.members[id]; m != leaves {
			fresh.add(m.downgraded(), consumerType)
		}
	}
	name := fresh.electProtocol()
	if name == "" {
		return downgrading{}, kerr.InconsistentGroupProtocol
	}
	fresh.protocol, fresh.generation = &name, ch.c.epoch
	for _, m := range fresh.order {
		m.assignment = s.encodeAssignment(ch.c.target[m.id], m.metadata(name))
	}
	fresh.enter(Stable, s.now)
	fresh.subscribed = fresh.subscriptions()

	ch.add(ch.c.tombstones()...)
	ch.add(consumerRecord{kind: kindClassic, value: classicValue(fresh.encode(nil))})
	var g *group
	return downgrading{
		applied: func(now *group) {
			g = now
			fresh.offsets = g.offsets
			*g = *fresh
			for _, m := range g.order {
				s.heard(g, m)
			}
		},
		done: func(err error) {
			if err == nil && g.state == Stable {
				s.prepareRebalance(g)
			}
		},
	}, nil
}

func (m *consumerMember) downgraded() *member {
	return &member{
		id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost, sessionTimeout: m.classicSession(),
		rebalanceTimeout: time.Duration(m.rebalanceTimeoutMs) * time.Millisecond, protocols: m.classic.protocols,
	}
}

// joinEmptied makes a classic group of a consumer group without members, and then lets the first member of that join.
// Kafka: maybeDeleteEmptyConsumerGroup.
func (s *Shard) joinEmptied(t coordinator.Ticket, g *group, r *JoinRequest) {
	ch := &change{s: s, id: g.id, c: g.consumer, was: g}
	ch.add(g.consumer.tombstones()...)
	ch.commit(nil, func(err error) {
		if err != nil {
			s.refuseJoin(t, r.MemberID, err)
			return
		}
		s.join(t, r)
	})
}
