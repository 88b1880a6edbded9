package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
	"jackdaw/replication"
)

// coordinatorLog gives coordinators the partitions of their internal topic: appends as leader, and the reading of a
// whole partition when it is loaded.
type coordinatorLog struct {
	replicas *replication.ReplicaManager
	logs     *log.Manager
	// acks of each append: offsets.commit.required.acks, and -1 for transactions. Kafka: TransactionLog.EnforcedRequiredAcks.
	acks int16
	// loadBytes is how much is read at once: offsets.load.buffer.size.
	loadBytes int
	// verifiedOnly tells whether transactional batches are refused unless their transaction was verified.
	verifiedOnly func() bool
}

// Append implements coordinator.PartitionLog.
func (c *coordinatorLog) Append(tp metadata.TopicPartition, epoch metadata.LeaderEpoch, batch []byte, timeout time.Duration,
	done func(error),
) (int64, error) {
	info, err := c.replicas.AppendBatch(replication.BatchAppend{
		TP: tp, Epoch: epoch, Origin: log.Coordinator, Records: batch, Acks: c.acks, Timeout: timeout, VerifiedOnly: c.verifiedOnly(),
	}, done)
	return info.FirstOffset, err
}

// Load implements coordinator.PartitionLog. Compaction may remove segments meanwhile; the read goes on at the next offset
// that is there.
func (c *coordinatorLog) Load(ctx context.Context, tp metadata.TopicPartition, f func(record.Batch) error) (int64, error) {
	l, ok := c.logs.Get(tp)
	if !ok {
		return 0, fmt.Errorf("load %s: %w", tp, kerr.NotLeaderForPartition)
	}
	end := l.EndOffset()
	var buf []byte
	for offset := l.StartOffset(); offset < end; {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		var err error
		if buf, err = c.read(l, offset, end, buf[:0]); err != nil {
			if errors.Is(err, kerr.OffsetOutOfRange) && l.StartOffset() > offset {
				offset = l.StartOffset()
				continue
			}
			return 0, err
		}
		next, err := eachBatch(buf, offset, f)
		if err != nil {
			return 0, fmt.Errorf("load %s: %w", tp, err)
		}
		if next == offset {
			break // nothing but holes up to the end
		}
		offset = next
	}
	return end, nil
}

func (c *coordinatorLog) read(l *log.Log, offset, end int64, buf []byte) ([]byte, error) {
	records, err := l.Read(offset, c.loadBytes, end, true)
	if err != nil {
		return buf, err
	}
	defer records.Release()
	return records.ReadAll(buf)
}

// eachBatch calls f for the batches that hold offset or later ones, and returns the offset after the last.
func eachBatch(data []byte, offset int64, f func(record.Batch) error) (int64, error) {
	for len(data) > 0 {
		batch, rest, err := record.Next(data)
		if err != nil {
			return 0, err
		}
		if batch.LastOffset() >= offset {
			if err := f(batch); err != nil {
				return 0, err
			}
			offset = batch.LastOffset() + 1
		}
		data = rest
	}
	return offset, nil
}
