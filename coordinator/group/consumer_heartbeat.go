package group

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// ConsumerHeartbeatRequest is a ConsumerGroupHeartbeat. The shard keeps its slices.
type ConsumerHeartbeatRequest struct {
	Group string
	// MemberID may be empty when a member joins; it then gets NewID.
	MemberID, NewID string
	// Epoch is the member's; 0 joins, -1 leaves, -2 is a static member that goes for a while.
	Epoch            int32
	InstanceID, Rack *string
	// RebalanceTimeoutMs is -1 when it has not changed, as Topics, Assignor and Owned are nil.
	RebalanceTimeoutMs   int32
	ClientID, ClientHost string
	Topics               []string
	Assignor             *string
	// Owned is what the member has.
	Owned assignor.Partitions
	// Image is the cluster as it is now, nil if it is not known.
	Image *metadata.Image
}

// ConsumerHeartbeatResult is the answer to a ConsumerGroupHeartbeat. After an error it is empty.
type ConsumerHeartbeatResult struct {
	// Err is a kerr error, perhaps with a text, or nil.
	Err      error
	MemberID string
	Epoch    int32
	// Interval is when the next heartbeat is due; 0 for a member that left.
	Interval time.Duration
	// Assigned is what the member may use, nil when that has not changed.
	Assigned assignor.Partitions
}

// ConsumerHeartbeat handles ConsumerGroupHeartbeat; the reply is a ConsumerHeartbeatResult.
// Kafka: GroupMetadataManager.consumerGroupHeartbeat.
func (s *Shard) ConsumerHeartbeat(now time.Time, t coordinator.Ticket, r ConsumerHeartbeatRequest) coordinator.Effects {
	s.now = now
	s.see(r.Image)
	err := s.checkHeartbeat(&r)
	switch {
	case err != nil:
	case s.image == nil:
		err = kerr.CoordinatorLoadInProgress
	case r.Epoch == epochLeave || r.Epoch == epochLeaveStatic:
		err = s.consumerLeave(t, &r)
	default:
		err = s.consumerHeartbeat(t, &r)
	}
	if err != nil {
		s.reply(t, ConsumerHeartbeatResult{Err: err})
	}
	return s.effects()
}

// checkHeartbeat refuses what no client should send. Kafka: throwIfConsumerGroupHeartbeatRequestIsInvalid.
func (s *Shard) checkHeartbeat(r *ConsumerHeartbeatRequest) error {
	blank := func(p *string) bool { return p != nil && strings.TrimSpace(*p) == "" }
	invalid := ""
	switch {
	case blank(&r.Group):
		invalid = "GroupId can't be empty."
	case blank(r.InstanceID):
		invalid = "InstanceId can't be empty."
	case blank(r.Rack):
		invalid = "RackId can't be empty."
	case r.Epoch < epochLeaveStatic:
		invalid = "MemberEpoch is invalid."
	case r.Epoch != epochJoin && blank(&r.MemberID):
		invalid = "MemberId can't be empty."
	case r.Epoch == epochLeaveStatic && r.InstanceID == nil:
		invalid = "InstanceId can't be null."
	case r.Epoch == epochJoin && r.RebalanceTimeoutMs == -1:
		invalid = "RebalanceTimeoutMs must be provided in first request."
	case r.Epoch == epochJoin && (r.Owned == nil || len(r.Owned) > 0):
		invalid = "TopicPartitions must be empty when (re-)joining."
	case r.Epoch == epochJoin && len(r.Topics) == 0:
		invalid = "SubscribedTopicNames must be set in first request."
	}
	if invalid != "" {
		return refuse(kerr.InvalidRequest, invalid)
	}
	if r.Assignor != nil && !slices.Contains(s.cfg.Consumer.Assignors, *r.Assignor) {
		return refuse(kerr.UnsupportedAssignor, "ServerAssignor "+*r.Assignor+" is not supported. Supported assignors: "+
			strings.Join(s.cfg.Consumer.Assignors, ", ")+".")
	}
	return nil
}

// consumerHeartbeat takes over what a member says of itself, computes a new target if that or the topics have changed, and
// leads the member a step nearer to it.
func (s *Shard) consumerHeartbeat(t coordinator.Ticket, r *ConsumerHeartbeatRequest) error {
	ch, err := s.consumerFor(r.Group, r.Epoch == epochJoin)
	if err != nil {
		return err
	}
	if err := ch.checkRoom(r.MemberID); err != nil {
		return err
	}
	if r.MemberID == "" {
		r.MemberID = r.NewID
	}
	m, err := ch.member(r)
	if err != nil {
		return err
	}
	next := *m
	next.tell(r)
	up := ch.update(m, &next, r.Owned)

	res := ConsumerHeartbeatResult{MemberID: up.id, Epoch: up.epoch, Interval: s.cfg.Consumer.HeartbeatInterval}
	full := r.Epoch == epochJoin || r.RebalanceTimeoutMs != -1 && r.Topics != nil && r.Owned != nil
	if full || !m.assigned.Equal(up.assigned) {
		res.Assigned = up.assigned
		if res.Assigned == nil {
			res.Assigned = assignor.Partitions{}
		}
	}
	ch.commit(func(g *group) {
		s.consumerHeard(g, up.id, s.cfg.Consumer.SessionTimeout)
		s.watchRevocation(g, m, up)
	}, func(err error) {
		if err != nil {
			res = ConsumerHeartbeatResult{Err: err}
		}
		s.reply(t, res)
	})
	return nil
}

// tell takes over what a heartbeat says; what is nil has not changed. A member that speaks the new protocol does not speak the
// classic one any more.
func (m *consumerMember) tell(r *ConsumerHeartbeatRequest) {
	m.instanceID, m.rack, m.assignor = or(r.InstanceID, m.instanceID), or(r.Rack, m.rack), or(r.Assignor, m.assignor)
	if r.RebalanceTimeoutMs != -1 {
		m.rebalanceTimeoutMs = r.RebalanceTimeoutMs
	}
	if r.Topics != nil {
		m.topics = sortedSet(r.Topics)
	}
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	m.classic = nil
}

func or(p, def *string) *string {
	if p == nil {
		return def
	}
	return p
}

// member finds the member of a heartbeat, or makes it if it joins.
func (ch *change) member(r *ConsumerHeartbeatRequest) (*consumerMember, error) {
	joins := r.Epoch == epochJoin
	if r.InstanceID == nil {
		m := ch.c.members[r.MemberID]
		if m == nil && !joins {
			return nil, unknownMember(r.MemberID, r.Group)
		}
		if m == nil {
			m = newConsumerMember(r.MemberID)
		}
		return m, m.checkEpoch(r)
	}
	m := ch.c.staticMember(*r.InstanceID)
	switch {
	case joins && m == nil:
		return newConsumerMember(r.MemberID), nil
	case joins && m.epoch != epochLeaveStatic:
		return nil, refuse(kerr.UnreleasedInstanceID, "Static member "+r.MemberID+" with instance id "+*r.InstanceID+
			" cannot join the group because the instance id is owned by "+m.id+" member.")
	case joins:
		return ch.replaceStatic(m, r.MemberID), nil
	}
	if err := checkStatic(m, r.MemberID, *r.InstanceID); err != nil {
		return nil, err
	}
	return m, m.checkEpoch(r)
}

func unknownMember(id, group string) error {
	return refuse(kerr.UnknownMemberID, "Member "+id+" is not a member of group "+group+".")
}

// checkStatic refuses an instance id that nobody or somebody else has.
func checkStatic(m *consumerMember, id, instanceID string) error {
	if m == nil {
		return refuse(kerr.UnknownMemberID, "Instance id "+instanceID+" is unknown.")
	}
	if m.id != id {
		return refuse(kerr.FencedInstanceID, "Static member "+id+" with instance id "+instanceID+" was fenced by member "+m.id+".")
	}
	return nil
}

// checkEpoch fences a member that is not in its epoch. The one before is good if the member has nothing that it should not have:
// it may not have got the answer. Kafka: throwIfConsumerGroupMemberEpochIsInvalid.
func (m *consumerMember) checkEpoch(r *ConsumerHeartbeatRequest) error {
	how := ""
	switch {
	case m.state > memberUnreleased && (r.Owned == nil || len(r.Owned) > 0):
		return refuse(kerr.FencedMemberEpoch, "The consumer group member is in a unknown state. "+
			"The member must abandon all its partitions and rejoin.")
	case r.Epoch > m.epoch:
		how = "greater"
	case r.Epoch < m.epoch && (r.Epoch != m.previousEpoch || !m.hasAll(r.Owned)):
		how = "smaller"
	default:
		return nil
	}
	return refuse(kerr.FencedMemberEpoch, "The consumer group member has a "+how+" member epoch ("+itoa(r.Epoch)+
		") than the one known by the group coordinator ("+itoa(m.epoch)+"). The member must abandon all its partitions and rejoin.")
}

// hasAll reports whether owned, which must be known, has nothing but what is assigned.
func (m *consumerMember) hasAll(owned assignor.Partitions) bool {
	if owned == nil {
		return false
	}
	for t, l := range owned {
		for _, n := range l {
			if !m.assigned.Has(t, n) {
				return false
			}
		}
	}
	return true
}

// replaceStatic gives the place of a static member that has gone for a while to the one that has come back.
// Kafka: replaceMember.
func (ch *change) replaceStatic(old *consumerMember, id string) *consumerMember {
	m := old.renamed(id)
	ch.add(memberTombstones(old.id)...)
	ch.add(
		consumerRecord{kind: kindMember, member: id, value: &m.memberMetadata},
		consumerRecord{kind: kindTarget, member: id, value: targetValue(ch.c.target[old.id])},
		m.current())
	return m
}

// current is the record of where the member is.
func (m *consumerMember) current() consumerRecord {
	return consumerRecord{kind: kindCurrent, member: m.id, value: currentValue{m.epoch, m.previousEpoch, m.state, m.assigned, m.revoking}}
}
