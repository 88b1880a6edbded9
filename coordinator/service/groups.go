package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/metadata"
)

// GroupsTopic is the internal topic of the groups' state.
const GroupsTopic = "__consumer_offsets"

// ZooKeeperOffsets keeps the offsets of OffsetCommit and OffsetFetch version 0, which Kafka stores in ZooKeeper below
// /consumers/GROUP/offsets/TOPIC/PARTITION.
type ZooKeeperOffsets interface {
	// SetOffset creates or overwrites the znode of one offset.
	SetOffset(ctx context.Context, group string, tp metadata.TopicPartition, offset int64) error
	// Offset reads one; ok is false when there is none.
	Offset(ctx context.Context, group string, tp metadata.TopicPartition) (offset int64, ok bool, err error)
}

// GroupsConfig is what Groups needs. group.DefaultConfig has the defaults of its embedded part.
type GroupsConfig struct {
	group.Config
	Log coordinator.PartitionLog
	// Partitions is offsets.topic.num.partitions, or the number of partitions that the topic really has.
	Partitions int32
	// CommitTimeout is offsets.commit.timeout.ms.
	CommitTimeout time.Duration
	// PartitionExists tells whether offsets may be committed for a partition. Called from many goroutines.
	PartitionExists func(tp metadata.TopicPartition) bool
	// ZooKeeper is nil where version 0 of OffsetCommit and OffsetFetch is not served.
	ZooKeeper ZooKeeperOffsets
	// NewMemberID returns the random part of a member id, a UUID.
	NewMemberID func() string
	Now         func() time.Time
	Logger      *slog.Logger
	Metrics     prometheus.Registerer
}

// Groups serves the APIs of consumer groups. Its methods are safe for concurrent use. Kafka: GroupCoordinator.
type Groups struct {
	cfg GroupsConfig
}

// NewGroups returns the service; Run starts it.
func NewGroups(cfg GroupsConfig) *Groups { return &Groups{cfg: cfg} }

// Run runs the loops of the loaded partitions until ctx ends, and returns when all have ended.
func (g *Groups) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// PartitionFor returns the partition of __consumer_offsets that a group lives in: see coordinator.PartitionFor.
func (g *Groups) PartitionFor(groupID string) int32 {
	return coordinator.PartitionFor(groupID, g.cfg.Partitions)
}

// Elected tells that this broker leads a partition of __consumer_offsets from this epoch on. It loads in the background.
func (g *Groups) Elected(partition int32, epoch metadata.LeaderEpoch) {}

// Resigned tells that another broker leads the partition in this epoch, or, with NoEpoch, that the replica was removed.
func (g *Groups) Resigned(partition int32, epoch metadata.LeaderEpoch) {}

// Join answers JoinGroup 0-9. host is the client's address as Kafka shows it: "/127.0.0.1".
func (g *Groups) Join(ctx context.Context, req *kmsg.JoinGroupRequest, clientID, host string) *kmsg.JoinGroupResponse {
	return nil
}

// Sync answers SyncGroup 0-5.
func (g *Groups) Sync(ctx context.Context, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	return nil
}

// Heartbeat answers Heartbeat 0-4.
func (g *Groups) Heartbeat(ctx context.Context, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	return nil
}

// Leave answers LeaveGroup 0-5.
func (g *Groups) Leave(ctx context.Context, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	return nil
}

// OffsetCommit answers OffsetCommit 0-9.
func (g *Groups) OffsetCommit(ctx context.Context, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	return nil
}

// TxnOffsetCommit answers TxnOffsetCommit 0-4.
func (g *Groups) TxnOffsetCommit(ctx context.Context, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	return nil
}

// TxnCompleted tells that a transaction marker of the producer was written to a partition of __consumer_offsets and has been
// committed: the pending offsets become visible, or go.
func (g *Groups) TxnCompleted(ctx context.Context, partition int32, producerID int64, commit bool) error {
	return nil
}

// OffsetFetch answers OffsetFetch 0-9.
func (g *Groups) OffsetFetch(ctx context.Context, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	return nil
}

// Describe answers DescribeGroups 0-5.
func (g *Groups) Describe(ctx context.Context, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	return nil
}

// List answers ListGroups 0-5 with the groups that this broker coordinates.
func (g *Groups) List(ctx context.Context, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	return nil
}

// Delete answers DeleteGroups 0-2.
func (g *Groups) Delete(ctx context.Context, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	return nil
}

// OffsetDelete answers OffsetDelete 0.
func (g *Groups) OffsetDelete(ctx context.Context, req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	return nil
}
