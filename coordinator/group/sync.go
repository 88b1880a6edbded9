package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// SyncRequest is a SyncGroup. The shard keeps the assignments.
type SyncRequest struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
	// ProtocolType and Protocol are checked when they are given (SyncGroup 5).
	ProtocolType, Protocol *string
	// Assignments by member id; from the leader only.
	Assignments map[string][]byte
}

// SyncResult is the answer to a SyncGroup. Assignment is shared and must not be changed.
type SyncResult struct {
	Err                    error
	ProtocolType, Protocol *string
	Assignment             []byte
}

// Sync handles SyncGroup; the reply is a SyncResult. Kafka: GroupCoordinator.handleSyncGroup.
func (s *Shard) Sync(now time.Time, t coordinator.Ticket, r SyncRequest) coordinator.Effects {
	s.now = now
	if err := s.sync(t, &r); err != nil {
		s.reply(t, SyncResult{Err: err})
	}
	return s.effects()
}

func (s *Shard) sync(t coordinator.Ticket, r *SyncRequest) error {
	if g := s.groups[r.Group]; g != nil && g.consumer != nil {
		return s.syncConsumer(t, g, r)
	}
	g, m, err := s.current(r.Group, r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	if differs(r.ProtocolType, g.protocolType) || differs(r.Protocol, g.protocol) {
		return kerr.InconsistentGroupProtocol
	}
	switch g.state {
	case PreparingRebalance:
		return kerr.RebalanceInProgress
	case CompletingRebalance:
		s.refuseSync(m, kerr.RebalanceInProgress) // an earlier one whose answer nobody reads
		m.sync = t
		delete(g.unsynced, m.id)
		if g.isLeader(m.id) {
			s.storeAssignments(g, r.Assignments)
		}
		return nil
	case Stable:
		delete(g.unsynced, m.id)
		s.reply(t, SyncResult{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment})
		s.heard(g, m)
		return nil
	default:
		return kerr.UnknownMemberID
	}
}

// differs reports whether a name was given and is another one.
func differs(given, is *string) bool { return given != nil && (is == nil || *given != *is) }

// current finds group and member of a request of a member of the current generation.
func (s *Shard) current(id, memberID string, instanceID *string, generation int32) (*group, *member, error) {
	g := s.groups[id]
	if g == nil {
		return nil, nil, kerr.UnknownMemberID
	}
	m, err := g.check(memberID, instanceID)
	if err != nil {
		return nil, nil, err
	}
	if generation != g.generation {
		return nil, nil, kerr.IllegalGeneration
	}
	return g, m, nil
}

// storeAssignments writes the group with the leader's assignment; the group is Stable, and members hear of it, once that is
// committed.
func (s *Shard) storeAssignments(g *group, assignments map[string][]byte) {
	s.writeGroup(g, func(m *member) []byte { return assignments[m.id] },
		&assignmentWrite{g: g, generation: g.generation, assignments: assignments})
}

// assignmentWrite stores a new generation.
type assignmentWrite struct {
	g           *group
	generation  int32
	assignments map[string][]byte
}

// current is false when another rebalance has begun since: then the write does not matter any more.
func (w *assignmentWrite) current() bool {
	return w.g.state == CompletingRebalance && w.g.generation == w.generation
}

func (w *assignmentWrite) appended(*Shard, int64)   {}
func (w *assignmentWrite) late(s *Shard, err error) { w.rejected(s, err) }
func (w *assignmentWrite) rejected(s *Shard, err error) {
	if w.current() {
		s.failSync(w.g, groupWriteError(err))
		s.maybeRebalance(w.g)
	}
}

func (w *assignmentWrite) committed(s *Shard) {
	g := w.g
	if !w.current() {
		return
	}
	for _, m := range g.order {
		m.assignment = w.assignments[m.id]
	}
	g.enter(Stable, s.now)
	for _, m := range g.order {
		if m.awaitingSync() {
			s.reply(m.sync, SyncResult{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment})
			m.sync = coordinator.NoTicket
			s.heard(g, m)
		}
	}
}

// failSync answers all who wait for their assignment with an error. Kafka: resetAndPropagateAssignmentError.
func (s *Shard) failSync(g *group, err error) {
	for _, m := range g.order {
		m.assignment = nil
		if m.awaitingSync() {
			s.refuseSync(m, err)
			s.heard(g, m)
		}
	}
}

func (s *Shard) refuseSync(m *member, err error) {
	s.reply(m.sync, SyncResult{Err: err})
	m.sync = coordinator.NoTicket
}

// syncPhaseDue removes the members, the leader perhaps, that have joined but never sent SyncGroup.
// Kafka: onExpirePendingSync.
func (s *Shard) syncPhaseDue(g *group) {
	g.syncTimer = 0
	if len(g.unsynced) == 0 || g.state != CompletingRebalance && g.state != Stable {
		return
	}
	for i := 0; i < len(g.order); {
		if m := g.order[i]; g.unsynced[m.id] {
			s.answerWaiting(g, m, kerr.UnknownMemberID)
			g.remove(m)
			continue
		}
		i++
	}
	clear(g.unsynced)
	s.prepareRebalance(g)
}
