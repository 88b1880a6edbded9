package state

import (
	"maps"
	"slices"

	"jackdaw/metadata"
)

// Snapshot is what a new controller reads from ZooKeeper before it acts.
type Snapshot struct {
	// Brokers are the registered brokers, with their epochs.
	Brokers []metadata.Broker
	Topics  map[string]TopicSnapshot
	// States are those of the partitions that have a state znode.
	States map[metadata.TopicPartition]metadata.LeaderAndISR
	// Written has the ZooKeeper transaction that wrote each state, in the count of the brokers' epochs. What is missing is
	// taken to be newer than all brokers.
	Written map[metadata.TopicPartition]int64
	// Deleting are the topics whose deletion was asked.
	Deleting []string
}

// TopicSnapshot is the content of a topic znode.
type TopicSnapshot struct {
	// ID is zero below an inter.broker.protocol.version of 2.8.
	ID         metadata.TopicID
	Partitions map[int32]Assignment
}

// Load fills an empty state and plans the work of a new controller: tell all brokers who is alive, then give each its
// partitions, elect where a leader is dead, clear dead and unassigned replicas out of the ISRs, and go on with reassignments
// and deletions that the former controller left. Deletions of topics that do not exist are returned, to be cleared.
// Kafka: KafkaController.onControllerFailover.
//
// Differs from Kafka: the election comes before the dead replicas are removed, which needs one write less for each partition
// and one leaderless moment less.
func (s *State) Load(snap Snapshot) (unknownDeletions []string) {
	for _, b := range snap.Brokers {
		s.brokers[b.ID] = &broker{Broker: b}
	}
	for name, t := range snap.Topics {
		s.addTopic(name, t)
	}
	for tp, li := range snap.States {
		if p := s.partition(tp); p != nil {
			p.li, p.known = li, true
			s.deposed = s.deposed || li.ControllerEpoch > s.cfg.Epoch
		}
	}
	bounced := s.markBounced(snap.Written)
	s.push(call(func(s *State) { s.batch.tellBrokers(s.brokerIDs()) }))
	unknownDeletions = s.DeleteTopics(snap.Deleting)
	var unassigned map[*partition][]metadata.BrokerID
	s.push(call(func(s *State) { unassigned = s.reclaim() }), call(func(s *State) {
		known := s.partitions(func(p *partition) bool { return p.known })
		for _, p := range known {
			s.announce(p)
		}
		s.push(
			&electStep{partitions: electable(s, known), rule: byFailure},
			call(func(s *State) { s.push(s.shrinkDead()) }),
			call(func(s *State) { s.unmark(bounced) }),
			&createStep{partitions: s.partitions(func(p *partition) bool { return !p.known })},
			call(func(s *State) { s.dropAll(unassigned) }),
			call(func(s *State) { s.resumeReassignments(nil) }),
		)
	}))
	return unknownDeletions
}

// markBounced finds the members of ISRs that have registered after the state of their partition was written: they died and
// came back while there was no controller that saw it, and what they had not synced may be gone. Where another member did
// not, they count as offline until the new controller has taken them out of the ISR, as one that saw them die would have.
//
// The interleaving that needs it: the leader is the controller, and loses its power; it is back before its session expires,
// replaces its own registration, and is elected controller again. To the controller every leader is alive then, and a
// leader with a shorter log in the same epoch makes its followers cut what was acknowledged.
// Differs from Kafka: there a broker cannot register until its old session has expired.
func (s *State) markBounced(written map[metadata.TopicPartition]int64) map[*partition][]metadata.BrokerID {
	marked := map[*partition][]metadata.BrokerID{}
	for _, p := range s.partitions(func(p *partition) bool { return p.known }) {
		zxid, ok := written[p.TopicPartition]
		live := only(p.li.ISR, func(id metadata.BrokerID) bool { return s.brokers[id] != nil })
		back := only(live, func(id metadata.BrokerID) bool { return s.brokers[id].Epoch > zxid })
		if !ok || len(back) == 0 || len(back) == len(live) {
			continue
		}
		marked[p] = back
		for _, id := range back {
			s.brokers[id].lose(p.TopicPartition)
		}
	}
	return marked
}

// unmark ends what markBounced began: the replicas are told their partitions, and catch up as any that was away.
func (s *State) unmark(marked map[*partition][]metadata.BrokerID) {
	for p, ids := range marked {
		if s.partition(p.TopicPartition) != p {
			continue
		}
		ids = only(ids, func(id metadata.BrokerID) bool { return s.brokers[id] != nil })
		for _, id := range ids {
			delete(s.brokers[id].offline, p.TopicPartition)
		}
		s.batch.lead(p, ids, nil)
	}
}

// addTopic takes a topic into memory, without telling anybody.
func (s *State) addTopic(name string, snap TopicSnapshot) *topic {
	t := &topic{name: name, id: snap.ID, partitions: map[int32]*partition{}}
	s.topics[name] = t
	if !t.id.IsZero() {
		s.names[t.id] = name
	}
	for n, a := range snap.Partitions {
		s.addPartition(t, n, a)
	}
	return t
}

func (s *State) addPartition(t *topic, n int32, a Assignment) *partition {
	p := &partition{TopicPartition: metadata.TopicPartition{Topic: t.name, Partition: n}, Assignment: a}
	t.partitions[n] = p
	if a.Reassigning() {
		s.reassigning[p.TopicPartition] = struct{}{}
	}
	return p
}

// electable returns those of ps whose leader is dead and for which an election would find another one.
func electable(s *State, ps []*partition) []*partition {
	return slices.DeleteFunc(leaderless(s, ps), func(p *partition) bool {
		_, ok := s.elect(p, byFailure)
		return !ok
	})
}

// shrinkDead takes every replica that cannot be reached out of its ISR.
func (s *State) shrinkDead() step {
	gone := map[*partition][]metadata.BrokerID{}
	for _, p := range s.partitions(func(p *partition) bool { return p.known }) {
		dead := only(p.li.ISR, func(id metadata.BrokerID) bool { return !s.present(id, p.TopicPartition) })
		if leader := p.li.Leader; leader >= 0 && !s.present(leader, p.TopicPartition) && !slices.Contains(dead, leader) {
			dead = append(dead, leader)
		}
		if len(dead) > 0 {
			gone[p] = dead
		}
	}
	return &shrinkStep{replicas: gone}
}

// Topics returns the topics of the state with the content of their znodes, those to be deleted among them.
func (s *State) Topics() map[string]TopicSnapshot {
	out := make(map[string]TopicSnapshot, len(s.topics))
	for name, t := range s.topics {
		out[name] = TopicSnapshot{ID: t.id, Partitions: t.assignments()}
	}
	return out
}

// Topic returns the content of one topic znode as the controller knows it.
func (s *State) Topic(name string) (TopicSnapshot, bool) {
	t, ok := s.topics[name]
	if !ok {
		return TopicSnapshot{}, false
	}
	return TopicSnapshot{ID: t.id, Partitions: t.assignments()}, true
}

// TopicNames returns all topics, sorted.
func (s *State) TopicNames() []string { return slices.Sorted(maps.Keys(s.topics)) }

// Dying reports whether the topic exists and is to be deleted.
func (s *State) Dying(topic string) bool { return s.dying(topic) }
