package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/coordinator"
	"jackdaw/coordinator/txn"
	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// TransactionsTopic is the internal topic of the transactions' state.
const TransactionsTopic = "__transaction_state"

// ProducerIDs hands out producer ids that nobody has had before. An error is told to clients as
// COORDINATOR_LOAD_IN_PROGRESS.
type ProducerIDs interface {
	Next(ctx context.Context) (int64, error)
}

// TransactionsConfig is what Transactions needs.
type TransactionsConfig struct {
	// Config bounds transactions; txn.DefaultConfig has Kafka's defaults.
	txn.Config
	Log coordinator.PartitionLog
	// Partitions is transaction.state.log.num.partitions.
	Partitions int32
	// PartitionCount is as in GroupsConfig.
	PartitionCount func() int32
	// WriteTimeout is how long a request waits for its record to be committed, 10 s if it is 0. No key.
	WriteTimeout time.Duration
	ProducerIDs  ProducerIDs
	// GroupPartitionFor is the partition of __consumer_offsets of a group: Groups.PartitionFor.
	GroupPartitionFor func(groupID string) int32
	// PartitionExists tells whether a partition may be added. Called from many goroutines.
	PartitionExists func(tp metadata.TopicPartition) bool
	// Markers says how markers reach the leaders of partitions.
	Markers MarkerConfig
	// Now is time.Now if nil.
	Now    func() time.Time
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Transactions serves the APIs of transactions. Its methods are safe for concurrent use. Kafka: TransactionCoordinator.
type Transactions struct {
	cfg TransactionsConfig
	shards[*txn.Shard]
	sender *markerSender
}

// NewTransactions returns the service; Run starts it.
func NewTransactions(cfg TransactionsConfig) *Transactions {
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	if cfg.PartitionExists == nil {
		cfg.PartitionExists = func(metadata.TopicPartition) bool { return true }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Transactions{cfg: cfg, sender: newMarkerSender(cfg.Markers, cfg.Logger, cfg.Metrics)}
	x.init(cfg.Partitions, cfg.PartitionCount, coordinator.Options[*txn.Shard]{
		Name:         "transaction",
		Topic:        TransactionsTopic,
		Log:          cfg.Log,
		NewShard:     func(_ int32, epoch metadata.LeaderEpoch) *txn.Shard { return txn.NewShard(cfg.Config, epoch) },
		Outside:      x.sendMarkers,
		WriteTimeout: cfg.WriteTimeout,
		Now:          cfg.Now,
		Logger:       cfg.Logger,
		Metrics:      cfg.Metrics,
	})
	return x
}

// Run runs the loops of the loaded partitions and the sending of markers until ctx ends, and returns when all have ended.
// Before and after it every request gets COORDINATOR_NOT_AVAILABLE.
func (x *Transactions) Run(ctx context.Context) error {
	tasks := run.New(ctx, x.cfg.Logger)
	x.sender.start(tasks)
	tasks.Go("transaction-coordinator", x.rt.Run)
	return tasks.Wait()
}

// Resigned is that of Groups. Markers that were not sent yet are the new coordinator's business.
func (x *Transactions) Resigned(partition int32, epoch metadata.LeaderEpoch) {
	x.shards.Resigned(partition, epoch)
	x.sender.drop(partition, epoch)
}

// sendMarkers hands on what a shard asks for. It is called on the shard's loop.
func (x *Transactions) sendMarkers(partition int32, epoch metadata.LeaderEpoch, requests []any) {
	for _, r := range requests {
		m := r.(txn.Markers)
		x.sender.send(partition, epoch, m, func(tps []metadata.TopicPartition) {
			x.rt.Post(partition, epoch, func(s *txn.Shard, now time.Time) coordinator.Effects { return s.MarkersWritten(now, m, tps) })
		})
	}
}

// callResult is call for operations that reply with an error or nil.
func (x *Transactions) callResult(
	ctx context.Context, id string, op func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects,
) error {
	res, err := call[txn.Result](ctx, x, id, op)
	if err == nil {
		err = res.Err
	}
	return err
}
