package log

import (
	"time"
)

// applyRetention deletes the oldest segments that are too old, too many, or wholly below the log start, and returns how
// many. Kafka: UnifiedLog.deleteOldSegments.
func (l *Log) applyRetention() (int, error) {
	cfg := l.cfg.Load()
	if err := l.usable(); err != nil {
		return 0, err
	}
	total := 0
	rules := []func(*Config) func(s, next *segment) bool{l.belowStart}
	if cfg.Delete {
		rules = []func(*Config) func(s, next *segment) bool{l.tooOld, l.tooMuch, l.belowStart}
	}
	for _, rule := range rules {
		n, err := l.deleteWhile(rule(cfg))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// tooOld is retention by time.
func (l *Log) tooOld(cfg *Config) func(s, next *segment) bool {
	now := l.env.nowMs()
	warned := false
	return func(s, _ *segment) bool {
		if cfg.RetentionAge < 0 || cfg.RetentionAge == Unlimited {
			return false
		}
		ts := s.largestTimestamp()
		if ts > now+int64(time.Hour/time.Millisecond) && !warned {
			warned = true
			l.lg.Warn("a timestamp in the future holds back retention by time", "segment", s, "timestamp", ts)
		}
		return now-ts > cfg.RetentionAge.Milliseconds()
	}
}

// tooMuch is retention by size: a segment goes when the rest is still at least retention.bytes.
func (l *Log) tooMuch(cfg *Config) func(s, next *segment) bool {
	over := l.Size() - cfg.RetentionBytes
	return func(s, _ *segment) bool {
		if cfg.RetentionBytes < 0 || over < s.size.Load() {
			return false
		}
		over -= s.size.Load()
		return true
	}
}

// belowStart finds what DeleteRecords has left behind.
func (l *Log) belowStart(*Config) func(s, next *segment) bool {
	return func(_, next *segment) bool { return next != nil && next.base <= l.start.Load() }
}

// deleteWhile deletes segments from the oldest on while pred holds, never above the high watermark, and never an empty
// active segment. If all go, a new active segment is made first.
func (l *Log) deleteWhile(pred func(s, next *segment) bool) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.deletableLocked(pred)
	if n == 0 {
		return 0, nil
	}
	if n == len(*l.segs.Load()) {
		if err := l.rollLocked(l.end.Load()); err != nil {
			return 0, err
		}
	}
	list := *l.segs.Load()
	if err := l.raiseStartLocked(list[n].base); err != nil {
		return 0, err
	}
	kept := append(segments{}, list[n:]...)
	l.segs.Store(&kept)
	for _, s := range list[:n] {
		l.lg.Info("deleting segment", "segment", s, "bytes", s.size.Load(), "largest_timestamp", s.largestTimestamp())
		if err := l.renameSegmentLocked(s); err != nil {
			return 0, err
		}
	}
	return n, l.closeSegments(list[:n])
}

// deletableLocked counts the segments from the start that may go. Kafka: UnifiedLog.deletableSegments.
func (l *Log) deletableLocked(pred func(s, next *segment) bool) int {
	list := *l.segs.Load()
	hw := l.hw.Load()
	for i, s := range list {
		var next *segment
		upper := l.end.Load()
		if i+1 < len(list) {
			next = list[i+1]
			upper = next.base
		} else if s.size.Load() == 0 {
			return i
		}
		if hw < upper || !pred(s, next) {
			return i
		}
	}
	return len(list)
}

// expireProducers forgets idle producer ids.
func (l *Log) expireProducers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.mu.producers.Expire(l.env.nowMs()); n > 0 {
		l.lg.Debug("forgot idle producers", "count", n)
	}
}
