package zkstore

import (
	"context"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// ControllerWriter makes the writes of the controller, each in a multi with a check of the controller epoch.
type ControllerWriter struct {
	s *Session
	e Election
}

// Controller returns the writer of an election.
func (s *Session) Controller(e Election) *ControllerWriter { return &ControllerWriter{s: s, e: e} }

// PartitionWrite is one state to write. A set is conditional on State.PartitionEpoch.
type PartitionWrite struct {
	TP    metadata.TopicPartition
	State metadata.LeaderAndISR
}

// PartitionResult is the result of one PartitionWrite.
type PartitionResult struct {
	TP metadata.TopicPartition
	// Version is the new partition epoch when Err is nil.
	Version int32
	// Err is ErrNodeExists for a create; ErrBadVersion or ErrNoNode for a set.
	Err error
}

// CreatePartitionStates creates the parents that are not there and then the states, pipelined. err is
// ErrControllerMoved or the end of session or context; results then tell only what is known to have been done.
func (w *ControllerWriter) CreatePartitionStates(ctx context.Context, writes []PartitionWrite) ([]PartitionResult, error) {
	panic("todo")
}

// SetPartitionStates writes states, pipelined; errors as in CreatePartitionStates.
func (w *ControllerWriter) SetPartitionStates(ctx context.Context, writes []PartitionWrite) ([]PartitionResult, error) {
	panic("todo")
}

// SetTopicAssignment rewrites a topic and returns the new version. AnyVersion makes it unconditional.
func (w *ControllerWriter) SetTopicAssignment(ctx context.Context, topic string, a znode.TopicAssignment, version int32) (int32, error) {
	panic("todo")
}

// DeleteTopicNodes deletes all of a topic in Kafka's order: partitions, the topic, its configuration, the request.
func (w *ControllerWriter) DeleteTopicNodes(ctx context.Context, topic string) error { panic("todo") }

// DeletePath deletes one node whatever its version; a node that is not there is no error.
func (w *ControllerWriter) DeletePath(ctx context.Context, path string) error { panic("todo") }

// SetPath sets the data of a node, creating it when it is not there.
func (w *ControllerWriter) SetPath(ctx context.Context, path string, data []byte) error {
	panic("todo")
}

// TakeLogDirEvents reads and deletes the log dir notifications and returns the brokers they name.
func (w *ControllerWriter) TakeLogDirEvents(ctx context.Context) ([]metadata.BrokerID, error) {
	panic("todo")
}

// TakeIsrChanges reads and deletes the ISR change notifications of old brokers.
func (w *ControllerWriter) TakeIsrChanges(ctx context.Context) ([]metadata.TopicPartition, error) {
	panic("todo")
}
