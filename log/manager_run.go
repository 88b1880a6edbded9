package log

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"jackdaw/log/checkpoint"
)

// Run does the periodic work until ctx ends: retention, flushing, checkpoints, delayed removal, expiry of producers, and
// the report of failed directories. It returns nil, or an error as soon as no directory is left.
func (m *Manager) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range []struct {
		interval time.Duration
		f        func()
	}{
		{m.opts.RetentionInterval, m.runRetention},
		{m.opts.FlushInterval, m.runFlush},
		{m.opts.RecoveryCheckpointInterval, m.checkpointRecovery},
		{m.opts.StartCheckpointInterval, m.checkpointStarts},
		{m.opts.ProducerExpiryInterval, m.expireProducers},
	} {
		g.Go(func() error { m.every(ctx, w.interval, w.f); return nil })
	}
	g.Go(func() error { m.runRemovals(ctx); return nil })
	g.Go(func() error { m.runQueuedFlushes(ctx); return nil })
	g.Go(func() error { return m.reportFailures(ctx) })
	return g.Wait()
}

// every calls f after the initial delay and then at an interval.
func (m *Manager) every(ctx context.Context, interval time.Duration, f func()) {
	if interval == Unlimited {
		return
	}
	t := time.NewTimer(min(m.opts.InitialDelay, interval))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			f()
			t.Reset(interval)
		}
	}
}

// runRetention applies retention to all logs. Kafka: LogManager.cleanupLogs.
func (m *Manager) runRetention() {
	n := 0
	for _, l := range m.everyLog() {
		deleted, err := l.applyRetention()
		if err != nil {
			m.lg.Warn("retention", "topic", l.tp.Topic, "partition", l.tp.Partition, "err", err)
		}
		n += deleted
	}
	if n > 0 {
		m.lg.Info("retention deleted segments", "count", n)
		m.checkpointStarts()
	}
}

// runFlush flushes the logs whose records are older than flush.ms.
func (m *Manager) runFlush() {
	for _, l := range m.everyLog() {
		if err := l.flushIfOld(); err != nil {
			m.lg.Warn("flush", "topic", l.tp.Topic, "partition", l.tp.Partition, "err", err)
		}
	}
}

func (m *Manager) expireProducers() {
	for _, l := range m.everyLog() {
		l.expireProducers()
	}
}

// checkpointRecovery writes up to where logs were synced. Kafka: LogManager.checkpointLogRecoveryOffsets.
func (m *Manager) checkpointRecovery() {
	for _, d := range m.dirs {
		if d.failed.Load() || !d.loaded.Load() {
			continue
		}
		m.writeRecoveryPoints(d) //nolint:errcheck // the directory is offline then
	}
}

func (m *Manager) writeRecoveryPoints(d *logDir) error {
	return d.saveOffsets(checkpoint.RecoveryPoint, func() checkpoint.Offsets {
		offsets := checkpoint.Offsets{}
		for _, l := range m.inDir(d) {
			offsets[l.tp] = l.recovery.Load()
		}
		return offsets
	})
}

// checkpointStarts writes the start offsets that changed. Kafka: LogManager.checkpointLogStartOffsets.
func (m *Manager) checkpointStarts() {
	for _, d := range m.dirs {
		if d.failed.Load() || !d.loaded.Load() || !d.startMoved.Swap(false) {
			continue
		}
		m.writeStarts(d) //nolint:errcheck // the directory is offline then
	}
}

// writeStarts writes the start offsets that do not follow from the names of the segments.
func (m *Manager) writeStarts(d *logDir) error {
	return d.saveOffsets(checkpoint.LogStart, func() checkpoint.Offsets {
		offsets := checkpoint.Offsets{}
		for _, l := range m.inDir(d) {
			if start := l.start.Load(); start > (*l.segs.Load())[0].base {
				offsets[l.tp] = start
			}
		}
		return offsets
	})
}

// runRemovals removes files when their time has come.
func (m *Manager) runRemovals(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-m.env.removals.wake:
		}
		due, next := m.env.removals.due(m.env.now())
		for _, r := range due {
			m.remove(r)
		}
		if !next.IsZero() {
			t.Reset(next.Sub(m.env.now()))
		}
	}
}

// remove deletes files or directories for good.
func (m *Manager) remove(r removal) {
	for _, path := range r.paths {
		if r.dir.failed.Load() {
			return
		}
		if err := m.opts.FS.RemoveAll(path); err != nil {
			r.dir.fail(err)
			return
		}
		m.lg.Debug("removed", "path", path)
	}
}

// runQueuedFlushes syncs the segments that were rolled.
func (m *Manager) runQueuedFlushes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.env.flushes.wake:
		}
		for _, l := range m.env.flushes.take() {
			if err := l.flushSealed(); err != nil {
				m.lg.Warn("flush", "topic", l.tp.Topic, "partition", l.tp.Partition, "err", err)
			}
		}
	}
}

// reportFailures tells the broker about failed directories, outside of all locks. After the last one there is nothing
// to tell anybody: it fails. Kafka: LogManager.handleLogDirFailure, which halts the process.
func (m *Manager) reportFailures(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-m.failures:
			if len(m.LiveDirs()) == 0 {
				return fmt.Errorf("log.dirs: no directory is left that can be used; the last was %s: %w", f.dir, f.err)
			}
			if m.opts.OnDirFailure != nil {
				m.opts.OnDirFailure(f.dir, f.err)
			}
		}
	}
}
