package state

import (
	"slices"

	"jackdaw/metadata"
)

// Assignment is where the replicas of a partition are, and where they are going while it is reassigned (KIP-455).
// The slices are shared and never changed in place. Kafka: ReplicaAssignment.
type Assignment struct {
	// Replicas are all replicas, the preferred leader first; during a reassignment the target's, then those to be removed.
	Replicas []metadata.BrokerID
	// Adding and Removing are empty unless a reassignment runs.
	Adding, Removing []metadata.BrokerID
}

// Reassigning reports whether a reassignment runs.
func (a Assignment) Reassigning() bool { return len(a.Adding) > 0 || len(a.Removing) > 0 }

// Target returns the replicas after the reassignment.
func (a Assignment) Target() []metadata.BrokerID { return without(a.Replicas, a.Removing) }

// Origin returns the replicas that an abandoned reassignment goes back to.
func (a Assignment) Origin() []metadata.BrokerID { return without(a.Replicas, a.Adding) }

// ReassignTo returns the assignment while the replicas move to target. What was being added and is not wanted any more is
// dropped at once. Kafka: ReplicaAssignment.reassignTo.
func (a Assignment) ReassignTo(target []metadata.BrokerID) Assignment {
	origin := a.Origin()
	full := slices.Clone(target)
	for _, r := range origin {
		if !slices.Contains(full, r) {
			full = append(full, r)
		}
	}
	return Assignment{Replicas: full, Adding: without(full, origin), Removing: without(full, target)}
}

// keep adds replicas to those that are moved away.
func (a Assignment) keep(ids []metadata.BrokerID) Assignment {
	a.Replicas = append(slices.Clone(a.Replicas), ids...)
	a.Removing = append(slices.Clone(a.Removing), ids...)
	return a
}

// equal compares all three lists, order included.
func (a Assignment) equal(b Assignment) bool {
	return slices.Equal(a.Replicas, b.Replicas) && slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

// partition is one partition as the controller knows it.
type partition struct {
	metadata.TopicPartition
	Assignment
	// li is the content of the state znode; meaningless while known is false.
	li metadata.LeaderAndISR
	// known is false before the first leader: there is no state znode yet.
	known bool
	// refused are the members because of which proposals were refused in this state.
	refused []member
}

// without returns the ids of a that are not in b, in a's order.
func without(a, b []metadata.BrokerID) []metadata.BrokerID {
	out := make([]metadata.BrokerID, 0, len(a))
	for _, id := range a {
		if !slices.Contains(b, id) {
			out = append(out, id)
		}
	}
	return out
}

// only returns the ids of a that keep accepts, in a's order.
func only(a []metadata.BrokerID, keep func(metadata.BrokerID) bool) []metadata.BrokerID {
	out := make([]metadata.BrokerID, 0, len(a))
	for _, id := range a {
		if keep(id) {
			out = append(out, id)
		}
	}
	return out
}

// subset reports whether every id of a is in b.
func subset(a, b []metadata.BrokerID) bool {
	return !slices.ContainsFunc(a, func(id metadata.BrokerID) bool { return !slices.Contains(b, id) })
}
