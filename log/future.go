package log

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log/checkpoint"
	"jackdaw/log/epoch"
	"jackdaw/metadata"
)

// maxPreferred bounds how many wishes of Prefer are kept: they come from requests that may name anything.
const maxPreferred = 100_000

// Future returns the copy of a partition's log that is being made in another directory.
// Kafka: LogManager.getLog with isFuture.
func (m *Manager) Future(tp metadata.TopicPartition) (*Log, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	l, ok := m.mu.futures[tp]
	return l, ok
}

// Futures returns all future logs in no order.
func (m *Manager) Futures() []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Values(m.mu.futures))
}

// everyLog returns all logs and all future logs. Kafka: LogManager.allLogs.
func (m *Manager) everyLog() []*Log { return append(m.All(), m.Futures()...) }

// CheckDir tells whether a path is a log directory that works: kerr.LogDirNotFound, kerr.KafkaStorageError.
// Kafka: LogManager.isLogDirOnline.
func (m *Manager) CheckDir(path string) error {
	d := m.dir(path)
	switch {
	case d == nil:
		return fmt.Errorf("log directory %s is not in log.dirs: %w", path, kerr.LogDirNotFound)
	case d.failed.Load():
		return fmt.Errorf("log directory %s is offline: %w", path, kerr.KafkaStorageError)
	}
	return nil
}

// dir returns an element of log.dirs, nil when there is no such.
func (m *Manager) dir(path string) *logDir {
	for _, d := range m.dirs {
		if d.path == path {
			return d
		}
	}
	return nil
}

// Prefer has the log of a partition made in a directory, if it is made later. It is kept in memory only.
// Kafka: LogManager.maybeUpdatePreferredLogDir.
func (m *Manager) Prefer(tp metadata.TopicPartition, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.mu.preferred[tp]; !known && len(m.mu.preferred) >= maxPreferred {
		m.lg.Warn("too many partitions wait for their directory, not noted", "topic", tp.Topic, "partition", tp.Partition, "dir", path)
		return
	}
	m.mu.preferred[tp] = m.dir(path)
}

// preferredDir returns what Prefer has noted, unless it has failed since.
func (m *Manager) preferredDir(tp metadata.TopicPartition) *logDir {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if d := m.mu.preferred[tp]; d != nil && !d.failed.Load() {
		return d
	}
	return nil
}

// satisfied forgets what Prefer has noted.
func (m *Manager) satisfied(tp metadata.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.preferred, tp)
}

// CreateFuture begins a copy of a log in another directory, empty, with the topic id of the log. The caller fills it, and
// makes it the log with Promote. Kafka: LogManager.getOrCreateLog with isFuture.
func (m *Manager) CreateFuture(tp metadata.TopicPartition, path string) (*Log, error) {
	m.creating.Lock()
	defer m.creating.Unlock()
	l, ok := m.Get(tp)
	d := m.dir(path)
	if !ok || d == nil || l.dir == d {
		return nil, fmt.Errorf("create future log %s in %s: %w", tp, path, kerr.LogDirNotFound)
	}
	f, err := m.makeLog(d, tp, filepath.Join(d.path, futureDirName(tp)))
	if err != nil {
		d.fail(fmt.Errorf("create future log %s: %w", tp, err))
		return nil, l.errorf(kerr.KafkaStorageError, "create future log in %s: %v", path, err)
	}
	if err := f.SetTopicID(l.TopicID()); err != nil {
		return nil, err
	}
	if err := m.register(m.mu.futures, f); err != nil {
		return nil, err
	}
	m.satisfied(tp)
	m.lg.Info("created future log", "topic", tp.Topic, "partition", tp.Partition, "from", l.dir.path, "to", d.path)
	return f, nil
}

// DeleteFuture gives up a copy. One that is not there is no error.
func (m *Manager) DeleteFuture(tp metadata.TopicPartition) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	return m.discard(tp, m.takeOut(m.mu.futures, tp))
}

// ForgetFuture gives up a copy whose directory has failed; its files stay. Kafka: Partition.removeFutureLocalReplica.
func (m *Manager) ForgetFuture(tp metadata.TopicPartition) {
	if f := m.takeOut(m.mu.futures, tp); f != nil {
		_ = f.abandon() // the disk has failed already
	}
}

// takeOut removes a log from one of the maps, and returns it; nil when there is none.
func (m *Manager) takeOut(from map[metadata.TopicPartition]*Log, tp metadata.TopicPartition) *Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := from[tp]
	delete(from, tp)
	return l
}

// discard deletes a log that was taken out, if there was one.
func (m *Manager) discard(tp metadata.TopicPartition, l *Log) error {
	if l == nil {
		return nil
	}
	l.dir.ghosts[tp] = struct{}{}
	return l.delete()
}

// Promote makes the future log the log of a partition, and returns the former one, which is to be given to Retire. The
// caller sees to it that both have the same records, and that nobody appends meanwhile.
//
// The new name is durable before the old log goes, so no crash loses the partition; one in between leaves it in two
// directories, and settleDoubles finds out which to keep. What the future log has is synced first: records that flush.messages
// has promised to the producer must not depend on the log that goes.
// Kafka: LogManager.replaceCurrentWithFutureLog.
func (m *Manager) Promote(tp metadata.TopicPartition) (former *Log, err error) {
	m.creating.Lock()
	defer m.creating.Unlock()
	l, ok := m.Get(tp)
	f, future := m.Future(tp)
	if !ok || !future {
		return nil, fmt.Errorf("replace %s: no future log: %w", tp, kerr.KafkaStorageError)
	}
	if err := errors.Join(l.usable(), f.Flush()); err != nil {
		return nil, err
	}
	if err := f.move(f.dir.partitionPath(tp)); err != nil {
		return nil, err
	}
	f.takeOver(l)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.logs[tp] = f
	delete(m.mu.futures, tp)
	return l, nil
}

// Retire removes the log that Promote has replaced: its directory is renamed as by Delete, and the checkpoints follow.
func (m *Manager) Retire(l *Log) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	if err := m.discard(l.tp, l); err != nil {
		return errors.Join(err, l.abandon())
	}
	if now, ok := m.Get(l.tp); ok {
		m.moveCleaned(l.tp, l.dir, now.dir)
	}
	m.lg.Info("log was replaced by its copy in another directory", "topic", l.tp.Topic, "partition", l.tp.Partition, "from", l.dir.path)
	return errors.Join(m.writeRecoveryPoints(l.dir), m.writeStarts(l.dir))
}

// moveCleaned moves the note of the cleaner. Kafka: LogCleanerManager.alterCheckpointDir.
func (m *Manager) moveCleaned(tp metadata.TopicPartition, from, to *logDir) {
	offset, ok := int64(0), false
	err := from.editCleaned(m.lg.Warn, func(o checkpoint.Offsets) bool {
		offset, ok = o[tp]
		delete(o, tp)
		return ok
	})
	if err == nil && ok {
		err = to.editCleaned(m.lg.Warn, func(o checkpoint.Offsets) bool {
			o[tp] = max(o[tp], offset)
			return true
		})
	}
	if err != nil {
		m.lg.Warn("cleaner checkpoint not moved", "topic", tp.Topic, "partition", tp.Partition, "err", err)
	}
}

// move renames the directory of a log that nobody reads yet.
func (l *Log) move(path string) error {
	l.flushing.enter(never)
	defer l.flushing.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	err := l.env.fsys.Rename(l.mu.path, path)
	if err == nil {
		err = l.env.fsys.SyncDir(l.dir.path)
	}
	if err != nil {
		return l.failed("rename to "+filepath.Base(path), err)
	}
	l.env.removals.moved(l.mu.path, path)
	l.mu.path = path
	l.epochs.Moved(filepath.Join(path, epoch.FileName))
	for _, s := range *l.segs.Load() {
		s.moved(path)
	}
	return nil
}

// moved tells a segment that its directory was renamed.
func (s *segment) moved(dir string) {
	s.dir = dir
	s.offsets.Moved(dir)
	s.times.Moved(dir)
	s.txns.Moved(dir)
}

// abandon closes the files of a log that cannot be closed in order.
func (l *Log) abandon() error {
	l.gone.Store(true)
	var err error
	for _, s := range *l.segs.Load() {
		err = errors.Join(err, s.close())
	}
	return err
}

// takeOver gives a future log what no record tells of: the high watermark, and the verifications that are under way.
func (l *Log) takeOver(from *Log) {
	l.SetHighWatermark(from.HighWatermark())
	from.mu.Lock()
	v := from.mu.producers.HandOver()
	from.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.producers.Adopt(v)
}
