package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// replaceStatic handles a static member that has come again, usually restarted, with no member id: the new id takes the
// place of the old one. While the group is Stable and would choose the same protocol, nothing is rebalanced: the new id is
// stored, and the member gets its former assignment with SyncGroup. Kafka: updateStaticMemberAndRebalance; KIP-345.
func (s *Shard) replaceStatic(t coordinator.Ticket, g *group, m *member, id string, r *JoinRequest) {
	w := &staticWrite{
		g: g, m: m, generation: g.generation, oldID: m.id, newID: id, leader: g.leader,
		protocols: m.protocols, session: m.sessionTimeout, rebalance: m.rebalanceTimeout,
	}
	// The other one is fenced at once if it waits: two clients have the same instance id, or the old one has a dead socket.
	s.answerWaiting(g, m, kerr.FencedInstanceID)
	g.rename(m, id)
	s.heard(g, m)
	s.update(t, g, m, r)
	switch g.state {
	case Stable:
		if g.protocol != nil && *g.protocol == g.electProtocol() {
			s.writeGroup(g, nil, w)
			return
		}
		s.maybeRebalance(g)
	case CompletingRebalance:
		// The leader may be computing an assignment for the old id, and the new one would get none.
		s.prepareRebalance(g)
	case PreparingRebalance, Empty, Dead:
		// Waits with the others. A group without members has no static ones.
	}
}

// staticWrite stores the new id of a static member.
type staticWrite struct {
	g            *group
	m            *member
	generation   int32
	oldID, newID string
	leader       string // before the change
	// What the member had before, to go back to if the write is refused.
	protocols          []Protocol
	session, rebalance time.Duration
}

func (w *staticWrite) appended(*Shard, int64) {}

// current reports whether the member still waits for this write, in the same generation.
func (w *staticWrite) current() bool {
	return w.g.members[w.newID] == w.m && w.g.state == Stable && w.g.generation == w.generation
}

// rejected gives the old id its place back.
func (w *staticWrite) rejected(s *Shard, err error) {
	if !w.current() {
		return
	}
	join := w.g.setJoin(w.m, coordinator.NoTicket)
	w.g.setProtocols(w.m, w.protocols)
	w.m.sessionTimeout, w.m.rebalanceTimeout = w.session, w.rebalance
	w.g.rename(w.m, w.oldID)
	s.heard(w.g, w.m)
	s.refuseStatic(join, w, err)
}

// late leaves the new id in place, as the log has it: the client comes again and gets a newer one.
func (w *staticWrite) late(s *Shard, err error) {
	if !w.current() {
		return
	}
	join := w.g.setJoin(w.m, coordinator.NoTicket)
	s.heard(w.g, w.m)
	s.refuseStatic(join, w, err)
}

func (s *Shard) refuseStatic(t coordinator.Ticket, w *staticWrite, err error) {
	s.reply(t, JoinResult{
		Err: groupWriteError(err), Generation: w.generation, ProtocolType: w.g.protocolType, Protocol: w.g.protocol, Leader: w.leader,
	})
}

// committed answers the join. If a rebalance has begun meanwhile, the join takes part in that instead.
func (w *staticWrite) committed(s *Shard) {
	if !w.current() {
		return
	}
	lead := w.m.skipAssignment && w.g.isLeader(w.m.id)
	r := w.g.joined(w.m, lead)
	r.SkipAssignment = lead
	if !w.m.skipAssignment {
		// A leader that does not know the flag must not compute an assignment, which a Stable group would not take: it is
		// told the old id as leader and so thinks that it is a follower.
		r.Leader = w.leader
	}
	s.reply(w.g.setJoin(w.m, coordinator.NoTicket), r)
	w.m.isNew = false
	s.heard(w.g, w.m)
}
