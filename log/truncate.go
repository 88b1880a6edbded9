package log

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log/checkpoint"
	"jackdaw/protocol/record"
)

// TruncateTo drops the records at and above offset, and reports whether there were any. A batch that has a record there
// goes as a whole, and the log then ends where that batch began. Kafka: UnifiedLog.truncateTo.
//
// Differs from Kafka: there the log would end at offset, with a hole before it.
func (l *Log) TruncateTo(offset int64) (truncated bool, err error) {
	if offset < 0 {
		return false, l.errorf(kerr.OffsetOutOfRange, "truncate to %d", offset)
	}
	err = l.cutting(func() error {
		truncated = offset < l.end.Load()
		switch {
		case !truncated:
			// An epoch may begin at the end without a record, and conflict with what the leader sends next.
			if err := l.epochs.TruncateFromEnd(offset); err != nil {
				return l.failed("write leader epochs", err)
			}
			return nil
		case offset < (*l.segs.Load())[0].base:
			return l.restartLocked(offset)
		default:
			return l.truncateLocked(offset)
		}
	})
	return truncated, err
}

// cutting runs a truncation under the lock. If that lowered the recovery point, the checkpoint must follow before the log
// grows again: it would tell the next recovery to trust records that were written, unsynced, where synced ones had been.
// Kafka: LogManager.truncateTo.
func (l *Log) cutting(f func() error) error {
	l.mu.Lock()
	before, cuts := l.recovery.Load(), l.mu.cuts
	err := l.usable()
	if err == nil {
		err = f()
	}
	lowered := l.recovery.Load() < before
	unclean := l.mu.cuts != cuts && l.cfg.Load().Compact
	base := l.segs.Load().active().base
	l.mu.Unlock()
	if err == nil && lowered {
		err = l.dir.saveRecoveryPoints()
	}
	if err == nil && unclean {
		err = l.uncleanFrom(base)
	}
	return err
}

// uncleanFrom takes back what the cleaner noted above an offset: other records will come there.
// Kafka: LogCleanerManager.maybeTruncateCheckpoint.
func (l *Log) uncleanFrom(offset int64) error {
	return l.dir.editCleaned(l.lg.Warn, func(o checkpoint.Offsets) bool {
		if o[l.tp] <= offset {
			return false
		}
		o[l.tp] = offset
		return true
	})
}

// Cuts counts the truncations since the log was loaded.
func (l *Log) Cuts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.cuts
}

// truncateLocked cuts inside the present segments. The later segments go first, from the last one on, and durably: a crash
// in between leaves a log that is longer than it should be, but without a hole.
func (l *Log) truncateLocked(offset int64) error {
	l.mu.cuts++
	l.ends.clear()
	list := *l.segs.Load()
	i := list.floor(offset)
	pos, end, err := l.cutPoint(list[i], offset)
	if err != nil {
		return l.failed("truncate", err)
	}
	if end <= l.start.Load() {
		return l.restartLocked(end) // nothing is left; begin anew rather than with a hole
	}
	kept := append(segments{}, list[:i+1]...)
	l.publishEnd(end)
	list[i].size.Store(pos)
	l.segs.Store(&kept)
	if err := l.dropSegmentsLocked(list[i+1:]); err != nil {
		return err
	}
	if err := l.cutSegment(list[i], pos, end); err != nil {
		return l.failed("truncate", err)
	}
	if l.recovery.Load() == end {
		// If the next segment begins here, neither a flush nor a recovery from here on would look at this one, which a power
		// cut can make as long again as it was.
		l.recovery.Store(list[i].base)
	}
	if latest, ok := l.epochs.Latest(); ok && latest.Start >= end {
		// After a power cut recovery would take records of an epoch that is not in the history for the first of a new one.
		if err := list[i].sync(); err != nil {
			return l.failed("truncate", err)
		}
	}
	if err := l.epochs.TruncateFromEnd(end); err != nil {
		return l.failed("write leader epochs", err)
	}
	if err := l.reloadProducersLocked(); err != nil {
		return l.failed("rebuild producer state", err)
	}
	l.checkLocked()
	return nil
}

// publishEnd lowers the end of the log and what must not be above it.
func (l *Log) publishEnd(end int64) {
	l.start.Store(min(l.start.Load(), end))
	l.hw.Store(min(l.hw.Load(), end))
	l.recovery.Store(min(l.recovery.Load(), end))
	l.end.Store(end)
}

// cutPoint returns where a segment is cut, and the new log end, to drop the records from offset on.
func (l *Log) cutPoint(s *segment, offset int64) (pos, end int64, err error) {
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	size := s.size.Load()
	pos, found, err := s.find(offset, size, sc)
	if err != nil || !found {
		return pos, offset, err
	}
	end, err = firstOffsetAt(s, pos, size, offset, sc)
	return pos, max(end, min(offset, l.start.Load())), err // records that were deleted do not come back
}

// cutSegment cuts the files of a segment at pos, the offset end, and makes it active again. Kafka: LogSegment.truncateTo.
func (l *Log) cutSegment(s *segment, pos, end int64) error {
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	err := errors.Join(
		s.offsets.TruncateTo(end, sc.buf[:]), s.times.TruncateTo(end, sc.buf[:]), s.txns.TruncateTo(end),
		s.offsets.Preallocate(l.cfg.Load().IndexBytes), s.times.Preallocate(l.cfg.Load().IndexBytes),
		s.shorten(pos),
	)
	if err != nil {
		return err
	}
	s.dirty.Store(true)
	s.sinceIndex = 0
	if pos == 0 {
		s.createdMs, s.firstTS = l.env.nowMs(), firstUnknown
	}
	return s.loadTimestamps(sc)
}

// firstOffsetAt returns where the log ends when the batch at pos goes: at offset, or below it where that batch begins.
func firstOffsetAt(s *segment, pos, size, offset int64, sc *scratch) (int64, error) {
	first := offset
	_, err := walk(s.file.f, pos, size, sc.buf[:], func(h header, _ int64) bool {
		if h.magic() == 2 {
			first = min(first, h.base())
		}
		return false
	})
	return max(first, s.base), err
}

// loadTimestamps finds the largest timestamp of a segment: the last index entry, and what follows it.
// Kafka: LogSegment.readLargestTimestamp.
func (s *segment) loadTimestamps(sc *scratch) error {
	last := s.times.Last()
	e, err := s.offsets.Lookup(last.Offset, sc.buf[:])
	if err != nil {
		return err
	}
	ts, off := last.Timestamp, last.Offset
	pos, err := walk(s.file.f, int64(e.Pos), s.size.Load(), sc.buf[:], func(h header, _ int64) bool {
		if t := h.maxTimestamp(); t > ts {
			ts, off = t, h.last()
		}
		return true
	})
	if err == nil && pos != s.size.Load() {
		err = errBadHeader
	}
	if err != nil {
		return s.corrupt(pos, err)
	}
	if ts == record.NoTimestamp {
		off = s.base
	}
	s.maxTSOffset.Store(off)
	s.maxTS.Store(ts)
	return nil
}

// TruncateFullyAndStartAt drops everything; the log goes on, empty, at offset. Readers see the old log or the new one.
// Kafka: UnifiedLog.truncateFullyAndStartAt.
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	return l.cutting(func() error { return l.restartLocked(offset) })
}

func (l *Log) restartLocked(offset int64) error {
	l.mu.cuts++
	l.ends.clear()
	l.lg.Info("deleting all records", "start", offset)
	old := *l.segs.Load()
	for _, s := range slices.Backward(old) { // the names must be free before the new segment is made
		if err := l.renameSegmentLocked(s); err != nil {
			return err
		}
	}
	if err := l.epochs.Clear(); err != nil {
		return l.failed("write leader epochs", err)
	}
	l.mu.producers.Reset(offset)
	if err := l.env.fsys.SyncDir(l.mu.path); err != nil {
		return l.failed("delete segments", err)
	}
	seg, err := createSegment(l.env.fsys, l.mu.path, offset, l.cfg.Load(), l.env.nowMs())
	if err != nil {
		return l.failed("create segment", err)
	}
	l.segs.Store(&segments{seg})
	// Readers check the offset against [start, end]: start goes last when it rises, first when it falls.
	l.start.Store(min(offset, l.start.Load()))
	l.hw.Store(offset)
	l.end.Store(offset)
	l.start.Store(offset)
	l.recovery.Store(min(l.recovery.Load(), offset))
	l.updateUnstableLocked()
	return l.closeSegments(old)
}

// dropSegmentsLocked renames the files of segments that the caller has taken out of the list, from the last to the first,
// and closes them.
func (l *Log) dropSegmentsLocked(list segments) error {
	if len(list) == 0 {
		return nil
	}
	for _, s := range slices.Backward(list) {
		if err := l.renameSegmentLocked(s); err != nil {
			return err
		}
	}
	if err := l.env.fsys.SyncDir(l.mu.path); err != nil {
		return l.failed("delete segments", err)
	}
	return l.closeSegments(list)
}

// closeSegments lets go of segments that are out of the list. Readers keep their pins.
func (l *Log) closeSegments(list segments) error {
	for _, s := range list {
		if err := s.close(); err != nil {
			return l.failed("close segment", err)
		}
	}
	return nil
}

// renameSegmentLocked renames the files of a segment, removes its snapshot, and has the files removed later.
func (l *Log) renameSegmentLocked(s *segment) error {
	paths, err := s.markDeleted()
	if err == nil {
		err = l.removeSnapshotLocked(s.base)
	}
	l.env.removals.add(l.env.now().Add(l.cfg.Load().FileDeleteDelay), paths, l.dir)
	if err != nil {
		return l.failed("delete segment", err)
	}
	return nil
}

// IncrementStartOffset makes offset the first that may be read, if it is above the present one. kerr.OffsetOutOfRange
// when it is above the high watermark. Segments wholly below it go with the next retention.
// Kafka: UnifiedLog.maybeIncrementLogStartOffset.
func (l *Log) IncrementStartOffset(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.raiseStartLocked(offset)
}

func (l *Log) raiseStartLocked(offset int64) error {
	if hw := l.hw.Load(); offset > hw {
		return l.errorf(kerr.OffsetOutOfRange, "start offset %d above the high watermark %d", offset, hw)
	}
	if offset <= l.start.Load() {
		return nil
	}
	l.start.Store(offset)
	if err := l.epochs.TruncateFromStart(offset); err != nil {
		return l.failed("write leader epochs", err)
	}
	l.mu.producers.StartMoved(offset)
	l.updateUnstableLocked()
	l.dir.startMoved.Store(true)
	return nil
}
