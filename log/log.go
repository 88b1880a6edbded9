package log

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/assert"
	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/log/epoch"
	"jackdaw/log/producer"
	"jackdaw/metadata"
)

// env is what the logs of a Manager share.
type env struct {
	fsys    vfs.FS
	logger  *slog.Logger
	now     func() time.Time
	metrics *metrics
	scratch *scratchPool
	// removals takes files to be removed later, flushes logs to be flushed soon.
	removals *removals
	flushes  *flushQueue
	// producerExpiration is the life of idle producers, a time.Duration.
	producerExpiration atomic.Int64
}

func (e *env) nowMs() int64 { return e.now().UnixMilli() }

// Log is one partition on disk. Kafka: UnifiedLog, LocalLog.
type Log struct {
	tp   metadata.TopicPartition
	env  *env
	dir  *logDir
	lg   *slog.Logger
	cfg  atomic.Pointer[Config]
	segs atomic.Pointer[segments]
	// start <= hw <= end. unstable is the first undecided offset, noOffset when there is none.
	start, end, hw, unstable atomic.Int64
	// recovery is the offset up to which the log was synced.
	recovery atomic.Int64
	epochs   *epoch.Cache
	ends     boundaries
	// flushing lets one flush run and others share it.
	flushing rounds
	// gone is set when the log was closed or deleted.
	gone atomic.Bool

	mu struct {
		sync.Mutex
		path      string
		topicID   metadata.TopicID
		producers *producer.State
		// jitterMs is the random part of the active segment's age.
		jitterMs int64
		// unflushed counts records since the last flush, lastFlush is when that was.
		unflushed int64
		lastFlush time.Time
		// cuts counts truncations, so that a flush that overlaps one does not trust its result.
		cuts int
	}
}

// TP names the partition.
func (l *Log) TP() metadata.TopicPartition { return l.tp }

// Dir is the log directory, an element of log.dirs.
func (l *Log) Dir() string { return l.dir.path }

// Config is the effective settings of the topic, not to be changed.
func (l *Log) Config() *Config { return l.cfg.Load() }

// TopicID is the id in partition.metadata, zero when there is none.
func (l *Log) TopicID() metadata.TopicID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.topicID
}

// SetTopicID writes partition.metadata of a log that has no topic id yet. kerr.InconsistentTopicID when it has another.
func (l *Log) SetTopicID(id metadata.TopicID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.topicID == id || id.IsZero() {
		return nil
	}
	if !l.mu.topicID.IsZero() {
		return l.errorf(kerr.InconsistentTopicID, "topic id %s, log has %s", id, l.mu.topicID)
	}
	if err := l.usable(); err != nil {
		return err
	}
	if err := checkpoint.WriteTopicID(l.env.fsys, l.mu.path, id); err != nil {
		return l.failed("write topic id", err)
	}
	l.mu.topicID = id
	return nil
}

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// EndOffset is the offset of the next record, the LEO.
func (l *Log) EndOffset() int64 { return l.end.Load() }

// HighWatermark is the first offset that is not committed.
func (l *Log) HighWatermark() int64 { return l.hw.Load() }

// Size is the number of bytes in all segments.
func (l *Log) Size() int64 { return l.segs.Load().size() }

// NumSegments is the number of segments.
func (l *Log) NumSegments() int { return len(*l.segs.Load()) }

// RecoveryPoint is the offset up to which the log was synced.
func (l *Log) RecoveryPoint() int64 { return l.recovery.Load() }

// SetHighWatermark takes a new high watermark, brought into [StartOffset, EndOffset]. The caller orders its calls.
// Kafka: UnifiedLog.updateHighWatermark.
func (l *Log) SetHighWatermark(hw int64) {
	hw = max(min(hw, l.end.Load()), l.start.Load())
	l.hw.Store(hw)
	if l.unstable.Load() == noOffset {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.producers.HighWatermarkMoved(hw)
	l.updateUnstableLocked()
}

// LastStableOffset is the first offset that a read_committed consumer may not see: the high watermark, or the start of
// the first transaction below it that is not decided. Kafka: UnifiedLog.fetchLastStableOffsetMetadata.
func (l *Log) LastStableOffset() int64 {
	hw := l.hw.Load()
	return min(hw, max(l.unstable.Load(), l.start.Load()))
}

// updateUnstableLocked publishes the first undecided offset. Kafka: UnifiedLog.maybeIncrementFirstUnstableOffset.
func (l *Log) updateUnstableLocked() {
	offset, ok := l.mu.producers.FirstUnstable()
	if !ok {
		offset = noOffset
	} else {
		offset = max(offset, l.start.Load())
	}
	l.unstable.Store(offset)
}

// LatestEpoch is the last leader epoch in the history; ok is false when there is none.
func (l *Log) LatestEpoch() (e metadata.LeaderEpoch, ok bool) {
	last, ok := l.epochs.Latest()
	return last.Epoch, ok
}

// EndOffsetForEpoch returns the first offset not written under epoch e or an earlier one, and the largest known
// epoch <= e. ok is false when e is unknown, which tells a follower to truncate to its own high watermark.
// Kafka: LeaderEpochFileCache.endOffsetFor; KIP-101, KIP-279.
func (l *Log) EndOffsetForEpoch(e metadata.LeaderEpoch) (end EpochEnd, ok bool) {
	found, off, ok := l.epochs.EndOffset(e, l.end.Load())
	return EpochEnd{Epoch: found, EndOffset: off}, ok
}

// EpochAt is the leader epoch that wrote the record at offset, NoEpoch when it is not known.
func (l *Log) EpochAt(offset int64) metadata.LeaderEpoch { return l.epochs.At(offset) }

// EpochHistory is a copy of all known epochs and their first offsets.
func (l *Log) EpochHistory() []epoch.Entry { return l.epochs.Entries() }

// AssignEpochStart notes that records from offset on are of epoch e. A new leader calls it with the log end offset before
// it takes the first record. The history is written with that record, so that a change of leaders costs the disk nothing.
// Kafka: UnifiedLog.maybeAssignEpochStartOffset.
func (l *Log) AssignEpochStart(e metadata.LeaderEpoch, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e < 0 {
		return nil
	}
	if err := l.usable(); err != nil {
		return err
	}
	return l.epochs.Note(e, offset)
}

func (l *Log) assignEpochLocked(e metadata.LeaderEpoch, offset int64) error {
	if e < 0 {
		return nil
	}
	if err := l.usable(); err != nil {
		return err
	}
	if _, err := l.epochs.Assign(e, offset); err != nil {
		return l.failed("write leader epochs", err)
	}
	return nil
}

// ActiveProducers lists the producers that the log knows, by rising id.
func (l *Log) ActiveProducers() []ProducerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.mu.producers.Entries()
	out := make([]ProducerState, 0, len(entries))
	for _, e := range entries {
		last, _ := e.Last()
		out = append(out, ProducerState{
			ProducerID: e.ID, ProducerEpoch: e.Epoch, LastSequence: last.LastSequence, LastTimestamp: e.LastTimestamp,
			CoordinatorEpoch: e.CoordinatorEpoch, CurrentTxnStart: e.TxnFirstOffset,
		})
	}
	return out
}

// AbortedTxns lists the aborted transactions that overlap the offsets [from, upTo), in the order of their markers.
// Kafka: LocalLog.collectAbortedTransactions.
func (l *Log) AbortedTxns(from, upTo int64) ([]AbortedTxn, error) {
	out := []AbortedTxn{}
	entries, err := l.AbortedTxnEntries(from, upTo)
	for _, t := range entries {
		out = append(out, AbortedTxn{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset})
	}
	return out, err
}

// usable tells whether the log may be used at all.
func (l *Log) usable() error {
	if l.dir.failed.Load() {
		return l.errorf(kerr.KafkaStorageError, "log directory %s is offline", l.dir.path)
	}
	if l.gone.Load() {
		return l.errorf(kerr.KafkaStorageError, "log is closed")
	}
	return nil
}

// failed takes the directory offline because of an IO error and returns what the caller shall return.
func (l *Log) failed(what string, err error) error {
	if !l.gone.Load() {
		l.dir.fail(fmt.Errorf("%s: %s: %w", l.tp, what, err))
	}
	return fmt.Errorf("%s: %s: %w: %w", l.tp, what, err, kerr.KafkaStorageError)
}

// checkLocked asserts the order of the offsets.
func (l *Log) checkLocked() {
	start, hw, end := l.start.Load(), l.hw.Load(), l.end.Load()
	assert.That(start <= hw && hw <= end, "start <= hw <= end", "tp", l.tp, "start", start, "hw", hw, "end", end)
}

// setConfig takes new settings; they count from the next append.
func (l *Log) setConfig(c Config) { l.cfg.Store(&c) }
