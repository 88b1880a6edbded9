package state

import (
	"maps"
	"slices"

	"jackdaw/metadata"
)

// Suspect treats a registered broker as dead before its session has expired: its leaders move and it leaves the ISRs, in the usual
// conditional writes. It has no effect unless the broker is alive in the life that epoch names, and never on the controller's own
// broker. It reports whether the broker is suspected now. The suspicion ends when the registration does, by a registration
// with another epoch, or by Clear.
//
// Differs from Kafka, which waits for the session. Nothing is decided by a weaker rule: a broker that is suspected wrongly is fenced
// by the leader epochs, and a replica outside the ISR is not elected while a suspected broker of the ISR may come back.
func (s *State) Suspect(id metadata.BrokerID, epoch int64) bool {
	b := s.brokers[id]
	if b == nil || b.Epoch != epoch || id == s.cfg.ID {
		return false
	}
	s.suspects[id] = b
	s.down([]metadata.BrokerID{id})
	return true
}

// Clear takes a suspicion back: the broker starts as if it had registered just now, in its present life. It reports whether
// there was one.
func (s *State) Clear(id metadata.BrokerID, epoch int64) bool {
	b := s.suspects[id]
	if b == nil || b.Epoch != epoch {
		return false
	}
	s.up([]metadata.Broker{b.Broker})
	return true
}

// Suspects returns the suspected brokers by rising id.
func (s *State) Suspects() []metadata.Broker {
	out := make([]metadata.Broker, 0, len(s.suspects))
	for _, id := range slices.Sorted(maps.Keys(s.suspects)) {
		out = append(out, s.suspects[id].Broker)
	}
	return out
}

// unsuspected takes suspected brokers out of a list of registrations, and forgets the suspicions that it ends. It reports
// whether a suspected broker is gone for good: then the partitions that waited for it need another election.
func (s *State) unsuspected(registered []metadata.Broker) (rest []metadata.Broker, gone bool) {
	if len(s.suspects) == 0 {
		return registered, false
	}
	left := maps.Clone(s.suspects)
	for _, b := range registered {
		old, ok := s.suspects[b.ID]
		delete(left, b.ID)
		switch {
		case !ok:
			rest = append(rest, b)
		case old.Epoch == b.Epoch:
			old.Broker = b // its address may be new
		default:
			delete(s.suspects, b.ID)
			rest = append(rest, b)
		}
	}
	for id := range left {
		delete(s.suspects, id)
	}
	return rest, len(left) > 0
}

// awaited reports whether a broker of the ISR is suspected. It may come back with all that was committed, so that no other
// replica may lead instead before its session has ended.
func (s *State) awaited(p *partition) bool {
	return slices.ContainsFunc(p.li.ISR, func(id metadata.BrokerID) bool { return s.suspects[id] != nil })
}
