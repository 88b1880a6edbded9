package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// Reassign plans the move of a partition to target, in place of a move that runs; a nil target cancels that one. The work goes
// on over later events until all of the target is in sync. Kafka: KafkaController.processApiPartitionReassignment.
func (s *State) Reassign(tp metadata.TopicPartition, target []metadata.BrokerID) error {
	p := s.partition(tp)
	if err := s.checkTarget(p, target); err != nil {
		return err
	}
	switch {
	case target == nil && (p == nil || !p.Reassigning()):
		return Errorf(kerr.NoReassignmentInProgress, "No partition reassignment is in progress.")
	case p == nil || s.dying(tp.Topic):
		return errNoPartition
	case target == nil:
		target = p.Origin()
	}
	s.push(call(func(s *State) { s.reassign(p, p.ReassignTo(target)) }))
	return nil
}

func (s *State) checkTarget(p *partition, target []metadata.BrokerID) error {
	if target == nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return Errorf(kerr.InvalidReplicaAssignment, format, args...)
	}
	seen := map[metadata.BrokerID]bool{}
	for _, id := range target {
		if id < 0 {
			return refuse("Invalid broker id in replica list: %s", scalaBuffer(target))
		}
		if seen[id] {
			return refuse("Duplicate replica ids in partition reassignment replica list: %s", scalaBuffer(target))
		}
		seen[id] = true
	}
	if len(target) == 0 {
		return refuse("Empty replica list specified in partition reassignment.")
	}
	var current Assignment
	if p != nil {
		current = p.Assignment
	}
	live := only(s.brokerIDs(), s.eligible)
	if adding := current.ReassignTo(target).Adding; p != nil && !subset(adding, live) {
		return refuse("Replica assignment has brokers that are not alive. Replica list: %s, live broker list: Set(%s)",
			scalaBuffer(adding), joinIDs(live))
	}
	return nil
}

// scalaBuffer writes a list as it stands in Kafka's messages.
func scalaBuffer(ids []metadata.BrokerID) string { return "ArrayBuffer(" + joinIDs(ids) + ")" }

func joinIDs(ids []metadata.BrokerID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(int32(id))
	}
	return strings.Join(parts, ", ")
}

// reassign begins a move: ZooKeeper first, then the replicas that an earlier move was adding and nobody wants any more, then
// either the new replicas or, if all are in sync already, the end. Kafka: KafkaController.onPartitionReassignment.
func (s *State) reassign(p *partition, to Assignment) {
	if s.partition(p.TopicPartition) != p {
		return
	}
	to, unwanted := s.keepInSync(p, to)
	s.reassigning[p.TopicPartition] = struct{}{}
	if !p.equal(to) {
		s.push(&topicStep{name: p.Topic, change: func(*topic) { p.Assignment = to }})
	}
	if len(unwanted) > 0 {
		s.dropReplicas(p, unwanted)
	}
	s.push(call(func(s *State) { s.continueReassignment(p) }))
}

// keepInSync returns the replicas that can be dropped at once, which an earlier move was adding and nobody wants any more. If
// none of the others is alive and in sync, they stay until the target is, as those that are moved away.
//
// Differs from Kafka, which deletes them, and with them what may be all that is committed.
func (s *State) keepInSync(p *partition, to Assignment) (Assignment, []metadata.BrokerID) {
	unwanted := without(p.Replicas, to.Replicas)
	if s.dispensable(p, unwanted) {
		return to, unwanted
	}
	return to.keep(unwanted), nil
}

// dispensable reports whether p does without some replicas: none of them is in sync, or another one is, and may lead.
func (s *State) dispensable(p *partition, ids []metadata.BrokerID) bool {
	others := without(p.li.ISR, ids)
	return !p.known || len(others) == len(p.li.ISR) || slices.ContainsFunc(others, func(id metadata.BrokerID) bool {
		return slices.Contains(p.Replicas, id) && s.online(id, p.TopicPartition)
	})
}

// dropReplicas takes replicas that are not assigned any more out of the ISR and deletes them. If one of them leads, another
// one is elected first: the move that goes on does not elect.
//
// Where leaders write the ISR themselves, it may have changed since it was read: one of the replicas joined, or all others
// left. The election finds that out, else a new leader epoch does; and none of them can join after it.
func (s *State) dropReplicas(p *partition, ids []metadata.BrokerID) {
	s.push(
		call(func(s *State) {
			switch {
			case p.known && slices.Contains(ids, p.li.Leader):
				s.push(&electStep{partitions: []*partition{p}, rule: byReassignment})
			case !s.cfg.IBP.AlterPartition():
				s.push(&bumpStep{p: p})
			}
		}),
		call(func(s *State) {
			if !s.dispensable(p, ids) {
				s.takeBack(p, ids)
				return
			}
			s.push(
				&shrinkStep{replicas: map[*partition][]metadata.BrokerID{p: ids}},
				call(func(s *State) {
					for _, id := range without(ids, p.li.ISR) {
						s.batch.stop(p, id, true)
					}
				}),
			)
		}),
	)
}

// dropAll drops replicas of many partitions.
func (s *State) dropAll(unassigned map[*partition][]metadata.BrokerID) {
	for _, p := range sortedKeys(unassigned) {
		if s.partition(p.TopicPartition) == p {
			s.dropReplicas(p, unassigned[p])
		}
	}
}

// takeBack assigns replicas again, as those that are moved away once the others are in sync.
func (s *State) takeBack(p *partition, ids []metadata.BrokerID) {
	s.reassigning[p.TopicPartition] = struct{}{}
	s.push(&topicStep{name: p.Topic, change: func(*topic) { p.Assignment = p.keep(ids) }})
}

// reclaim looks for what a former controller was deposed in: it had written an assignment without replicas that were still
// in the ISR. It returns those to be dropped, as that controller would have. Those that are needed are taken back if their
// logs are there for certain; without them the partition waits for an assigned member of the ISR.
//
// A log may be gone although its replica is in the ISR: where leaders write that themselves, and in an ISR without any
// assigned member and without a leader, which Apache Kafka leaves when it has deleted the last replica in sync. To elect
// that one would make the others cut what they have.
//
// Differs from Kafka, where the ISR keeps them; if the last assigned member dies, nobody can ever lead.
func (s *State) reclaim() map[*partition][]metadata.BrokerID {
	drop := map[*partition][]metadata.BrokerID{}
	for _, p := range s.partitions(func(p *partition) bool { return p.known && !subset(p.li.ISR, p.Replicas) }) {
		ids := without(p.li.ISR, p.Replicas)
		switch {
		case s.dispensable(p, ids):
			drop[p] = ids
		case slices.Contains(ids, p.li.Leader) || s.cfg.IBP.AlterPartition() && len(ids) < len(p.li.ISR):
			s.takeBack(p, ids)
		}
	}
	return drop
}

// continueReassignment starts the replicas that are added, or ends the move when all of the target is in sync. A partition
// without a leader gets one if one of the new replicas can be it: the first of all, or one of the ISR that was not assigned.
func (s *State) continueReassignment(p *partition) {
	if s.partition(p.TopicPartition) != p {
		return
	}
	if s.complete(p) {
		s.completeReassignment(p)
		return
	}
	if !p.known {
		s.push(&createStep{partitions: []*partition{p}}, call(func(s *State) {
			if p.known {
				s.continueReassignment(p)
			}
		}))
		return
	}
	if _, ok := s.elect(p, byReassignment); ok && !s.present(p.li.Leader, p.TopicPartition) {
		s.push(&electStep{partitions: []*partition{p}, rule: byReassignment})
	}
	s.push(&bumpStep{p: p, fresh: p.Adding})
}

// complete reports whether the target is in sync and can do without the replicas that are moved away: not while all brokers
// are dead, of which one of these may be the first to return. A partition that never had a leader has nothing to move.
func (s *State) complete(p *partition) bool {
	return !p.Reassigning() || p.known && subset(p.Target(), p.li.ISR) && s.dispensable(p, p.Removing)
}

// completeReassignment ends a move: new assignment in memory, a leader of the target, the old replicas gone, ZooKeeper last, so
// that a new controller does all of it again if this one fails in between.
func (s *State) completeReassignment(p *partition) {
	removing := p.Removing
	p.Assignment = Assignment{Replicas: p.Target()}
	if s.online(p.li.Leader, p.TopicPartition) && slices.Contains(p.Replicas, p.li.Leader) {
		s.push(&bumpStep{p: p})
	} else {
		s.push(&electStep{partitions: []*partition{p}, rule: byReassignment})
	}
	if len(removing) > 0 {
		s.dropReplicas(p, removing)
	}
	s.push(
		&topicStep{name: p.Topic},
		call(func(s *State) {
			if p.Reassigning() {
				s.continueReassignment(p) // some were taken back
				return
			}
			delete(s.reassigning, p.TopicPartition)
			s.batch.tell(p)
			s.advanceDeletion(p.Topic)
		}),
	)
}

// resumeIfComplete ends the move of p if the ISR that was just written is all it waited for.
func (s *State) resumeIfComplete(p *partition) {
	if _, moving := s.reassigning[p.TopicPartition]; moving && s.complete(p) {
		s.push(call(func(s *State) {
			if _, still := s.reassigning[p.TopicPartition]; still && s.complete(p) {
				s.completeReassignment(p)
			}
		}))
	}
}

// resumeReassignments goes on with the moves that have one of the brokers in their target; with all when brokers is nil.
func (s *State) resumeReassignments(brokers []metadata.BrokerID) {
	for _, tp := range s.Reassigning() {
		p := s.partition(tp)
		if p == nil {
			delete(s.reassigning, tp)
			continue
		}
		concerned := brokers == nil || slices.ContainsFunc(p.Target(), func(id metadata.BrokerID) bool { return slices.Contains(brokers, id) })
		if concerned {
			s.push(call(func(s *State) { s.continueReassignment(p) }))
		}
	}
}

// Reassigning returns the partitions with a move that runs, sorted.
func (s *State) Reassigning() []metadata.TopicPartition {
	out := slices.Collect(maps.Keys(s.reassigning))
	slices.SortFunc(out, metadata.TopicPartition.Compare)
	return out
}

// Assignment returns the assignment of a partition.
func (s *State) Assignment(tp metadata.TopicPartition) (Assignment, bool) {
	p := s.partition(tp)
	if p == nil {
		return Assignment{}, false
	}
	return p.Assignment, true
}
