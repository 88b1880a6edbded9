package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// JoinRequest is a JoinGroup. The shard keeps its slices.
type JoinRequest struct {
	Group string
	// MemberID is empty at the first join.
	MemberID string
	// InstanceID is nil for dynamic members.
	InstanceID                       *string
	ClientID, ClientHost             string
	SessionTimeout, RebalanceTimeout time.Duration
	ProtocolType                     string
	Protocols                        []Protocol
	// RequireKnownMember asks new dynamic members to come again with the id they are given: JoinGroup 4 on (KIP-394).
	RequireKnownMember bool
	// SkipAssignment says that the client knows the flag of the response: JoinGroup 9 (KIP-814).
	SkipAssignment bool
	// RandomID is the random part of the id that a new member gets, a UUID.
	RandomID string
	// Image is the cluster as it is now, nil if it is not known: for members of consumer groups.
	Image *metadata.Image
}

// JoinResult is the answer to a JoinGroup. Except for Err and MemberID it is empty after an error.
type JoinResult struct {
	// Err is a kerr error, or nil.
	Err        error
	MemberID   string
	Generation int32
	// ProtocolType and Protocol are nil after an error.
	ProtocolType, Protocol *string
	Leader                 string
	SkipAssignment         bool
	// Members is for the leader only.
	Members []JoinedMember
}

// JoinedMember is a member as its leader hears of it. Metadata is shared and must not be changed.
type JoinedMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// Join handles JoinGroup; the reply is a JoinResult. Kafka: GroupCoordinator.handleJoinGroup.
func (s *Shard) Join(now time.Time, t coordinator.Ticket, r JoinRequest) coordinator.Effects {
	s.now = now
	s.see(r.Image)
	s.join(t, &r)
	return s.effects()
}

func (s *Shard) join(t coordinator.Ticket, r *JoinRequest) {
	if r.SessionTimeout < s.cfg.MinSessionTimeout || r.SessionTimeout > s.cfg.MaxSessionTimeout {
		s.refuseJoin(t, r.MemberID, kerr.InvalidSessionTimeout)
		return
	}
	g := s.groups[r.Group]
	if g == nil {
		if r.MemberID != "" {
			s.refuseJoin(t, r.MemberID, kerr.UnknownMemberID)
			return
		}
		g = s.group(r.Group)
	}
	if g.consumer != nil {
		s.joinOther(t, g, r)
		return
	}
	switch {
	case !s.hasRoom(g, r.MemberID):
		s.turnAway(t, g, r)
	case r.MemberID == "":
		s.joinNew(t, g, r)
	default:
		s.joinKnown(t, g, r)
	}
	s.tryCompleteJoin(g)
}

func (s *Shard) refuseJoin(t coordinator.Ticket, memberID string, err error) {
	s.reply(t, JoinResult{Err: err, MemberID: memberID, Generation: noGeneration})
}

// noGeneration stands where there is none. Kafka: GenericGroup.NoGeneration.
const noGeneration = int32(-1)

// hasRoom applies group.max.size. While the group prepares a rebalance, those count who have joined again: so the last to
// come back are the ones that a lowered limit turns away. Kafka: GroupCoordinator.acceptJoiningMember.
//
// Differs from Kafka: ids that were given out and not used yet count against further new members. Kafka bounds members only,
// so that any number of ids can be asked for.
func (s *Shard) hasRoom(g *group, memberID string) bool {
	m := g.members[memberID]
	reserved := 0
	if memberID == "" {
		reserved = len(g.pending)
	}
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.awaitingJoin() || g.awaiting+reserved < s.cfg.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.members)+reserved < s.cfg.MaxSize
	default:
		return reserved < s.cfg.MaxSize
	}
}

func (s *Shard) turnAway(t coordinator.Ticket, g *group, r *JoinRequest) {
	if m := g.members[r.MemberID]; m != nil {
		s.answerWaiting(g, m, kerr.GroupMaxSizeReached)
		g.remove(m)
	}
	delete(g.pending, r.MemberID)
	s.refuseJoin(t, "", kerr.GroupMaxSizeReached)
}

// joinNew handles a join without member id.
func (s *Shard) joinNew(t coordinator.Ticket, g *group, r *JoinRequest) {
	if !g.accepts(r.ProtocolType, r.Protocols) {
		s.refuseJoin(t, "", kerr.InconsistentGroupProtocol)
		return
	}
	if r.InstanceID != nil {
		id := *r.InstanceID + "-" + r.RandomID
		if m := g.static[*r.InstanceID]; m != nil {
			s.replaceStatic(t, g, m, id, r)
			return
		}
		s.addMember(t, g, id, r)
		return
	}
	id := r.ClientID + "-" + r.RandomID
	if !r.RequireKnownMember {
		s.addMember(t, g, id, r)
		return
	}
	g.pending[id] = s.timers.start(timer{at: s.now.Add(r.SessionTimeout), kind: pendingTimer, g: g, member: id})
	s.refuseJoin(t, id, kerr.MemberIDRequired)
}

// joinKnown handles a join with a member id.
func (s *Shard) joinKnown(t coordinator.Ticket, g *group, r *JoinRequest) {
	if !g.accepts(r.ProtocolType, r.Protocols) {
		s.refuseJoin(t, r.MemberID, kerr.InconsistentGroupProtocol)
		return
	}
	if _, ok := g.pending[r.MemberID]; ok {
		if r.InstanceID != nil {
			// Ids are given out to dynamic members only. Differs from Kafka: which answers -1.
			s.refuseJoin(t, r.MemberID, kerr.UnknownMemberID)
			return
		}
		s.addMember(t, g, r.MemberID, r)
		return
	}
	m, err := g.check(r.MemberID, r.InstanceID)
	if err != nil {
		s.refuseJoin(t, r.MemberID, err)
		return
	}
	switch {
	case g.state == PreparingRebalance:
		s.rejoin(t, g, m, r)
	case g.state == CompletingRebalance && m.matches(r.Protocols):
		// It did not get the answer to its join: the current generation is still good.
		s.reply(t, g.joined(m, g.isLeader(m.id)))
	case g.state == Stable && !g.isLeader(m.id) && m.matches(r.Protocols):
		s.reply(t, g.joined(m, false))
	case g.state == CompletingRebalance || g.state == Stable:
		// Its subscription has changed; or the leader asks for a rebalance, since it has seen something change.
		s.rejoin(t, g, m, r)
	default:
		s.refuseJoin(t, r.MemberID, kerr.UnknownMemberID)
	}
}

// check finds the member of a request. An instance id must be known, and belong to the member id.
// Kafka: GroupCoordinator.validateCurrentMember.
func (g *group) check(memberID string, instanceID *string) (*member, error) {
	if instanceID != nil {
		m := g.static[*instanceID]
		if m == nil {
			return nil, kerr.UnknownMemberID
		}
		if m.id != memberID {
			return nil, kerr.FencedInstanceID
		}
		return m, nil
	}
	if m := g.members[memberID]; m != nil {
		return m, nil
	}
	return nil, kerr.UnknownMemberID
}

// addMember takes in a new member and starts a rebalance. Kafka: addMemberAndRebalance.
func (s *Shard) addMember(t coordinator.Ticket, g *group, id string, r *JoinRequest) {
	if g.state == PreparingRebalance && g.generation == 0 {
		g.memberAdded = true
	}
	m := &member{
		id: id, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		sessionTimeout: r.SessionTimeout, rebalanceTimeout: r.RebalanceTimeout, protocols: r.Protocols,
		isNew: true, skipAssignment: r.SkipAssignment,
	}
	g.add(m, r.ProtocolType)
	g.setJoin(m, t)
	// It cannot send heartbeats before it knows its id, and a client that has gone is not seen to go. So that those who
	// ask again under a new id each time leave no ghosts behind, even a waiting first join ends.
	s.extendSession(g, m, s.cfg.NewMemberJoinTimeout)
	s.maybeRebalance(g)
}

// rejoin takes over what a member says of itself, parks its join and starts a rebalance. Kafka: updateMemberAndRebalance.
func (s *Shard) rejoin(t coordinator.Ticket, g *group, m *member, r *JoinRequest) {
	s.update(t, g, m, r)
	s.maybeRebalance(g)
}

func (s *Shard) update(t coordinator.Ticket, g *group, m *member, r *JoinRequest) {
	g.setProtocols(m, r.Protocols)
	m.sessionTimeout, m.rebalanceTimeout = r.SessionTimeout, r.RebalanceTimeout
	m.skipAssignment = r.SkipAssignment
	// An earlier join of the same member is answered, although its client will hardly be there any more.
	s.refuseJoin(g.setJoin(m, t), m.id, kerr.RebalanceInProgress)
}

// joined is the answer to a member of the current generation.
func (g *group) joined(m *member, withMembers bool) JoinResult {
	r := JoinResult{
		MemberID: m.id, Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leader,
	}
	if !withMembers || g.protocol == nil {
		return r
	}
	r.Members = make([]JoinedMember, len(g.order))
	for i, o := range g.order {
		r.Members[i] = JoinedMember{MemberID: o.id, InstanceID: o.instanceID, Metadata: o.metadata(*g.protocol)}
	}
	return r
}
