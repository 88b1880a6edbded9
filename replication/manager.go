package replication

import (
	"context"

	"jackdaw/log"
	"jackdaw/metadata"
)

// ReplicaManager owns the partitions that this broker hosts. Kafka: ReplicaManager.
type ReplicaManager struct{ cfg Config }

// New returns a manager without partitions.
func New(c Config) *ReplicaManager { return &ReplicaManager{cfg: c.withDefaults()} }

// Run does the periodic work until ctx ends.
func (m *ReplicaManager) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Close stops the fetchers and writes the high watermarks. It is idempotent.
func (m *ReplicaManager) Close(ctx context.Context) error { return nil }

// StopFetchers ends all fetchers and waits for them; none is started afterwards.
func (m *ReplicaManager) StopFetchers(ctx context.Context) {}

// CheckpointHW writes the high watermarks of all partitions to replication-offset-checkpoint.
func (m *ReplicaManager) CheckpointHW() error { return nil }

// Append appends to partitions that this broker leads and calls done exactly once, inline or later, with one result for
// each entry. The entries' bytes are free when Append returns.
func (m *ReplicaManager) Append(req AppendRequest, done func([]AppendResult)) {}

// Fetch reads for a consumer or a follower and calls done exactly once, inline or later.
func (m *ReplicaManager) Fetch(req FetchRequest, done func([]FetchResult)) {}

// ListOffset answers ListOffsets for one partition.
func (m *ReplicaManager) ListOffset(q ListOffsetQuery) (log.TimestampOffset, error) {
	return log.TimestampOffset{}, nil
}

// OffsetForLeaderEpoch answers OffsetForLeaderEpoch for one partition.
func (m *ReplicaManager) OffsetForLeaderEpoch(q EpochQuery) (log.EpochEnd, error) {
	return log.EpochEnd{}, nil
}

// ApplyLeaderAndISR carries out a LeaderAndIsr request.
func (m *ReplicaManager) ApplyLeaderAndISR(controller metadata.BrokerID, controllerEpoch int32, states []PartitionState) (map[metadata.TopicPartition]error, error) {
	return nil, nil
}

// StopReplicas carries out a StopReplica request.
func (m *ReplicaManager) StopReplicas(controllerEpoch int32, stops []StopReplica) (map[metadata.TopicPartition]error, error) {
	return nil, nil
}

// CheckControllerEpoch refuses an epoch below the highest one seen with kerr.StaleControllerEpoch, and remembers it otherwise.
func (m *ReplicaManager) CheckControllerEpoch(epoch int32) error { return nil }

// Partition returns a hosted partition.
func (m *ReplicaManager) Partition(tp metadata.TopicPartition) (*Partition, error) { return nil, nil }

// Partitions returns all hosted partitions, in no order.
func (m *ReplicaManager) Partitions() []*Partition { return nil }

// Sessions returns the cache of fetch sessions.
func (m *ReplicaManager) Sessions() *SessionCache { return nil }

// Partition is one hosted partition. Kafka: Partition.
type Partition struct{}
