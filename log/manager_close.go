package log

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"jackdaw/log/checkpoint"
)

// Close flushes all logs, writes the checkpoints, and marks each directory that went through it without an error as cleanly
// shut down. It is idempotent; appends that come later fail. The deadline of ctx bounds the flushing: a directory that
// does not make it is recovered at the next start. Kafka: LogManager.shutdown.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	closed := m.mu.closed
	m.mu.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	var g errgroup.Group
	for _, d := range m.dirs {
		g.Go(func() error { return m.closeDir(ctx, d) })
	}
	err := g.Wait()
	return errors.Join(err, m.unlock())
}

// closeDir closes the logs of one directory.
func (m *Manager) closeDir(ctx context.Context, d *logDir) error {
	var g errgroup.Group
	g.SetLimit(m.opts.RecoveryThreads)
	for _, l := range m.inDir(d) {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return l.Close()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if d.failed.Load() || !d.loaded.Load() {
		return nil
	}
	if err := errors.Join(m.writeRecoveryPoints(d), m.writeStarts(d)); err != nil {
		return err
	}
	return checkpoint.WriteCleanShutdown(d.fsys, d.path)
}

// Close writes the producer snapshot, seals the indexes, syncs and closes the files. It is idempotent. On an offline
// directory it only closes. Kafka: UnifiedLog.close.
func (l *Log) Close() error {
	l.flushing.enter(never)
	defer l.flushing.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Load() {
		return nil
	}
	var err error
	offline := l.dir.failed.Load()
	if !offline {
		if err = l.saveLocked(); err != nil {
			err = l.failed("close", err)
		}
	}
	l.gone.Store(true)
	for _, s := range *l.segs.Load() {
		err = errors.Join(err, s.close())
	}
	if offline {
		return nil // reported when it happened
	}
	return err
}

// saveLocked brings the log into the state of a clean shutdown. What was durable before is not synced again: an index file
// that is cut to its entries and then not durable is found out at the next start.
func (l *Log) saveLocked() error {
	list := *l.segs.Load()
	end := l.end.Load()
	l.mu.producers.SetMapEnd(end)
	syncDir := l.mu.producers.SnapshotDue()
	if err := l.mu.producers.TakeSnapshot(l.env.fsys, l.mu.path, true); err != nil {
		return err
	}
	active := list.active()
	dirty := active.dirty.Load()
	if err := active.seal(l.cfg.Load().Preallocate); err != nil {
		return err
	}
	active.dirty.Store(dirty)
	for _, s := range list[max(list.floor(l.recovery.Load()), 0):] {
		if err := s.sync(); err != nil {
			return err
		}
	}
	if syncDir {
		if err := l.env.fsys.SyncDir(l.mu.path); err != nil {
			return err
		}
	}
	l.recovery.Store(end)
	return nil
}
