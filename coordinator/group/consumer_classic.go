package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// joinOther handles JoinGroup to a consumer group. Without members it becomes a classic group again.
func (s *Shard) joinOther(t coordinator.Ticket, g *group, r *JoinRequest) {
	switch {
	case len(g.consumer.members) > 0:
		s.joinConsumer(t, g, r)
	case r.MemberID != "":
		s.refuseJoin(t, r.MemberID, kerr.UnknownMemberID)
	default:
		s.joinEmptied(t, g, r)
	}
}

// joinConsumer handles JoinGroup to a consumer group with members: the new one is a member like the others, whose epoch it
// knows as generation and whose assignment is computed here. Kafka: classicGroupJoinToConsumerGroup.
func (s *Shard) joinConsumer(t coordinator.Ticket, g *group, r *JoinRequest) {
	known := r.MemberID != ""
	if !known {
		r.MemberID = r.RandomID
	}
	if err := s.tryJoinConsumer(t, g, r, known); err != nil {
		id := r.MemberID
		if !known && !is(err, kerr.MemberIDRequired) {
			id = ""
		}
		s.refuseJoin(t, id, err)
	}
}

func (s *Shard) tryJoinConsumer(t coordinator.Ticket, g *group, r *JoinRequest, known bool) error {
	ch := &change{s: s, id: g.id, c: g.consumer, was: g}
	if s.image == nil {
		return kerr.CoordinatorLoadInProgress
	}
	if err := ch.checkRoom(r.MemberID); err != nil {
		return err
	}
	if !g.consumer.acceptsClassic(r) {
		return kerr.InconsistentGroupProtocol
	}
	if !known && r.InstanceID == nil && r.RequireKnownMember {
		return kerr.MemberIDRequired
	}
	sub, err := parseSubscription(r.Protocols[0].Metadata)
	if err != nil {
		return kerr.InconsistentGroupProtocol
	}
	m, err := ch.classicMember(r, known)
	if err != nil {
		return err
	}
	next := *m
	next.tellClassic(r, &sub)
	up := ch.update(m, &next, s.ownedPartitions(&sub))
	res := JoinResult{MemberID: up.id, Generation: up.epoch, ProtocolType: ptr(consumerType), Protocol: &r.Protocols[0].Name}
	ch.commit(func(g *group) {
		// Differs from Kafka: which starts them when it answers, and never if the write takes too long.
		ts := g.consumer.timersOf(up.id)
		ts.join = 0
		ts.sync = s.startConsumerTimer(g, up.id, consumerSyncTimer, r.RebalanceTimeout)
		s.consumerHeard(g, up.id, r.SessionTimeout)
	}, func(err error) {
		if err != nil {
			res = JoinResult{Err: err, MemberID: up.id, Generation: noGeneration}
		}
		s.reply(t, res)
	})
	return nil
}

// classicMember finds the member of a JoinGroup, or makes it.
func (ch *change) classicMember(r *JoinRequest, known bool) (*consumerMember, error) {
	if r.InstanceID == nil {
		if m := ch.c.members[r.MemberID]; m != nil {
			return m, nil
		}
		return newConsumerMember(r.MemberID), nil
	}
	m := ch.c.staticMember(*r.InstanceID)
	switch {
	case !known && m == nil:
		return newConsumerMember(r.MemberID), nil
	case !known:
		return ch.replaceStatic(m, r.MemberID), nil
	default:
		return m, checkStatic(m, r.MemberID, *r.InstanceID)
	}
}

func (m *consumerMember) tellClassic(r *JoinRequest, sub *kmsg.ConsumerMemberMetadata) {
	m.instanceID = or(r.InstanceID, m.instanceID)
	if sub.Rack != nil && *sub.Rack != "" {
		m.rack = sub.Rack
	}
	m.rebalanceTimeoutMs = int32(r.RebalanceTimeout.Milliseconds())
	m.topics = sortedSet(sub.Topics)
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	m.classic = &classicMetadata{sessionTimeoutMs: int32(r.SessionTimeout.Milliseconds()), protocols: r.Protocols}
}

// acceptsClassic reports whether a strategy of the joiner is supported by all classic members: if the group is downgraded,
// they need one. Kafka: ConsumerGroup.supportsClassicProtocols.
func (c *consumerGroup) acceptsClassic(r *JoinRequest) bool {
	n, supported := c.classicMembers()
	return r.ProtocolType == consumerType && slices.ContainsFunc(r.Protocols, func(p Protocol) bool { return supported[p.Name] == n })
}

func parseSubscription(p []byte) (kmsg.ConsumerMemberMetadata, error) {
	var sub kmsg.ConsumerMemberMetadata
	err := sub.ReadFrom(bytes.Clone(p))
	return sub, err
}

// ownedPartitions is what a classic member says it has.
func (s *Shard) ownedPartitions(sub *kmsg.ConsumerMemberMetadata) assignor.Partitions {
	out := assignor.Partitions{}
	for _, o := range sub.OwnedPartitions {
		if t, ok := s.image.Topic(o.Topic); ok {
			out.Add(t.ID, o.Partitions...)
		}
	}
	return out
}

// classicOf finds the member of a request of the classic protocol, in its generation.
func (c *consumerGroup) classicOf(id string, instanceID *string, generation int32) (*consumerMember, error) {
	m := c.members[id]
	if instanceID != nil {
		if m = c.staticMember(*instanceID); m != nil && m.id != id {
			return nil, kerr.FencedInstanceID
		}
	}
	switch {
	case m == nil || !m.usesClassic():
		return nil, kerr.UnknownMemberID
	case m.epoch != generation:
		return nil, kerr.IllegalGeneration
	default:
		return m, nil
	}
}

func (m *consumerMember) classicSession() time.Duration {
	return time.Duration(m.classic.sessionTimeoutMs) * time.Millisecond
}

// syncConsumer handles SyncGroup to a consumer group. Kafka: classicGroupSyncToConsumerGroup.
func (s *Shard) syncConsumer(t coordinator.Ticket, g *group, r *SyncRequest) error {
	m, err := g.consumer.classicOf(r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	if differs(r.ProtocolType, ptr(consumerType)) || differs(r.Protocol, &m.classic.protocols[0].Name) {
		return kerr.InconsistentGroupProtocol
	}
	if g.consumer.epoch > m.epoch && m.state != memberUnrevoked {
		s.expectJoin(g, m)
		return kerr.RebalanceInProgress
	}
	res := SyncResult{ProtocolType: r.ProtocolType, Protocol: r.Protocol, Assignment: s.encodeAssignment(m.assigned, m.classic.protocols[0].Metadata)}
	s.afterWrites(func(err error) {
		if err != nil {
			res = SyncResult{Err: err}
		} else if c := g.consumer; c != nil && c.members[m.id] != nil {
			c.timersOf(m.id).sync = 0
			s.consumerHeard(g, m.id, m.classicSession())
		}
		s.reply(t, res)
	})
	return nil
}

// encodeAssignment writes an assignment as the consumer's own strategies do, in the version of its subscription.
// Kafka: ConsumerProtocol.serializeAssignment.
func (s *Shard) encodeAssignment(p assignor.Partitions, subscription []byte) []byte {
	a := kmsg.ConsumerMemberAssignment{}
	if len(subscription) >= 2 {
		a.Version = min(int16(subscription[0])<<8|int16(subscription[1]), 3)
	}
	for _, id := range p.Topics() {
		if t, ok := s.topicByID(id); ok {
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: t.Name, Partitions: p[id]})
		}
	}
	return a.AppendTo(nil)
}

func (s *Shard) topicByID(id metadata.TopicID) (*metadata.Topic, bool) {
	if s.image == nil {
		return nil, false
	}
	return s.image.TopicByID(id)
}

// heartbeatConsumer handles Heartbeat to a consumer group: the member must join again if the group has gone on, if it must give
// up partitions, or if what it waits for is free. Kafka: classicGroupHeartbeatToConsumerGroup.
func (s *Shard) heartbeatConsumer(g *group, r *MemberRequest) error {
	c := g.consumer
	m, err := c.classicOf(r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	s.consumerHeard(g, m.id, m.classicSession())
	if m.epoch < c.epoch || m.state == memberUnrevoked || m.state == memberUnreleased && !c.waits(m) {
		s.expectJoin(g, m)
		return kerr.RebalanceInProgress
	}
	return nil
}

// waits reports whether others still have something that the member is to own. Kafka: waitingOnUnreleasedPartition.
func (c *consumerGroup) waits(m *consumerMember) bool {
	missing := c.target[m.id].Filter(func(t metadata.TopicID, n int32) bool { return !m.assigned.Has(t, n) && c.owned(t, n) })
	return len(missing) > 0
}

// leaveClassic handles LeaveGroup to a consumer group; the reply is one error or nil for each member, []error.
// Kafka: classicGroupLeaveToConsumerGroup.
func (s *Shard) leaveClassic(t coordinator.Ticket, g *group, members []LeavingMember) {
	errs := make([]error, len(members))
	var gone []*consumerMember
	for i, l := range members {
		var m *consumerMember
		if m, errs[i] = g.consumer.leaving(l); m != nil && !slices.Contains(gone, m) {
			gone = append(gone, m)
		}
	}
	ch := &change{s: s, id: g.id, c: g.consumer, was: g}
	if len(gone) > 0 {
		ch.removeMembers(gone)
	}
	ch.commit(nil, func(err error) {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
		s.reply(t, errs)
	})
}

func (c *consumerGroup) leaving(l LeavingMember) (*consumerMember, error) {
	m := c.members[l.MemberID]
	if l.InstanceID != nil {
		if m = c.staticMember(*l.InstanceID); m != nil && l.MemberID != "" && m.id != l.MemberID {
			return nil, kerr.FencedInstanceID
		}
	}
	if m == nil || !m.usesClassic() {
		return nil, kerr.UnknownMemberID
	}
	return m, nil
}

func ptr(s string) *string { return &s }
