package service

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// shards is what Groups and Transactions share: the shards of an internal topic, found by group or transactional id.
type shards[S coordinator.Shard] struct {
	ids partitioner
	rt  *coordinator.Runtime[S]
}

// init makes the runtime. partitions and actual are as in GroupsConfig.
func (s *shards[S]) init(partitions int32, actual func() int32, o coordinator.Options[S]) {
	s.ids.configured, s.ids.actual = partitions, actual
	s.rt = coordinator.NewRuntime(o)
}

// PartitionFor returns the partition of the internal topic that an id lives in: see coordinator.PartitionFor.
func (s *shards[S]) PartitionFor(id string) int32 { return s.ids.of(id) }

// Elected tells that this broker leads a partition of the internal topic from this epoch on. It loads in the background;
// transactions then finish what was decided.
func (s *shards[S]) Elected(partition int32, epoch metadata.LeaderEpoch) {
	s.rt.Elected(partition, epoch)
}

// Resigned tells that another broker leads the partition in this epoch, or, with NoEpoch, that the replica was removed.
func (s *shards[S]) Resigned(partition int32, epoch metadata.LeaderEpoch) {
	s.rt.Resigned(partition, epoch)
}

func (s *shards[S]) onShardOf(ctx context.Context, id string, op coordinator.Operation[S]) (any, error) {
	return s.rt.Call(ctx, s.PartitionFor(id), op)
}

// hasShards is Groups or Transactions.
type hasShards[S coordinator.Shard] interface {
	onShardOf(ctx context.Context, id string, op coordinator.Operation[S]) (any, error)
}

// call runs an operation on the shard of an id, which may be empty only where Kafka accepts that. Once ctx has ended the error is
// kerr.RequestTimedOut, for an answer that nobody reads.
func call[R any, S coordinator.Shard](
	ctx context.Context, on hasShards[S], id string, op func(s S, now time.Time, t coordinator.Ticket) coordinator.Effects,
) (R, error) {
	body, err := on.onShardOf(ctx, id, op)
	if err == nil {
		return body.(R), nil
	}
	var none R
	if ctx.Err() != nil {
		err = kerr.RequestTimedOut
	}
	return none, err
}
