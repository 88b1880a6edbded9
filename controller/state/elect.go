package state

import (
	"slices"

	"jackdaw/metadata"
)

// rule is a way to choose a leader. Kafka: PartitionLeaderElectionStrategy.
type rule int8

const (
	// byFailure: for partitions without a live leader. Kafka: OfflinePartitionLeaderElectionStrategy.
	byFailure rule = iota
	// byFailureUnclean is byFailure that may go outside the ISR whatever the topic's configuration says.
	byFailureUnclean
	// byPreference: the first replica of the assignment.
	byPreference
	// byShutdown: away from brokers that stop.
	byShutdown
	// byReassignment: away from replicas that are not assigned any more.
	byReassignment
)

// elected is the outcome of an election.
type elected struct {
	leader  metadata.BrokerID
	isr     []metadata.BrokerID
	unclean bool
	// recipients are the replicas to be told.
	recipients []metadata.BrokerID
}

// elect chooses a leader for p, or returns false when the rule allows none. Kafka: Election.
func (s *State) elect(p *partition, r rule) (elected, bool) {
	live := only(p.Replicas, func(id metadata.BrokerID) bool { return s.online(id, p.TopicPartition) })
	switch r {
	case byPreference:
		return electPreferred(p, live)
	case byShutdown:
		present := only(p.Replicas, func(id metadata.BrokerID) bool { return s.present(id, p.TopicPartition) })
		return electRemaining(p, live, present)
	case byReassignment:
		return electAssigned(p, live)
	default:
		unclean := r == byFailureUnclean || s.cfg.Unclean != nil && s.cfg.Unclean(p.Topic) && !s.awaited(p)
		return electOffline(p, live, unclean)
	}
}

// electOffline takes the first live replica in assignment order that is in sync; the ISR keeps its live members. Without
// one, an unclean election takes the first live replica, which is then the whole ISR.
func electOffline(p *partition, live []metadata.BrokerID, unclean bool) (elected, bool) {
	for _, id := range live {
		if slices.Contains(p.li.ISR, id) {
			isr := only(p.li.ISR, func(m metadata.BrokerID) bool { return slices.Contains(live, m) })
			return elected{leader: id, isr: isr, recipients: live}, true
		}
	}
	if !unclean || len(live) == 0 {
		return elected{}, false
	}
	return elected{leader: live[0], isr: live[:1:1], unclean: true, recipients: live}, true
}

// electPreferred takes the head of the assignment if it is live and in sync.
func electPreferred(p *partition, live []metadata.BrokerID) (elected, bool) {
	if len(p.Replicas) == 0 {
		return elected{}, false
	}
	head := p.Replicas[0]
	if !slices.Contains(live, head) || !slices.Contains(p.li.ISR, head) {
		return elected{}, false
	}
	return elected{leader: head, isr: p.li.ISR, recipients: live}, true
}

// electRemaining takes the first replica in sync that does not stop, and takes those that stop out of the ISR. They are told, too.
func electRemaining(p *partition, live, present []metadata.BrokerID) (elected, bool) {
	for _, id := range live {
		if slices.Contains(p.li.ISR, id) {
			stopping := without(present, live)
			return elected{leader: id, isr: without(p.li.ISR, stopping), recipients: present}, true
		}
	}
	return elected{}, false
}

// electAssigned takes the first live replica in assignment order that is in sync.
func electAssigned(p *partition, live []metadata.BrokerID) (elected, bool) {
	for _, id := range live {
		if slices.Contains(p.li.ISR, id) {
			return elected{leader: id, isr: p.li.ISR, recipients: live}, true
		}
	}
	return elected{}, false
}

// preferable reports whether an election by preference would change the leader of p.
func (s *State) preferable(p *partition) bool {
	if !p.known || len(p.Replicas) == 0 || p.li.Leader == p.Replicas[0] {
		return false
	}
	_, ok := s.elect(p, byPreference)
	return ok
}
