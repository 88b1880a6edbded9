package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// consumerLeave handles a heartbeat that says goodbye. Kafka: consumerGroupLeave.
func (s *Shard) consumerLeave(t coordinator.Ticket, r *ConsumerHeartbeatRequest) error {
	g := s.groups[r.Group]
	if g == nil {
		return refuse(kerr.GroupIDNotFound, "Group "+r.Group+" not found.")
	}
	if g.consumer == nil {
		return refuse(kerr.GroupIDNotFound, "Group "+r.Group+" is not a consumer group.")
	}
	m := g.consumer.members[r.MemberID]
	if r.InstanceID != nil {
		m = g.consumer.staticMember(*r.InstanceID)
		if err := checkStatic(m, r.MemberID, *r.InstanceID); err != nil {
			return err
		}
	} else if m == nil {
		return unknownMember(r.MemberID, r.Group)
	}
	done := func(err error) {
		res := ConsumerHeartbeatResult{MemberID: r.MemberID, Epoch: r.Epoch}
		if err != nil {
			res = ConsumerHeartbeatResult{Err: err}
		}
		s.reply(t, res)
	}
	if r.Epoch == epochLeaveStatic {
		s.leaveForAWhile(g, m, done)
		return nil
	}
	s.fence(g, m, done)
	return nil
}

// leaveForAWhile keeps the place of a static member until its session ends: nobody else gets its partitions.
// Kafka: consumerGroupStaticMemberGroupLeave.
func (s *Shard) leaveForAWhile(g *group, m *consumerMember, done func(error)) {
	gone := *m
	gone.epoch, gone.revoking = epochLeaveStatic, nil
	ch := &change{s: s, id: g.id, c: g.consumer, was: g}
	ch.add(gone.current())
	ch.commit(nil, done)
}

// fence takes a member out of the group. If all others speak the classic protocol, and that is wanted, the group becomes a
// classic one. The others hear of it with their next heartbeats. Kafka: consumerGroupFenceMember.
func (s *Shard) fence(g *group, m *consumerMember, done func(error)) {
	ch := &change{s: s, id: g.id, c: g.consumer, was: g}
	if s.mayDowngrade(g.consumer, m) {
		if down, err := ch.downgrade(m); err == nil {
			ch.commit(down.applied, func(err error) {
				done(err)
				down.done(err)
			})
			return
		}
	}
	ch.removeMembers([]*consumerMember{m})
	ch.commit(nil, done)
}

// removeMembers takes members out.
func (ch *change) removeMembers(gone []*consumerMember) {
	left := ch.c.subscribers
	for _, m := range gone {
		ch.add(memberTombstones(m.id)...)
		left = minus(left, m.topics)
	}
	if topics := ch.topicsOf(left); !equalTopics(topics, ch.c.topics) {
		ch.add(consumerRecord{kind: kindTopics, value: topicsValue(topics)})
	}
	ch.add(consumerRecord{kind: kindEpoch, value: epochValue(ch.c.epoch + 1)})
}
