package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// StopBroker begins a controlled shutdown: the broker may not join ISRs any more, its leaders move away, and its replicas stop
// following. What could not be moved is told by Remaining. Partitions with one replica are left alone.
// The error is BROKER_NOT_AVAILABLE or STALE_BROKER_EPOCH; an epoch of -1 is not checked.
// Kafka: KafkaController.doControlledShutdown.
func (s *State) StopBroker(id metadata.BrokerID, epoch int64) error {
	b := s.brokers[id]
	if b == nil {
		return kerr.BrokerNotAvailable
	}
	if epoch != -1 && epoch < b.Epoch {
		return kerr.StaleBrokerEpoch
	}
	s.push(call(func(s *State) {
		if b := s.brokers[id]; b != nil {
			b.stopping = true
		}
		var led []*partition
		followed := map[*partition][]metadata.BrokerID{}
		for _, p := range s.partitions(func(p *partition) bool { return p.known && len(p.Replicas) > 1 }) {
			switch {
			case p.li.Leader == id:
				led = append(led, p)
			case slices.Contains(p.Replicas, id):
				followed[p] = []metadata.BrokerID{id}
			}
		}
		s.push(&electStep{partitions: led, rule: byShutdown}, &shrinkStep{replicas: followed})
	}))
	return nil
}

// Remaining returns the partitions, with more than one replica, that a broker still leads.
func (s *State) Remaining(id metadata.BrokerID) []metadata.TopicPartition {
	var out []metadata.TopicPartition
	for _, p := range s.partitions(func(p *partition) bool { return p.known && p.li.Leader == id && len(p.Replicas) > 1 }) {
		out = append(out, p.TopicPartition)
	}
	return out
}

// Election collects the outcome of an election that was asked for. Results are complete when all steps are done.
type Election struct {
	// Results has nil for a partition with a new leader, else why it has none: ELECTION_NOT_NEEDED,
	// PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION.
	Results map[metadata.TopicPartition]error
}

// These carry the texts of Kafka's answers.
var (
	errElectionNotNeeded = Errorf(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")
	errNoPartition       = Errorf(kerr.UnknownTopicOrPartition, "The partition does not exist.")
	errDying             = Errorf(kerr.InvalidTopicException, "The topic is being deleted.")
)

// ElectPreferred plans elections of the preferred leaders; of all partitions when tps is nil.
func (s *State) ElectPreferred(tps []metadata.TopicPartition) *Election {
	return s.electAsked(tps, byPreference, func(p *partition) bool {
		return p.known && len(p.Replicas) > 0 && p.li.Leader == p.Replicas[0]
	})
}

// ElectUnclean plans elections among whatever is alive, for partitions without a live leader.
func (s *State) ElectUnclean(tps []metadata.TopicPartition) *Election {
	return s.electAsked(tps, byFailureUnclean, func(p *partition) bool {
		return p.known && s.online(p.li.Leader, p.TopicPartition)
	})
}

// electAsked sorts the partitions out and elects the rest. Kafka: KafkaController.processReplicaLeaderElection.
func (s *State) electAsked(tps []metadata.TopicPartition, r rule, fine func(*partition) bool) *Election {
	e := &Election{Results: map[metadata.TopicPartition]error{}}
	if tps == nil {
		for _, p := range s.partitions(func(*partition) bool { return true }) {
			tps = append(tps, p.TopicPartition)
		}
	}
	var ps []*partition
	for _, tp := range tps {
		p := s.partition(tp)
		switch {
		case p == nil:
			e.Results[tp] = errNoPartition
		case s.dying(tp.Topic):
			e.Results[tp] = errDying
		case fine(p):
			e.Results[tp] = errElectionNotNeeded
		case !p.known:
			e.Results[tp] = r.err()
		default:
			ps = append(ps, p)
		}
	}
	s.push(&electStep{partitions: ps, rule: r, done: func(p *partition, err error) { e.Results[p.TopicPartition] = err }})
	return e
}

// Rebalance plans elections of preferred leaders for each broker that leads too few of its own: when more than percent of the
// partitions that prefer it are led by others. Partitions that are being moved or deleted are left alone.
// Kafka: KafkaController.checkAndTriggerAutoLeaderRebalance.
func (s *State) Rebalance(percent int) {
	preferring := map[metadata.BrokerID][]*partition{}
	for _, p := range s.partitions(func(p *partition) bool { return p.known && len(p.Replicas) > 0 }) {
		preferring[p.Replicas[0]] = append(preferring[p.Replicas[0]], p)
	}
	var ps []*partition
	for id, own := range preferring {
		if !s.eligible(id) {
			continue
		}
		astray := slices.DeleteFunc(slices.Clone(own), func(p *partition) bool { return p.li.Leader == id })
		if len(astray)*100 <= percent*len(own) {
			continue
		}
		for _, p := range astray {
			if _, moving := s.reassigning[p.TopicPartition]; !moving && s.preferable(p) {
				ps = append(ps, p)
			}
		}
	}
	if len(ps) == 0 {
		return
	}
	sortPartitions(ps)
	s.push(&electStep{partitions: ps, rule: byPreference})
}

// Stats are the numbers that the controller's metrics show.
type Stats struct {
	Topics, Partitions int
	// Offline counts partitions without a live leader, Imbalanced those not led by their preferred replica.
	Offline, Imbalanced int
	// Dying counts topics to be deleted, Blocked those of them that wait, DyingReplicas their replicas.
	Dying, Blocked, DyingReplicas int
	Brokers                       int
}

// Stats counts; it takes time in proportion to the number of partitions.
func (s *State) Stats() Stats {
	all, waiting := s.Deleting()
	st := Stats{Topics: len(s.topics), Dying: len(all), Blocked: len(waiting), Brokers: len(s.brokers)}
	for _, t := range s.topics {
		st.Partitions += len(t.partitions)
		for _, p := range t.partitions {
			switch {
			case t.deletion != nil:
				st.DyingReplicas += len(p.Replicas)
			case !p.known || !s.present(p.li.Leader, p.TopicPartition):
				st.Offline++
				st.Imbalanced++
			case len(p.Replicas) > 0 && p.li.Leader != p.Replicas[0]:
				st.Imbalanced++
			}
		}
	}
	return st
}
