package state

import (
	"maps"
	"slices"

	"jackdaw/metadata"
)

// SetTopics takes over topics that appeared, and forgets those that are gone from ZooKeeper without having been deleted through
// the controller. names are all topics of ZooKeeper, fresh has the content of those that are not known yet.
// Kafka: KafkaController.processTopicChange.
func (s *State) SetTopics(names []string, fresh map[string]TopicSnapshot) {
	s.forget(names)
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if s.topics[name] != nil {
			continue
		}
		t := s.addTopic(name, fresh[name])
		s.push(&createStep{partitions: t.sorted()})
	}
}

func (s *State) forget(names []string) {
	alive := make(map[string]struct{}, len(names))
	for _, n := range names {
		alive[n] = struct{}{}
	}
	for name, t := range s.topics {
		if _, ok := alive[name]; ok {
			continue
		}
		for _, p := range t.partitions {
			delete(s.reassigning, p.TopicPartition)
		}
		delete(s.names, t.id)
		delete(s.topics, name)
	}
}

// Missing returns those of names that the controller does not know yet.
func (s *State) Missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return s.topics[n] != nil })
}

// SetPartitions takes over the topic znode after somebody changed it: partitions that are new get a leader. What was changed of
// old ones is not ours to take over, reassignments are asked for otherwise. With a topic that is to be deleted, new partitions
// are taken back. Kafka: KafkaController.processPartitionModifications.
func (s *State) SetPartitions(name string, assignments map[int32]Assignment) {
	t := s.topics[name]
	if t == nil {
		return
	}
	fresh := slices.DeleteFunc(slices.Sorted(maps.Keys(assignments)), func(n int32) bool { return t.partitions[n] != nil })
	if len(fresh) == 0 {
		return
	}
	if t.deletion != nil {
		s.push(&topicStep{name: name})
		return
	}
	var ps []*partition
	for _, n := range fresh {
		ps = append(ps, s.addPartition(t, n, assignments[n]))
	}
	s.push(&createStep{partitions: ps})
}

// StatesChanged takes over states that leaders wrote themselves, with an inter.broker.protocol.version below 2.7.
// Kafka: KafkaController.processIsrChangeNotification.
func (s *State) StatesChanged(states map[metadata.TopicPartition]metadata.LeaderAndISR) {
	s.push(call(func(s *State) {
		for tp, li := range states {
			p := s.partition(tp)
			if p == nil || p.known && li.PartitionEpoch < p.li.PartitionEpoch {
				continue
			}
			s.change(p, li, false)
			s.batch.tell(p)
			s.resumeIfComplete(p)
		}
	}))
}
