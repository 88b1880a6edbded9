package state

import (
	"jackdaw/metadata"
)

// WriteKind tells what a Write does.
type WriteKind int8

const (
	// CreateState creates the state znode of a partition, and its parents.
	CreateState WriteKind = iota
	// SetState writes the state znode of a partition if its version is State.PartitionEpoch.
	SetState
	// SetTopic rewrites the topic znode, whatever its version.
	SetTopic
	// DeleteTopic removes all that ZooKeeper has of a topic.
	DeleteTopic
)

// Write is one write to ZooKeeper. All are conditional on the controller epoch.
type Write struct {
	Kind WriteKind
	// Partition and State are those of CreateState and SetState. State.PartitionEpoch is the version expected.
	Partition metadata.TopicPartition
	State     metadata.LeaderAndISR
	// Topic, ID and Assignments are those of SetTopic; Topic alone that of DeleteTopic.
	Topic       string
	ID          metadata.TopicID
	Assignments map[int32]Assignment
}

// Result is what became of a Write.
type Result struct {
	// Version is the version of the state znode after the write.
	Version int32
	// Conflict says that nothing was written: the znode had another version, or was there already, or is gone.
	Conflict bool
	// Current is the state that the shell then read; nil when there is no znode.
	Current *metadata.LeaderAndISR
}

// Plan is the part of an event's work that can be done at once. The writes are independent of each other.
type Plan struct {
	Writes []Write
}

// Change tells of a decision, for the state change log.
type Change struct {
	Partition metadata.TopicPartition
	// From is the state before; nil for a new partition.
	From *metadata.LeaderAndISR
	To   metadata.LeaderAndISR
	// Unclean says that the leader was elected outside the ISR: what the former ISR alone had is lost.
	Unclean bool
	// Failure says why nothing was decided; To is then the present state.
	Failure string
}

// step is a piece of work that takes one round of writes. Kafka does the same in one call, with the round trip inside.
type step interface {
	// plan decides, and returns what must be written first. It runs when all earlier steps are done.
	plan(s *State) []Write
	// apply takes over the results, one for each write in order, and tells the brokers.
	apply(s *State, writes []Write, results []Result)
}

// call is a step without writes.
type call func(s *State)

func (c call) plan(*State) []Write                   { return nil }
func (c call) apply(s *State, _ []Write, _ []Result) { c(s) }

// Next returns the next plan, or false when the work of all events so far is done. The caller makes the writes and calls
// Apply before it calls Next again.
func (s *State) Next() (Plan, bool) {
	if len(s.steps) == 0 {
		return Plan{}, false
	}
	s.planned = s.steps[0].plan(s)
	return Plan{Writes: s.planned}, true
}

// Apply takes over the results of the plan that Next returned, one for each write. What the brokers must be told is then in
// Requests.
func (s *State) Apply(results []Result) {
	st := s.steps[0]
	s.steps = s.steps[1:]
	later := s.steps
	s.steps = nil
	st.apply(s, s.planned, results)
	s.planned = nil
	s.flush()
	// What the step itself found to be done comes before what was waiting already.
	s.steps = append(s.steps, later...)
}

// push adds steps to the end of the work, or, within apply, to what is done next.
func (s *State) push(steps ...step) { s.steps = append(s.steps, steps...) }

// Requests returns the requests to be sent since the last call, in the order in which each broker must get its own.
func (s *State) Requests() []Request {
	out := s.out
	s.out = nil
	return out
}

// Changes returns the decisions since the last call.
func (s *State) Changes() []Change {
	out := s.changes
	s.changes = nil
	return out
}
