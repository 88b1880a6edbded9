package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// deletion is how far the deletion of a topic is. Kafka: TopicDeletionManager, and the ReplicaDeletion states.
type deletion struct {
	replicas map[replica]deletionStage
	// announced is set when the brokers know that the topic goes.
	announced bool
	// done is set when ZooKeeper is being cleared.
	done bool
}

// replica names one replica of a partition.
type replica struct {
	partition int32
	broker    metadata.BrokerID
}

// deletionStage is how far the deletion of one replica is. A replica that is not in the map waits.
type deletionStage int8

const (
	// deletionAsked: StopReplica with delete was sent.
	deletionAsked deletionStage = iota + 1
	// deletionDone: the broker has confirmed it.
	deletionDone
	// deletionBlocked: the broker is dead or could not; asked again when it comes back.
	deletionBlocked
)

// DeleteTopics starts the deletion of topics, those that are asked already excepted. It returns the names that no topic has.
func (s *State) DeleteTopics(names []string) (unknown []string) {
	for _, name := range names {
		t := s.topics[name]
		switch {
		case t == nil:
			unknown = append(unknown, name)
		case t.deletion == nil:
			t.deletion = &deletion{replicas: map[replica]deletionStage{}}
			s.push(call(func(s *State) { s.advanceDeletion(name) }))
		}
	}
	return unknown
}

// Deleting returns the topics that are to be deleted, and of these the ones that wait for a broker or a reassignment.
func (s *State) Deleting() (all, waiting []string) {
	for name, t := range s.topics {
		if t.deletion == nil {
			continue
		}
		all = append(all, name)
		if s.moving(t) || t.deletion.blocked() {
			waiting = append(waiting, name)
		}
	}
	slices.Sort(all)
	slices.Sort(waiting)
	return all, waiting
}

func (d *deletion) blocked() bool {
	for _, stage := range d.replicas {
		if stage == deletionBlocked {
			return true
		}
	}
	return false
}

// moving reports whether a partition of t is being reassigned.
func (s *State) moving(t *topic) bool {
	for n := range t.partitions {
		if _, ok := s.reassigning[metadata.TopicPartition{Topic: t.name, Partition: n}]; ok {
			return true
		}
	}
	return false
}

// advanceDeletion does what can be done for a topic now: announces the deletion, asks brokers, clears ZooKeeper when all
// replicas are gone. A running reassignment is waited for.
func (s *State) advanceDeletion(name string) {
	t := s.topics[name]
	if t == nil || t.deletion == nil || t.deletion.done || s.moving(t) {
		return
	}
	if !t.deletion.announced {
		t.deletion.announced = true
		for _, p := range t.sorted() {
			s.batch.tell(p)
			for _, id := range without(p.li.ISR, p.Replicas) {
				s.batch.stop(p, id, true) // left by a controller that was deposed: see reclaim
			}
		}
	}
	if s.stopAll(t) {
		t.deletion.done = true
		s.push(&deleteStep{name: name})
	}
}

// stopAll asks for the deletion of all replicas that were not asked yet, and reports whether all are gone. A replica is first
// stopped and then deleted, in two requests, as Kafka does.
func (s *State) stopAll(t *topic) bool {
	gone := true
	var asked []replica
	for _, p := range t.sorted() {
		for _, id := range p.Replicas {
			r := replica{p.Partition, id}
			switch t.deletion.replicas[r] {
			case deletionDone:
				continue
			case deletionAsked:
			default:
				if !s.present(id, p.TopicPartition) {
					t.deletion.replicas[r] = deletionBlocked
					break
				}
				t.deletion.replicas[r] = deletionAsked
				s.batch.stop(p, id, false)
				asked = append(asked, r)
			}
			gone = false
		}
	}
	if len(asked) > 0 {
		s.push(call(func(s *State) {
			for _, r := range asked {
				s.batch.stop(t.partitions[r.partition], r.broker, true)
			}
		}))
	}
	return gone
}

// deleteStep removes a topic from ZooKeeper and then from memory.
type deleteStep struct{ name string }

func (d *deleteStep) plan(*State) []Write { return []Write{{Kind: DeleteTopic, Topic: d.name}} }

func (d *deleteStep) apply(s *State, _ []Write, _ []Result) {
	t := s.topics[d.name]
	if t == nil {
		return
	}
	delete(s.topics, d.name)
	delete(s.names, t.id)
}

// StopReplicaAnswered takes over a broker's answer to StopReplica. resp is nil when the broker was gone before it answered.
func (s *State) StopReplicaAnswered(broker metadata.BrokerID, req *kmsg.StopReplicaRequest, resp *kmsg.StopReplicaResponse) {
	if resp == nil {
		return // the failure of the broker blocks its replicas
	}
	if b := s.brokers[broker]; b == nil || b.Epoch != req.BrokerEpoch {
		return // of a former life: a refusal would block what the present one was asked, and nothing would ever ask again
	}
	failed := map[metadata.TopicPartition]bool{}
	for _, p := range resp.Partitions {
		if p.ErrorCode != 0 && p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			failed[metadata.TopicPartition{Topic: p.Topic, Partition: p.Partition}] = true
		}
	}
	for _, tp := range deletedBy(req) {
		s.replicaDeleted(tp, broker, resp.ErrorCode == 0 && !failed[tp])
	}
}

// deletedBy lists the partitions that a request deletes.
func deletedBy(req *kmsg.StopReplicaRequest) []metadata.TopicPartition {
	var out []metadata.TopicPartition
	for _, t := range req.Topics {
		for _, p := range t.PartitionStates {
			if p.Delete {
				out = append(out, metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition})
			}
		}
	}
	return out
}

func (s *State) replicaDeleted(tp metadata.TopicPartition, broker metadata.BrokerID, ok bool) {
	t := s.topics[tp.Topic]
	if t == nil || t.deletion == nil {
		return // a replica that a reassignment removed
	}
	r := replica{tp.Partition, broker}
	if t.deletion.replicas[r] != deletionAsked {
		return
	}
	t.deletion.replicas[r] = deletionBlocked
	if ok {
		t.deletion.replicas[r] = deletionDone
	}
	s.push(call(func(s *State) { s.finishDeletion(tp.Topic) }))
}

// finishDeletion goes on when no answer is awaited any more. Replicas that are blocked stay so until their broker returns.
func (s *State) finishDeletion(name string) {
	t := s.topics[name]
	if t == nil || t.deletion == nil || t.deletion.done {
		return
	}
	for _, p := range t.partitions {
		for _, id := range p.Replicas {
			if t.deletion.replicas[replica{p.Partition, id}] != deletionDone {
				return
			}
		}
	}
	t.deletion.done = true
	s.push(&deleteStep{name: name})
}

// deletionsOn resumes deletions that waited for a broker.
func (s *State) deletionsOn(ids []metadata.BrokerID) {
	for _, name := range s.dyingTopics() {
		t := s.topics[name]
		again := false
		for r, stage := range t.deletion.replicas {
			if stage == deletionBlocked && slices.Contains(ids, r.broker) {
				delete(t.deletion.replicas, r)
				again = true
			}
		}
		if again {
			s.push(call(func(s *State) { s.advanceDeletion(name) }))
		}
	}
}

// blockDeletions notes that brokers died: their replicas must be asked again.
func (s *State) blockDeletions(ids []metadata.BrokerID) {
	for _, name := range s.dyingTopics() {
		t := s.topics[name]
		for r, stage := range t.deletion.replicas {
			if stage == deletionAsked && slices.Contains(ids, r.broker) {
				t.deletion.replicas[r] = deletionBlocked
			}
		}
	}
}

func (s *State) dyingTopics() []string {
	all, _ := s.Deleting()
	return all
}
