package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// createStep gives new partitions their first leader: the first live replica, with all live ones as the ISR.
// Kafka: PartitionStateMachine.initializeLeaderAndIsrForPartitions.
type createStep struct{ partitions []*partition }

func (c *createStep) plan(s *State) []Write {
	var writes []Write
	for _, p := range c.partitions {
		if s.partition(p.TopicPartition) != p || p.known {
			continue
		}
		live := only(p.Replicas, func(id metadata.BrokerID) bool { return s.online(id, p.TopicPartition) })
		if len(live) == 0 {
			s.fail(p, "none of its replicas is alive")
			continue
		}
		li := metadata.LeaderAndISR{ControllerEpoch: s.cfg.Epoch, Leader: live[0], ISR: live}
		writes = append(writes, Write{Kind: CreateState, Partition: p.TopicPartition, State: li})
	}
	return writes
}

func (c *createStep) apply(s *State, writes []Write, results []Result) {
	var retry []*partition
	for i, w := range writes {
		p := s.partition(w.Partition)
		switch {
		case p == nil:
		case results[i].Conflict:
			if s.conflict(p, results[i]) {
				retry = append(retry, p)
			}
		default:
			s.change(p, written(w, results[i]), false)
			s.batch.lead(p, p.li.ISR, p.li.ISR)
		}
	}
	if len(retry) > 0 {
		s.push(s.adopt(retry)...)
	}
}

// adopt brings brokers up to date with states that are in ZooKeeper, and elects where the leader is dead.
func (s *State) adopt(ps []*partition) []step {
	return []step{
		call(func(s *State) {
			for _, p := range ps {
				s.announce(p)
			}
		}),
		&electStep{partitions: leaderless(s, ps), rule: byFailure},
	}
}

// announce sends the present state of p to its replicas, and to all brokers as metadata.
func (s *State) announce(p *partition) {
	live := only(p.Replicas, func(id metadata.BrokerID) bool { return s.present(id, p.TopicPartition) })
	s.batch.lead(p, live, nil)
}

// leaderless returns those of ps that have a state, but no live leader. A leader whose broker stops is one: it leads until it is
// gone, and an unclean election must not come before that.
func leaderless(s *State, ps []*partition) []*partition {
	var out []*partition
	for _, p := range ps {
		if p.known && !s.present(p.li.Leader, p.TopicPartition) {
			out = append(out, p)
		}
	}
	return out
}

// electStep elects leaders by a rule and tells the replicas. Kafka: PartitionStateMachine.doElectLeaderForPartitions.
type electStep struct {
	partitions []*partition
	rule       rule
	// done, if set, gets the outcome for each partition: nil when its leader was written.
	done func(p *partition, err error)
	// chosen has the elections of the writes, in their order.
	chosen []elected
}

func (e *electStep) plan(s *State) []Write {
	var writes []Write
	for _, p := range e.partitions {
		if s.partition(p.TopicPartition) != p {
			e.finish(p, kerr.UnknownTopicOrPartition)
			continue
		}
		c, ok := s.elect(p, e.rule)
		if !ok {
			s.fail(p, e.rule.refusal())
			e.finish(p, e.rule.err())
			continue
		}
		li := s.next(p.li, c.leader, c.isr)
		if c.unclean {
			li.Recovery = metadata.Recovered
			if s.cfg.IBP.Recovery() {
				li.Recovery = metadata.Recovering
			}
		}
		e.chosen = append(e.chosen, c)
		writes = append(writes, Write{Kind: SetState, Partition: p.TopicPartition, State: li})
	}
	return writes
}

func (e *electStep) apply(s *State, writes []Write, results []Result) {
	var retry []*partition
	for i, w := range writes {
		p := s.partition(w.Partition)
		switch {
		case p == nil:
		case !results[i].Conflict:
			s.change(p, written(w, results[i]), e.chosen[i].unclean)
			s.batch.lead(p, e.chosen[i].recipients, nil)
			e.finish(p, nil)
		case s.conflict(p, results[i]):
			retry = append(retry, p)
		default:
			e.finish(p, kerr.UnknownTopicOrPartition)
		}
	}
	if len(retry) > 0 {
		s.push(&electStep{partitions: retry, rule: e.rule, done: e.done})
	}
}

func (e *electStep) finish(p *partition, err error) {
	if e.done != nil {
		e.done(p, err)
	}
}

// refusal says in words why a rule found no leader.
func (r rule) refusal() string {
	switch r {
	case byPreference:
		return "the preferred replica is not alive or not in sync"
	case byShutdown:
		return "no other replica is alive and in sync"
	case byReassignment:
		return "no replica that stays is alive and in sync"
	case byFailureUnclean:
		return "no replica is alive"
	default:
		return "no replica in sync is alive"
	}
}

// err is the answer of ElectLeaders when a rule found no leader.
func (r rule) err() error {
	if r == byPreference {
		return kerr.PreferredLeaderNotAvailable
	}
	return kerr.EligibleLeadersNotAvailable
}

// shrinkStep takes replicas out of service: they are told to stop if their broker can be reached, they leave the ISR, and if
// one led, the partition has no leader. The last member of an ISR stays in it, so that only it can lead later; so does the
// last one that is assigned, as others are not elected. Kafka: ReplicaStateMachine, transition to OfflineReplica.
//
// Differs from Kafka: when all members go at once, all of them stay, not an arbitrary one. Nothing can be committed without
// a leader, so each of them has all that was committed, and the first to return may lead.
type shrinkStep struct {
	// replicas are those to take out, by partition.
	replicas map[*partition][]metadata.BrokerID
}

func (t *shrinkStep) plan(s *State) []Write {
	var writes []Write
	for _, p := range t.sorted(s) {
		gone := t.replicas[p]
		for _, id := range gone {
			if s.brokers[id] != nil {
				s.batch.stop(p, id, false)
			}
		}
		li, changed := s.shrunk(p, gone)
		if !changed {
			s.batch.tell(p)
			continue
		}
		writes = append(writes, Write{Kind: SetState, Partition: p.TopicPartition, State: li})
	}
	return writes
}

// shrunk returns the state of p without the given replicas, and whether it differs.
func (s *State) shrunk(p *partition, gone []metadata.BrokerID) (metadata.LeaderAndISR, bool) {
	if !p.known {
		return p.li, false
	}
	isr := without(p.li.ISR, gone)
	if !slices.ContainsFunc(isr, func(id metadata.BrokerID) bool { return slices.Contains(p.Replicas, id) }) {
		isr = p.li.ISR
	}
	leader := p.li.Leader
	if slices.Contains(gone, leader) {
		leader = metadata.NoBroker
	}
	if leader == p.li.Leader && len(isr) == len(p.li.ISR) {
		return p.li, false
	}
	return s.next(p.li, leader, isr), true
}

func (t *shrinkStep) sorted(s *State) []*partition {
	out := make([]*partition, 0, len(t.replicas))
	for p := range t.replicas {
		if s.partition(p.TopicPartition) == p {
			out = append(out, p)
		}
	}
	sortPartitions(out)
	return out
}

func (t *shrinkStep) apply(s *State, writes []Write, results []Result) {
	retry := map[*partition][]metadata.BrokerID{}
	for i, w := range writes {
		p := s.partition(w.Partition)
		switch {
		case p == nil:
		case !results[i].Conflict:
			s.change(p, written(w, results[i]), false)
			live := only(p.Replicas, func(id metadata.BrokerID) bool { return s.present(id, p.TopicPartition) })
			s.batch.lead(p, without(live, t.replicas[p]), nil)
		case s.conflict(p, results[i]):
			retry[p] = t.replicas[p]
		}
	}
	if len(retry) > 0 {
		// The ISR that was found may have a member that can lead, which the one we knew had not.
		s.push(&electStep{partitions: electable(s, sortedKeys(retry)), rule: byFailure}, &shrinkStep{replicas: retry})
	}
}

// bumpStep raises the leader epochs without another leader, so that the leader and all replicas take notice of a new
// assignment. Kafka: KafkaController.updateLeaderEpochAndSendRequest.
type bumpStep struct {
	p *partition
	// fresh are replicas to be told that they are new.
	fresh []metadata.BrokerID
}

func (b *bumpStep) plan(s *State) []Write {
	if s.partition(b.p.TopicPartition) != b.p || !b.p.known {
		return nil
	}
	li := s.next(b.p.li, b.p.li.Leader, b.p.li.ISR)
	return []Write{{Kind: SetState, Partition: b.p.TopicPartition, State: li}}
}

func (b *bumpStep) apply(s *State, writes []Write, results []Result) {
	for i, w := range writes {
		p := s.partition(w.Partition)
		switch {
		case p == nil:
		case !results[i].Conflict:
			s.change(p, written(w, results[i]), false)
			live := only(p.Replicas, func(id metadata.BrokerID) bool { return s.present(id, p.TopicPartition) })
			s.batch.lead(p, live, b.fresh)
		case s.conflict(p, results[i]):
			s.push(&bumpStep{p: p, fresh: b.fresh})
		}
	}
}

// topicStep writes the topic znode with the assignments that are in memory at that time.
type topicStep struct {
	name string
	// change adapts the assignments in memory before they are written.
	change func(t *topic)
}

func (t *topicStep) plan(s *State) []Write {
	tp := s.topics[t.name]
	if tp == nil {
		return nil
	}
	if t.change != nil {
		t.change(tp)
	}
	return []Write{{Kind: SetTopic, Topic: t.name, ID: tp.id, Assignments: tp.assignments()}}
}

func (t *topicStep) apply(*State, []Write, []Result) {}
