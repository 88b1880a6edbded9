package log

import (
	"math"
	"path/filepath"

	"jackdaw/internal/vfs"
	"jackdaw/log/producer"
)

// Flush makes everything durable that was appended before the call. Callers that come while one flush runs share the
// next one. Kafka: UnifiedLog.flush.
func (l *Log) Flush() error { return l.flushTo(l.end.Load()) }

// flushIfDue flushes when flush.messages asks for it. With flush.messages=1 this is group commit: the log's lock is free
// while the disk works, so others append meanwhile and wait for the next fsync; the first of them syncs for all that had
// appended by then, and the rest finds its records durable.
func (l *Log) flushIfDue(cfg *Config) error { return l.flushTo(l.flushDue(cfg)) }

// flushDue returns up to where flush.messages asks for a flush, 0 for nowhere.
func (l *Log) flushDue(cfg *Config) int64 {
	if cfg.FlushMessages == math.MaxInt64 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cfg.FlushMessages > 1 && l.mu.unflushed < cfg.FlushMessages {
		return 0
	}
	return l.end.Load()
}

// FlushTo makes everything below offset durable. Callers that come while one flush runs share the next one.
func (l *Log) FlushTo(offset int64) error { return l.flushTo(offset) }

// flushSealed makes the segments durable that are not appended to any more. Kafka: LocalLog.flush after a roll.
func (l *Log) flushSealed() error { return l.flushRange(l.segs.Load().active().base, false) }

// flushTo makes everything below offset durable.
func (l *Log) flushTo(offset int64) error { return l.flushRange(offset, true) }

// flushRange syncs all segments that begin below offset, the active one only if asked for.
func (l *Log) flushRange(offset int64, active bool) error {
	if l.recovery.Load() >= offset {
		return nil
	}
	if !l.flushing.enter(func() bool { return l.recovery.Load() >= offset }) {
		return nil // shared
	}
	defer l.flushing.leave()
	if err := l.usable(); err != nil {
		return err
	}
	list, end, cuts, snapshots := l.flushPlan(active)
	start := l.env.now()
	for _, s := range list {
		if !s.file.acquire() {
			continue // deleted meanwhile
		}
		err := s.sync()
		s.file.release() //nolint:errcheck // a reader's pin
		if err != nil && l.inService(s) {
			return l.failed("flush", err)
		}
	}
	if err := l.syncSnapshots(snapshots); err != nil {
		return l.failed("flush producer snapshot", err)
	}
	l.env.metrics.flushed(l.env.now().Sub(start))
	l.flushedTo(end, cuts)
	return nil
}

// inService tells whether a segment is still part of the log: if not, it is no fault that its files are gone.
func (l *Log) inService(s *segment) bool {
	l.settle()
	list := *l.segs.Load()
	i := list.floor(s.base)
	return !l.gone.Load() && i >= 0 && list[i] == s
}

// flushPlan returns the segments that hold what was not flushed, the log end, the number of truncations, and the bases of
// the segments whose snapshots are new.
func (l *Log) flushPlan(active bool) (list segments, end int64, cuts int, snapshots []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := *l.segs.Load()
	i := max(all.floor(l.recovery.Load()), 0)
	for _, s := range all[i+1:] {
		snapshots = append(snapshots, s.base)
	}
	if active {
		return all[i:], l.end.Load(), l.mu.cuts, snapshots
	}
	return all[i : len(all)-1], all.active().base, l.mu.cuts, snapshots
}

// syncSnapshots makes the producer snapshots durable that were written when segments were rolled.
func (l *Log) syncSnapshots(bases []int64) error {
	if len(bases) == 0 {
		return nil
	}
	l.mu.Lock()
	dir := l.mu.path
	l.mu.Unlock()
	for _, base := range bases {
		f, err := l.env.fsys.OpenFile(filepath.Join(dir, producer.SnapshotName(base)), vfs.Write)
		if err != nil {
			continue // none was taken, or it is gone with its segment
		}
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return l.env.fsys.SyncDir(dir)
}

// flushedTo moves the recovery point, unless the log was truncated while it was flushed.
func (l *Log) flushedTo(end int64, cuts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.cuts != cuts {
		return
	}
	if end > l.recovery.Load() {
		l.recovery.Store(end)
	}
	if end == l.end.Load() {
		l.mu.unflushed = 0
	}
	l.mu.lastFlush = l.env.now()
}

// flushIfOld flushes when flush.ms asks for it.
func (l *Log) flushIfOld() error {
	age := l.cfg.Load().FlushAge
	if age == Unlimited {
		return nil
	}
	l.mu.Lock()
	due := l.env.now().Sub(l.mu.lastFlush) >= age
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.Flush()
}
