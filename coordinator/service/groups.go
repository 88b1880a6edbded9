package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/internal/run"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
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

// GroupsConfig is what Groups needs.
type GroupsConfig struct {
	// Config bounds groups and offsets; group.DefaultConfig has Kafka's defaults.
	group.Config
	Log coordinator.PartitionLog
	// Partitions is offsets.topic.num.partitions.
	Partitions int32
	// PartitionCount returns how many partitions the topic really has, 0 while it is not there; nil is always 0. The first
	// count that it gives stays. Called from many goroutines.
	PartitionCount func() int32
	// CommitTimeout is offsets.commit.timeout.ms, 5 s if it is 0.
	CommitTimeout time.Duration
	// Codec is offsets.topic.compression.codec.
	Codec record.Codec
	// PartitionExists tells whether offsets may be committed for a partition. Called from many goroutines.
	PartitionExists func(tp metadata.TopicPartition) bool
	// VerifyTxn makes sure that the transaction of a TxnOffsetCommit is open and has the group's partition (KIP-890). Its error
	// is the answer for all offsets. Nil verifies nothing. Called from many goroutines.
	VerifyTxn func(ctx context.Context, partition int32, req *kmsg.TxnOffsetCommitRequest) error
	// ZooKeeper is nil where version 0 of OffsetCommit and OffsetFetch is not served.
	ZooKeeper ZooKeeperOffsets
	// NewMemberID returns the random part of a member id; a UUID if it is nil.
	NewMemberID func() string
	// NewConsumerID returns the id of a member of a consumer group that has none; a UUID as Kafka writes them if it is nil.
	NewConsumerID func() string
	// Image is the cluster as this broker knows it: consumer groups assign the partitions in it. Called from many goroutines.
	Image func() *metadata.Image
	// Now is time.Now if nil.
	Now    func() time.Time
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Groups serves the APIs of consumer groups. Its methods are safe for concurrent use. Kafka: GroupCoordinator.
type Groups struct {
	cfg GroupsConfig
	shards[*group.Shard]
	m *groupMetrics
}

// NewGroups returns the service; Run starts it.
func NewGroups(cfg GroupsConfig) *Groups {
	if cfg.CommitTimeout == 0 {
		cfg.CommitTimeout = 5 * time.Second
	}
	if cfg.NewMemberID == nil {
		cfg.NewMemberID = uuid.NewString
	}
	if cfg.NewConsumerID == nil {
		cfg.NewConsumerID = func() string { return metadata.TopicID(uuid.New()).String() }
	}
	if cfg.PartitionExists == nil {
		cfg.PartitionExists = func(metadata.TopicPartition) bool { return true }
	}
	g := &Groups{cfg: cfg, m: newGroupMetrics(cfg.Metrics)}
	g.init(cfg.Partitions, cfg.PartitionCount, coordinator.Options[*group.Shard]{
		Name:         "group",
		Topic:        GroupsTopic,
		Log:          cfg.Log,
		NewShard:     func(int32, metadata.LeaderEpoch) *group.Shard { return group.NewShard(cfg.Config) },
		Codec:        cfg.Codec,
		WriteTimeout: cfg.CommitTimeout,
		Now:          cfg.Now,
		Logger:       cfg.Logger,
		Metrics:      cfg.Metrics,
	})
	return g
}

// Run runs the loops of the loaded partitions until ctx ends, and returns when all have ended. Before and after it every
// request gets COORDINATOR_NOT_AVAILABLE.
func (g *Groups) Run(ctx context.Context) error {
	tasks := run.New(ctx, g.cfg.Logger)
	tasks.Go("group-coordinator", g.rt.Run)
	tasks.Go("group-metrics", g.count)
	return tasks.Wait()
}

// TxnCompleted tells that the marker of a producer's transaction is committed at this offset of a partition of
// __consumer_offsets: the pending offsets become visible, or go. It must have returned before the answer to WriteTxnMarkers
// is sent, or the producer's next transaction could begin earlier. It waits for a load in progress, which may not have seen
// the marker. A partition that is no longer led here is not an error: its new coordinator reads the marker.
// Kafka: GroupMetadataManager.scheduleHandleTxnCompletion.
func (g *Groups) TxnCompleted(ctx context.Context, partition int32, producerID, marker int64, commit bool) error {
	_, err := g.rt.CallLoaded(ctx, partition, func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
		return s.EndTxn(now, t, producerID, marker, commit)
	})
	if errors.Is(err, kerr.NotCoordinator) || errors.Is(err, kerr.CoordinatorNotAvailable) {
		return nil
	}
	return err
}
