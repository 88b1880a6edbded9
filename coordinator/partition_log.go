package coordinator

import (
	"context"
	"time"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// PartitionLog is what the runtime needs of the broker's log: appends as leader, and reading a partition once at load.
type PartitionLog interface {
	// Append appends one batch as leader of tp in exactly this leader epoch, as acks=all does, and returns the offset of
	// its first record. batch may be patched in place and is the callee's until Append returns.
	//
	// If err is not nil nothing was appended, and done is not called. Otherwise done is called exactly once, from any
	// goroutine and perhaps before Append returns: with nil when the high watermark has passed the batch, else with what
	// prevented it (a kerr error). It must not be called with the log's locks held; it does not block.
	//
	// timeout bounds the wait. The runtime gives far more time than it waits itself, since it wants to hear of a commit
	// that comes late, too.
	Append(tp metadata.TopicPartition, epoch metadata.LeaderEpoch, batch []byte, timeout time.Duration,
		done func(error)) (firstOffset int64, err error)

	// Load calls f for every batch from the log start to the log end as it is when Load begins, in order, and returns that
	// end. The batch is good until f returns. It stops at the first error of f and when ctx ends.
	Load(ctx context.Context, tp metadata.TopicPartition, f func(b record.Batch) error) (endOffset int64, err error)
}
