package coordinator

import (
	"context"
	"time"

	"jackdaw/protocol/record"
)

// loadRetry is the pause after a load that failed.
const loadRetry = time.Second

// maxLoadWarnings bounds the lines about records that are not understood in one load.
const maxLoadWarnings = 20

// load reads the partition into a new shard. A failed load starts again with an empty shard, since a state with holes
// would lose offsets: clients get COORDINATOR_LOAD_IN_PROGRESS meanwhile. It returns false when ctx ended.
//
// Differs from Kafka: which serves what it has read so far after an error.
func (l *loop[S]) load(ctx context.Context) bool {
	for {
		err := l.tryLoad(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		l.r.m.loadFailures.Inc()
		l.r.lg.Error("load failed, trying again", "topic", l.tp.Topic, "partition", l.partition, "epoch", l.epoch, "err", err)
		pause := time.NewTimer(loadRetry)
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-pause.C:
		}
	}
}

func (l *loop[S]) tryLoad(ctx context.Context) error {
	l.shard = l.r.o.NewShard(l.partition, l.epoch)
	start := l.r.o.Now()
	ld := loader[S]{l: l}
	end, err := l.r.o.Log.Load(ctx, l.tp, ld.batch)
	if err != nil {
		return err
	}
	took := l.r.o.Now().Sub(start)
	l.r.m.loadSeconds.Observe(took.Seconds())
	l.r.lg.Info("loaded", "topic", l.tp.Topic, "partition", l.partition, "epoch", l.epoch, "records", ld.records,
		"skipped", ld.skipped, "endOffset", end, "took", took)
	l.execute(l.shard.Loaded(l.r.o.Now()))
	return nil
}

// loader feeds batches to a shard.
type loader[S Shard] struct {
	l                *loop[S]
	ws               record.Workspace
	records, skipped int
}

func (ld *loader[S]) batch(b record.Batch) error {
	if b.Magic() < 2 {
		return ld.old(b)
	}
	if b.IsControl() {
		if t, _, ok := record.ParseMarker(b); ok {
			ld.l.shard.LoadMarker(Marker{
				Offset: b.BaseOffset(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Commit: t == record.Commit,
			})
		}
		return nil
	}
	r := LogRecord{ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Transactional: b.IsTransactional()}
	for rec, err := range b.Records(&ld.ws) {
		if err != nil {
			return err
		}
		r.Offset = b.BaseOffset() + int64(rec.OffsetDelta)
		r.Timestamp = b.BaseTimestamp() + rec.TimestampDelta
		r.Key, r.Value = rec.Key, rec.Value
		ld.record(r)
	}
	return nil
}

// old reads a message of format 0 or 1, which internal topics have from before Kafka 0.11: compaction keeps a format.
func (ld *loader[S]) old(b record.Batch) error {
	for rec, err := range record.Messages(b, &ld.ws) {
		if err != nil {
			return err
		}
		ld.record(LogRecord{
			Offset: rec.Offset, Timestamp: rec.Timestamp, ProducerID: -1, ProducerEpoch: -1, Key: rec.Key, Value: rec.Value,
		})
	}
	return nil
}

func (ld *loader[S]) record(r LogRecord) {
	ld.records++
	if err := ld.l.shard.Load(r); err != nil {
		ld.skip(r.Offset, err)
	}
}

func (ld *loader[S]) skip(offset int64, err error) {
	ld.skipped++
	if ld.skipped <= maxLoadWarnings {
		ld.l.r.lg.Warn("record skipped at load", "topic", ld.l.tp.Topic, "partition", ld.l.partition, "offset", offset, "err", err)
	}
}
