package log

import (
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// AppendAsFollower writes batches as the leader sent them: they have offsets and epochs already. An incomplete batch at
// the end is left out. Errors: *OffsetsOutOfOrderError, CorruptMessage, KafkaStorageError.
//
// When the log is empty and its start lies inside the first batch, because records were deleted up to there, the log is
// made to begin with that batch, and its start offset stays.
// Kafka: UnifiedLog.appendAsFollower, Partition.appendRecordsToFollowerOrFutureReplica.
func (l *Log) AppendAsFollower(records []byte) (AppendInfo, error) {
	buf, first, err := splitReplicated(records)
	if err != nil {
		return AppendInfo{}, fmt.Errorf("%s: %w", l.tp, err)
	}
	cfg := l.cfg.Load()
	l.mu.Lock()
	info, err := l.appendReplicatedLocked(buf, cfg, first)
	l.mu.Unlock()
	if err != nil || len(buf) == 0 {
		return info, err
	}
	return info, l.flushIfDue(cfg)
}

// splitReplicated checks every batch and returns those that are whole, and the first offset.
func splitReplicated(records []byte) (buf []byte, first int64, err error) {
	last := int64(-1)
	n := 0
	for rest := records; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if errors.Is(err, record.ErrShort) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if !sound(b) {
			return nil, 0, fmt.Errorf("batch at offset %d: wrong checksum: %w", b.BaseOffset(), kerr.CorruptMessage)
		}
		h := header(b)
		if n == 0 {
			first = h.base()
		}
		if h.last() <= last || h.base() < 0 {
			return nil, 0, &OffsetsOutOfOrderError{Expected: last + 1, First: h.base(), Last: h.last()}
		}
		last = h.last()
		n += len(b)
		rest = after
	}
	return records[:n], first, nil
}

func (l *Log) appendReplicatedLocked(buf []byte, cfg *Config, first int64) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	end := l.end.Load()
	info := AppendInfo{
		FirstOffset: end, LastOffset: end - 1, LogAppendTime: record.NoTimestamp,
		LogStartOffset: l.start.Load(), MaxTimestamp: record.NoTimestamp, LeaderEpoch: metadata.NoEpoch,
	}
	if len(buf) == 0 {
		return info, nil
	}
	if first < end {
		if err := l.beginInsideLocked(buf, first, end); err != nil {
			return info, err
		}
	}
	info.FirstOffset = first
	for rest := buf; len(rest) > 0; {
		var a set
		a, rest = nextChunk(rest, int64(cfg.SegmentBytes))
		if err := l.writeLocked(a, cfg); err != nil {
			return info, err
		}
		info.LastOffset = a.last
		info.NumRecords += a.records
		info.Bytes += len(a.buf)
		info.MaxTimestamp = max(info.MaxTimestamp, a.maxTS)
	}
	if last, ok := l.epochs.Latest(); ok {
		info.LeaderEpoch = last.Epoch
	}
	return info, nil
}

// nextChunk splits off as many batches as fit into one segment, at least one.
func nextChunk(buf []byte, segmentBytes int64) (a set, rest []byte) {
	base := header(buf).base()
	a = set{first: base, maxTS: record.NoTimestamp}
	size := int64(0)
	for rest = buf; len(rest) > 0; {
		h := header(rest)
		if size > 0 && (size+h.size() > segmentBytes || h.last()-base > math.MaxInt32) {
			break
		}
		a.add(h)
		if h.magic() == 2 {
			a.records += int64(record.Batch(h).Count())
		} else {
			a.records++
		}
		size += h.size()
		rest = rest[h.size():]
	}
	a.buf = buf[:size]
	return a, rest
}

// beginInsideLocked lets an empty log begin with a batch that spans its end offset.
func (l *Log) beginInsideLocked(buf []byte, first, end int64) error {
	if h := header(buf); l.start.Load() != end || h.last() < end {
		return &OffsetsOutOfOrderError{Expected: end, First: first, Last: h.last()}
	}
	l.lg.Info("log start lies inside the first batch, starting with that", "offset", first, "start", end)
	if err := l.restartLocked(first); err != nil {
		return err
	}
	l.start.Store(end)
	l.hw.Store(end)
	return nil
}
