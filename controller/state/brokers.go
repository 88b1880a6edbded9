package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// SetBrokers takes over the list of registered brokers. A broker with another epoch than before has failed and come back, in
// that order. Kafka: KafkaController.processBrokerChange, processBrokerModification.
func (s *State) SetBrokers(registered []metadata.Broker) {
	current := map[metadata.BrokerID]metadata.Broker{}
	registered, gone := s.unsuspected(registered)
	for _, b := range registered {
		current[b.ID] = b
	}
	var dead, bounced []metadata.BrokerID
	var fresh, returned []metadata.Broker
	moved := false
	for _, id := range s.brokerIDs() {
		now, ok := current[id]
		switch {
		case !ok:
			dead = append(dead, id)
		case now.Epoch != s.brokers[id].Epoch:
			bounced, returned = append(bounced, id), append(returned, now)
		case !sameAddresses(now, s.brokers[id].Broker):
			moved = true
			s.brokers[id].Broker = now
		}
		delete(current, id)
	}
	for _, b := range current {
		fresh = append(fresh, b)
	}
	slices.SortFunc(fresh, compareBrokers)
	if moved {
		s.push(call(func(s *State) { s.batch.tellBrokers(s.brokerIDs()) }))
	}
	s.up(fresh)
	s.down(bounced)
	s.up(returned)
	s.down(dead)
	if gone {
		s.ElectMissing()
	}
}

func sameAddresses(a, b metadata.Broker) bool {
	return a.Rack == b.Rack && slices.Equal(a.Endpoints, b.Endpoints)
}

// up plans the work for brokers that registered: the others learn of them, they get all metadata, their partitions, and then
// leaders are elected where they were missing. Kafka: KafkaController.onBrokerStartup.
func (s *State) up(brokers []metadata.Broker) {
	if len(brokers) == 0 {
		return
	}
	var ids []metadata.BrokerID
	for _, b := range brokers {
		ids = append(ids, b.ID)
	}
	s.push(
		call(func(s *State) {
			s.batch.tellBrokers(s.brokerIDs())
			for _, b := range brokers {
				s.brokers[b.ID] = s.revived(b)
				delete(s.batch.audience, b.ID)
			}
		}),
		call(func(s *State) { s.tellAll(ids) }),
		call(func(s *State) { s.startReplicas(ids) }),
		call(func(s *State) { s.push(s.electMissing()...) }),
		call(func(s *State) {
			s.resumeReassignments(ids)
			s.deletionsOn(ids)
		}),
	)
}

// revived returns a broker that starts. One whose suspicion is taken back goes on to stop if it did before.
func (s *State) revived(b metadata.Broker) *broker {
	old := s.suspects[b.ID]
	delete(s.suspects, b.ID)
	return &broker{Broker: b, stopping: old != nil && old.Epoch == b.Epoch && old.stopping}
}

// tellAll sends the metadata of all partitions to some brokers.
func (s *State) tellAll(ids []metadata.BrokerID) {
	ps := s.partitions(func(p *partition) bool { return p.known })
	for _, name := range s.dyingTopics() {
		ps = append(ps, s.topics[name].sorted()...)
	}
	s.batch.tellBrokers(ids)
	if s.batch.tells == nil {
		s.batch.tells = map[*partition]struct{}{}
	}
	for _, p := range ps {
		s.batch.tells[p] = struct{}{}
	}
}

// startReplicas gives brokers the state of all partitions they have a replica of.
func (s *State) startReplicas(ids []metadata.BrokerID) {
	for _, p := range s.partitions(func(p *partition) bool { return p.known }) {
		if own := only(p.Replicas, func(id metadata.BrokerID) bool { return slices.Contains(ids, id) }); len(own) > 0 {
			s.batch.lead(p, own, nil)
		}
	}
}

// electMissing elects leaders for all partitions that can have one and do not, new ones included.
// Kafka: PartitionStateMachine.triggerOnlinePartitionStateChange.
func (s *State) electMissing() []step {
	known := s.partitions(func(p *partition) bool { return p.known })
	return []step{
		&electStep{partitions: electable(s, known), rule: byFailure},
		&createStep{partitions: s.partitions(func(p *partition) bool { return !p.known })},
	}
}

// ElectMissing plans elections for the partitions without a leader. The shell calls it when unclean elections were allowed for
// a topic.
func (s *State) ElectMissing() {
	s.push(call(func(s *State) { s.push(s.electMissing()...) }))
}

// down plans the work for brokers that died. Kafka: KafkaController.onBrokerFailure.
func (s *State) down(ids []metadata.BrokerID) {
	if len(ids) == 0 {
		return
	}
	s.push(call(func(s *State) {
		for _, id := range ids {
			delete(s.brokers, id)
		}
		s.blockDeletions(ids)
		if !s.lose(func(p *partition) []metadata.BrokerID {
			return only(p.Replicas, func(id metadata.BrokerID) bool { return slices.Contains(ids, id) })
		}) {
			s.batch.tellBrokers(s.brokerIDs())
		}
	}))
}

// lose plans what follows when replicas became unavailable: elections, then smaller ISRs. It reports whether there were any
// replicas. Kafka: KafkaController.onReplicasBecomeOffline.
func (s *State) lose(gone func(p *partition) []metadata.BrokerID) bool {
	lost := map[*partition][]metadata.BrokerID{}
	for _, p := range s.partitions(func(*partition) bool { return true }) {
		if ids := gone(p); len(ids) > 0 {
			lost[p] = ids
		}
	}
	if len(lost) == 0 {
		return false
	}
	known := slices.DeleteFunc(sortedKeys(lost), func(p *partition) bool { return !p.known })
	s.push(
		&electStep{partitions: electable(s, known), rule: byFailure},
		&shrinkStep{replicas: lost},
	)
	return true
}

// CheckLogDirs asks brokers for the replicas whose log directory failed, by sending them all their partitions.
// Kafka: KafkaController.onBrokerLogDirFailure.
func (s *State) CheckLogDirs(ids []metadata.BrokerID) {
	s.push(call(func(s *State) { s.startReplicas(ids) }))
}

// LeaderAndISRAnswered takes over a broker's answer to LeaderAndIsr: replicas that it could not open are offline from now on,
// those it could are well again. resp is nil when the broker was gone. Kafka: processLeaderAndIsrResponseReceived.
func (s *State) LeaderAndISRAnswered(from metadata.Broker, resp *kmsg.LeaderAndISRResponse) {
	b := s.brokers[from.ID]
	if resp == nil || resp.ErrorCode != 0 || b == nil || b.Epoch != from.Epoch {
		return
	}
	var lost []*partition
	for _, a := range s.answers(resp) {
		tp := a.p.TopicPartition
		switch {
		case a.code == kerr.KafkaStorageError.Code && !b.lost(tp):
			b.lose(tp)
			lost = append(lost, a.p)
		case a.code == 0:
			delete(b.offline, tp)
		}
	}
	if len(lost) > 0 {
		s.push(call(func(s *State) {
			s.lose(func(p *partition) []metadata.BrokerID {
				if slices.Contains(lost, p) {
					return []metadata.BrokerID{from.ID}
				}
				return nil
			})
		}))
	}
}

// answer is the result for one partition.
type answer struct {
	p    *partition
	code int16
}

// answers finds the partitions of a response, which version 5 names by topic id.
func (s *State) answers(resp *kmsg.LeaderAndISRResponse) []answer {
	var out []answer
	for _, r := range resp.Partitions {
		if p := s.partition(metadata.TopicPartition{Topic: r.Topic, Partition: r.Partition}); p != nil {
			out = append(out, answer{p, r.ErrorCode})
		}
	}
	for _, t := range resp.Topics {
		name := s.names[t.TopicID]
		for _, r := range t.Partitions {
			if p := s.partition(metadata.TopicPartition{Topic: name, Partition: r.Partition}); p != nil {
				out = append(out, answer{p, r.ErrorCode})
			}
		}
	}
	return out
}

// Brokers returns the live brokers by rising id.
func (s *State) Brokers() []metadata.Broker {
	out := make([]metadata.Broker, 0, len(s.brokers))
	for _, id := range s.brokerIDs() {
		out = append(out, s.brokers[id].Broker)
	}
	return out
}

// checkBroker compares the epoch in a broker's request with its registration. below accepts newer epochs than ours.
func (s *State) checkBroker(id metadata.BrokerID, epoch int64) error {
	b := s.brokers[id]
	if b == nil || b.Epoch != epoch {
		return kerr.StaleBrokerEpoch
	}
	return nil
}

// CheckBrokerEpoch refuses requests of a former life of a broker with STALE_BROKER_EPOCH, and those of a broker that is not
// registered with BROKER_ID_NOT_REGISTERED.
func (s *State) CheckBrokerEpoch(id metadata.BrokerID, epoch int64) error {
	if s.brokers[id] == nil {
		return kerr.BrokerIDNotRegistered
	}
	return s.checkBroker(id, epoch)
}

// Loads returns the load of each broker that may get new replicas, by rising id. Topics to be deleted do not count.
func (s *State) Loads() []BrokerLoad {
	loads := map[metadata.BrokerID]*BrokerLoad{}
	for id, b := range s.brokers {
		if !b.stopping {
			loads[id] = &BrokerLoad{ID: id, Rack: b.Rack}
		}
	}
	for _, t := range s.topics {
		if t.deletion != nil {
			continue
		}
		for _, p := range t.partitions {
			for i, id := range p.Replicas {
				if l := loads[id]; l != nil {
					l.Replicas++
					if i == 0 {
						l.Leaders++
					}
				}
			}
		}
	}
	out := make([]BrokerLoad, 0, len(loads))
	for _, id := range s.brokerIDs() {
		if l := loads[id]; l != nil {
			out = append(out, *l)
		}
	}
	return out
}

// Refresh plans to send brokers all they must know, metadata and their own partitions. The shell asks for it when it gave up
// the requests that were waiting for a broker.
func (s *State) Refresh(ids []metadata.BrokerID) {
	s.push(
		call(func(s *State) { s.tellAll(ids) }),
		call(func(s *State) { s.startReplicas(ids) }),
	)
}
