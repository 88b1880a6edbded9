package log

import (
	"errors"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// OffsetForTimestamp finds the first record, in offset order, whose timestamp is at or after ts (Unix ms); it looks into
// compressed batches. ok is false when there is none below upTo. Kafka: UnifiedLog.fetchOffsetByTimestamp.
func (l *Log) OffsetForTimestamp(ts, upTo int64) (found TimestampOffset, ok bool, err error) {
	return l.lookup(func(list segments, sc *scratch) (TimestampOffset, bool, error) {
		for _, s := range list {
			if s.maxTS.Load() < ts {
				continue
			}
			found, ok, err := l.searchTime(s, ts, upTo, sc)
			if ok || err != nil {
				return found, ok, err
			}
		}
		return TimestampOffset{}, false, nil
	})
}

// MaxTimestampOffset finds the first record that has the largest timestamp of the log. ok is false when the log is empty,
// or the record is at or above upTo. Kafka: ListOffsets with timestamp -3 (KIP-734).
func (l *Log) MaxTimestampOffset(upTo int64) (found TimestampOffset, ok bool, err error) {
	return l.lookup(func(list segments, sc *scratch) (TimestampOffset, bool, error) {
		var latest *segment
		for _, s := range list {
			if latest == nil || s.maxTS.Load() > latest.maxTS.Load() {
				latest = s
			}
		}
		if latest.maxTS.Load() < 0 {
			return TimestampOffset{}, false, nil
		}
		return l.searchTime(latest, latest.maxTS.Load(), upTo, sc)
	})
}

// lookup runs a search on the list of segments, again if that changes.
func (l *Log) lookup(f func(segments, *scratch) (TimestampOffset, bool, error)) (TimestampOffset, bool, error) {
	if err := l.usable(); err != nil {
		return TimestampOffset{}, false, err
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	for range maxRetries {
		found, ok, err := f(*l.segs.Load(), sc)
		if !errors.Is(err, errClosedSegment) {
			return found, ok, l.readError(err)
		}
		l.settle()
	}
	return TimestampOffset{}, false, nil
}

// searchTime looks for the first record with a time >= ts in a segment, at or above the log start, below upTo.
// Kafka: LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp.
func (l *Log) searchTime(s *segment, ts, upTo int64, sc *scratch) (TimestampOffset, bool, error) {
	if !s.file.acquire() {
		return TimestampOffset{}, false, errClosedSegment
	}
	defer s.file.release() //nolint:errcheck // a reader's pin
	start, size := l.start.Load(), s.size.Load()
	entry, err := s.times.Lookup(ts-1, sc.buf[:])
	if err != nil {
		return TimestampOffset{}, false, closedError(err)
	}
	pos, _, err := s.find(max(entry.Offset, start), size, sc)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	for pos < size {
		batch, next, err := l.nextWithTime(s, ts, pos, size, sc)
		if err != nil || batch == nil {
			return TimestampOffset{}, false, err
		}
		if batch.BaseOffset() >= upTo {
			return TimestampOffset{}, false, nil
		}
		if found, ok, err := recordAtTime(batch, ts, start, &sc.ws); ok || err != nil {
			return found, ok && found.Offset < upTo, err
		}
		pos = next
	}
	return TimestampOffset{}, false, nil
}

// nextWithTime reads the next batch from pos on whose largest timestamp is >= ts, nil when there is none.
func (l *Log) nextWithTime(s *segment, ts, pos, size int64, sc *scratch) (b record.Batch, next int64, err error) {
	n := int64(0)
	pos, err = walk(s.file.f, pos, size, sc.buf[:], func(h header, _ int64) bool {
		if h.maxTimestamp() >= ts {
			n = h.size()
		}
		return n == 0
	})
	if err != nil {
		return nil, 0, s.corrupt(pos, err)
	}
	if n == 0 {
		return nil, size, nil
	}
	b = make(record.Batch, n)
	if _, err := s.file.f.ReadAt(b, pos); err != nil {
		return nil, 0, err
	}
	return b, pos + n, nil
}

// recordAtTime finds the first record of a batch with a time >= ts and an offset >= start.
func recordAtTime(b record.Batch, ts, start int64, ws *record.Workspace) (TimestampOffset, bool, error) {
	h := header(b)
	if h.magic() < 2 {
		ok := h.base() >= start
		return TimestampOffset{Timestamp: h.maxTimestamp(), Offset: h.base(), Epoch: metadata.NoEpoch}, ok, nil
	}
	epoch := metadata.LeaderEpoch(b.LeaderEpoch())
	for r, err := range b.Records(ws) {
		if err != nil {
			return TimestampOffset{}, false, err
		}
		at := b.BaseTimestamp() + r.TimestampDelta
		if b.TimestampType() == record.LogAppendTime {
			at = b.MaxTimestamp()
		}
		if off := b.BaseOffset() + int64(r.OffsetDelta); at >= ts && off >= start {
			return TimestampOffset{Timestamp: at, Offset: off, Epoch: epoch}, true, nil
		}
	}
	return TimestampOffset{}, false, nil
}
