package log

import (
	"errors"
	"math/rand/v2"
	"path/filepath"

	"jackdaw/internal/vfs"
	"jackdaw/log/producer"
	"jackdaw/protocol/record"
)

// rollDueLocked tells whether the active segment must not take the set behind ahead more bytes. Kafka: LogSegment.shouldRoll.
func (l *Log) rollDueLocked(a set, ahead int64, cfg *Config) bool {
	seg := l.segs.Load().active()
	size := seg.size.Load() + ahead
	switch {
	case size > int64(cfg.SegmentBytes)-int64(len(a.buf)) && size > 0:
	case size > 0 && l.agedLocked(seg, a.maxTS, cfg):
	case seg.offsets.Full(), seg.times.Full():
	case !seg.fits(a.last):
	default:
		return false
	}
	return true
}

// agedLocked tells whether a segment has become too old for a record of this time: by the time of its first batch, else
// by the clock.
func (l *Log) agedLocked(seg *segment, maxTS int64, cfg *Config) bool {
	if cfg.SegmentAge == Unlimited {
		return false
	}
	waited := l.env.nowMs() - seg.createdMs
	if first := l.firstTimestamp(seg); first >= 0 && maxTS >= 0 {
		waited = maxTS - first
	}
	jitter := min(l.mu.jitterMs, cfg.SegmentJitter.Milliseconds())
	return waited > cfg.SegmentAge.Milliseconds()-jitter
}

// firstTimestamp reads the time of the first batch when it is asked first.
func (l *Log) firstTimestamp(seg *segment) int64 {
	if seg.firstTS != firstUnknown {
		return seg.firstTS
	}
	if seg.size.Load() == 0 {
		return record.NoTimestamp
	}
	var buf [record.HeaderSize]byte
	seg.firstTS = record.NoTimestamp
	_, err := walk(seg.file.f, 0, seg.size.Load(), buf[:], func(h header, _ int64) bool {
		seg.firstTS = h.maxTimestamp()
		return false
	})
	if err != nil {
		l.lg.Warn("first timestamp of a segment cannot be read", "segment", seg, "err", err)
	}
	return seg.firstTS
}

// rollLocked seals the active segment and begins a new one at base, the log end or, on a follower, above it.
// Kafka: UnifiedLog.roll, LocalLog.roll.
func (l *Log) rollLocked(base int64) error {
	base = max(base, l.end.Load())
	list := *l.segs.Load()
	old := list.active()
	if old.base == base {
		return l.replaceEmptyLocked(list, base)
	}
	cfg := l.cfg.Load()
	if err := old.seal(cfg.Preallocate); err != nil {
		return l.failed("seal segment", err)
	}
	l.mu.producers.SetMapEnd(base)
	if err := l.mu.producers.TakeSnapshot(l.env.fsys, l.mu.path, false); err != nil {
		return l.failed("write producer snapshot", err)
	}
	seg, err := createSegment(l.env.fsys, l.mu.path, base, cfg, l.env.nowMs())
	if err != nil {
		return l.failed("create segment", err)
	}
	next := list.with(seg)
	l.segs.Store(&next)
	l.mu.jitterMs = jitter(cfg)
	l.lg.Debug("rolled a new segment", "base", base)
	l.env.flushes.add(l)
	return nil
}

// replaceEmptyLocked makes the active segment anew: it is empty, but one of its indexes says it is full.
func (l *Log) replaceEmptyLocked(list segments, base int64) error {
	old := list.active()
	if old.size.Load() > 0 {
		return l.errorf(errRollInside, "roll at %d", base)
	}
	cfg := l.cfg.Load()
	seg, err := createSegment(l.env.fsys, l.mu.path, base, cfg, l.env.nowMs())
	if err != nil {
		return l.failed("create segment", err)
	}
	next := append(append(segments{}, list[:len(list)-1]...), seg)
	l.segs.Store(&next)
	if err := old.close(); err != nil {
		return l.failed("close segment", err)
	}
	return nil
}

// errRollInside tells of an attempt to begin a segment where there is one with records.
var errRollInside = errors.New("a segment with records begins there")

// jitter is the random part that is taken off a segment's age, so that not all logs roll at once.
func jitter(cfg *Config) int64 {
	n := cfg.SegmentJitter.Milliseconds()
	if n <= 0 {
		return 0
	}
	return rand.Int64N(n)
}

// Roll begins a new segment at the end of the log, unless the active one is empty.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.segs.Load().active().size.Load() == 0 {
		return nil
	}
	return l.rollLocked(l.end.Load())
}

// removeSnapshotLocked deletes the producer snapshot that was taken at the start of a segment.
func (l *Log) removeSnapshotLocked(base int64) error {
	return vfs.RemoveIfExists(l.env.fsys, filepath.Join(l.mu.path, producer.SnapshotName(base)))
}
