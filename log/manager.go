package log

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/metadata"
)

// Manager owns the log directories of a broker. Kafka: LogManager.
type Manager struct {
	opts Options
	env  *env
	lg   *slog.Logger
	dirs []*logDir
	// failures carries each failed directory to Run, once; it has room for all.
	failures chan dirFailure
	// creating serializes creation and deletion, which do IO.
	creating sync.Mutex
	mu       struct {
		sync.RWMutex
		logs map[metadata.TopicPartition]*Log
		// futures are copies of logs in the making, each in another directory than its log: see CreateFuture.
		futures map[metadata.TopicPartition]*Log
		// preferred are the directories wished for partitions that have no log yet.
		preferred map[metadata.TopicPartition]*logDir
		// doubles are logs that were found in two directories, until Open settles it.
		doubles []*Log
		closed  bool
	}
}

// dirFailure is a directory that went offline.
type dirFailure struct {
	dir string
	err error
}

// NewManager allocates a Manager; Open touches the disk.
func NewManager(o Options) *Manager {
	o = o.withDefaults()
	m := &Manager{opts: o, lg: o.Logger.With("component", "log-manager"), failures: make(chan dirFailure, len(o.Dirs))}
	m.mu.logs, m.mu.futures = map[metadata.TopicPartition]*Log{}, map[metadata.TopicPartition]*Log{}
	m.mu.preferred = map[metadata.TopicPartition]*logDir{}
	for _, path := range o.Dirs {
		d := &logDir{path: path, fsys: o.FS, report: m.dirFailed, ghosts: map[metadata.TopicPartition]struct{}{}}
		d.saveRecoveryPoints = func() error { return m.writeRecoveryPoints(d) }
		m.dirs = append(m.dirs, d)
	}
	m.env = &env{
		fsys: o.FS, logger: o.Logger, now: o.Now, scratch: newScratchPool(), removals: newRemovals(), flushes: newFlushQueue(),
		metrics: newMetrics(o.Metrics, m.All, m.offlineDirs),
	}
	m.env.producerExpiration.Store(int64(o.ProducerExpiration))
	return m
}

// SetProducerExpiration changes the life of idle producers, of all logs. Kafka: ProducerStateManagerConfig.
func (m *Manager) SetProducerExpiration(d time.Duration) {
	m.creating.Lock()
	defer m.creating.Unlock()
	m.env.producerExpiration.Store(int64(d))
	for _, l := range m.everyLog() {
		l.mu.Lock()
		l.mu.producers.SetExpiration(d)
		l.mu.Unlock()
	}
}

// dirFailed passes a failure on to Run. It is called under locks, so it must not block: the channel has room.
func (m *Manager) dirFailed(dir string, err error) {
	m.lg.Error("log directory is offline", "dir", dir, "err", err)
	m.failures <- dirFailure{dir, err}
}

func (m *Manager) offlineDirs() float64 { return float64(len(m.dirs) - len(m.LiveDirs())) }

// LiveDirs returns the directories that have not failed, in the order of log.dirs.
func (m *Manager) LiveDirs() []string {
	var out []string
	for _, d := range m.dirs {
		if !d.failed.Load() {
			out = append(out, d.path)
		}
	}
	return out
}

// AllDirsLive tells whether no directory has failed. While one is offline a log that is not found may be in it.
func (m *Manager) AllDirsLive() bool { return len(m.LiveDirs()) == len(m.dirs) }

// Get returns a log.
func (m *Manager) Get(tp metadata.TopicPartition) (*Log, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	l, ok := m.mu.logs[tp]
	return l, ok
}

// All returns all logs in no order.
func (m *Manager) All() []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Values(m.mu.logs))
}

// inDir returns the logs of a directory, and the future ones. A partition has at most one of them in a directory.
func (m *Manager) inDir(d *logDir) []*Log {
	return slices.DeleteFunc(m.everyLog(), func(l *Log) bool { return l.dir != d })
}

// GetOrCreate returns the log of a partition, made in the directory that was preferred, or has the fewest logs, if there is none. A zero id
// asks for no check. kerr.InconsistentTopicID when the log is of another topic; kerr.KafkaStorageError.
// Kafka: LogManager.getOrCreateLog.
func (m *Manager) GetOrCreate(tp metadata.TopicPartition, id metadata.TopicID) (*Log, error) {
	l, ok := m.Get(tp)
	if !ok {
		var err error
		if l, err = m.create(tp); err != nil {
			return nil, err
		}
	}
	return l, l.SetTopicID(id)
}

func (m *Manager) create(tp metadata.TopicPartition) (*Log, error) {
	m.creating.Lock()
	defer m.creating.Unlock()
	if l, ok := m.Get(tp); ok {
		return l, nil
	}
	for {
		d := m.preferredDir(tp)
		if d == nil {
			d = m.emptiestDir()
		}
		if d == nil {
			return nil, fmt.Errorf("create log %s: no log directory is online: %w", tp, kerr.KafkaStorageError)
		}
		l, err := m.makeLog(d, tp, d.partitionPath(tp))
		if err != nil {
			d.fail(fmt.Errorf("create log %s: %w", tp, err))
			continue
		}
		m.lg.Info("created log", "topic", tp.Topic, "partition", tp.Partition, "dir", d.path)
		m.satisfied(tp)
		return l, m.register(m.mu.logs, l)
	}
}

// makeLog makes an empty log.
func (m *Manager) makeLog(d *logDir, tp metadata.TopicPartition, path string) (*Log, error) {
	if err := m.layGhosts(d, tp); err != nil {
		return nil, err
	}
	if err := m.opts.FS.MkdirAll(path); err != nil {
		return nil, err
	}
	if err := m.opts.FS.SyncDir(d.path); err != nil {
		return nil, err
	}
	return openLog(m.env, d, tp, path, m.opts.Config(tp.Topic), loadParams{clean: true})
}

// layGhosts takes a former log of the partition out of the checkpoints. After a crash, its recovery point would let the new
// log be trusted where it was never synced, its start offset would make it begin, empty, above all that it has, and the
// cleaner would take it for clean.
// Kafka: LogManager.asyncDelete, which does it at the deletion.
func (m *Manager) layGhosts(d *logDir, tp metadata.TopicPartition) error {
	if _, ok := d.ghosts[tp]; !ok {
		return nil
	}
	err := errors.Join(m.writeRecoveryPoints(d), m.writeStarts(d), d.editCleaned(m.lg.Warn, func(o checkpoint.Offsets) bool {
		before := len(o)
		maps.DeleteFunc(o, func(tp metadata.TopicPartition, _ int64) bool { _, gone := d.ghosts[tp]; return gone })
		return len(o) < before
	}))
	if err != nil {
		return err
	}
	clear(d.ghosts)
	return nil
}

// errClosed tells that the Manager was closed.
var errClosed = errors.New("log manager is closed")

// register makes a log known, in one of the maps.
func (m *Manager) register(in map[metadata.TopicPartition]*Log, l *Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return errClosed
	}
	in[l.tp] = l
	return nil
}

// emptiestDir is the live directory with the fewest logs, nil when none is live. Kafka: LogManager.nextLogDirs.
func (m *Manager) emptiestDir() *logDir {
	count := map[*logDir]int{}
	for _, l := range m.everyLog() {
		count[l.dir]++
	}
	var best *logDir
	for _, d := range m.dirs {
		if !d.failed.Load() && (best == nil || count[d] < count[best]) {
			best = d
		}
	}
	return best
}

// Delete removes a log, and the future one: they are gone at once, their directories are renamed, and removed after
// file.delete.delay.ms. A log that is not there is no error. Kafka: LogManager.asyncDelete.
func (m *Manager) Delete(tp metadata.TopicPartition) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	l, f := m.takeOut(m.mu.logs, tp), m.takeOut(m.mu.futures, tp)
	return errors.Join(m.discard(tp, l), m.discard(tp, f))
}

// UpdateConfig reads the settings of a topic again; they count from the next append, read and retention on.
func (m *Manager) UpdateConfig(topic string) {
	for _, l := range m.everyLog() {
		if l.tp.Topic == topic {
			l.setConfig(m.opts.Config(topic))
		}
	}
}

// UpdateAllConfigs reads the settings of all topics again, because the broker's defaults changed.
func (m *Manager) UpdateAllConfigs() {
	for _, l := range m.everyLog() {
		l.setConfig(m.opts.Config(l.tp.Topic))
	}
}

// ReadHWCheckpoints returns the high watermarks that were last written of the logs that are in live directories. stale tells
// that there are more: those of logs that are gone from the directory. The mark of a future log is not told; it is there for
// the time when that has become the log.
func (m *Manager) ReadHWCheckpoints() (marks map[metadata.TopicPartition]int64, stale bool) {
	marks = map[metadata.TopicPartition]int64{}
	for _, d := range m.dirs {
		if d.failed.Load() {
			continue
		}
		offsets, err := d.readOffsets(checkpoint.HighWatermark, m.lg.Warn)
		if err != nil {
			d.fail(err)
			continue
		}
		for tp, hw := range offsets {
			l, _ := m.Get(tp)
			f, _ := m.Future(tp)
			switch {
			case l != nil && l.dir == d:
				marks[tp] = hw
			case f == nil || f.dir != d:
				stale = true
			}
		}
	}
	return marks, stale
}

// WriteHWCheckpoints writes the high watermarks, each in the directory of its log; partitions without log are left out. Those
// of future logs are added. Of two calls at a time either may be the one that stays.
func (m *Manager) WriteHWCheckpoints(hws map[metadata.TopicPartition]int64) error {
	byDir := map[*logDir]checkpoint.Offsets{}
	for tp, hw := range hws {
		l, ok := m.Get(tp)
		if !ok {
			continue
		}
		if byDir[l.dir] == nil {
			byDir[l.dir] = checkpoint.Offsets{}
		}
		byDir[l.dir][tp] = hw
	}
	for _, f := range m.Futures() {
		if byDir[f.dir] == nil {
			byDir[f.dir] = checkpoint.Offsets{}
		}
		byDir[f.dir][f.tp] = f.HighWatermark()
	}
	for _, d := range m.dirs {
		if byDir[d] == nil && m.hasMarks(d) {
			byDir[d] = checkpoint.Offsets{} // the last log is gone, and its mark must go, too
		}
	}
	var errs error
	for d, offsets := range byDir {
		if !d.failed.Load() {
			errs = errors.Join(errs, d.saveOffsets(checkpoint.HighWatermark, func() checkpoint.Offsets { return offsets }))
		}
	}
	return errs
}

// hasMarks tells whether the high watermarks in a directory are of any log.
func (m *Manager) hasMarks(d *logDir) bool {
	if d.failed.Load() {
		return false
	}
	old, err := d.readOffsets(checkpoint.HighWatermark, m.lg.Warn)
	return err == nil && len(old) > 0
}

// delete renames the directory of a log that nobody can find any more, and closes it. It is marked as gone first, so that
// who still uses it and does not find the files any more does not take that for a failed disk.
func (l *Log) delete() error {
	l.flushing.enter(never)
	defer l.flushing.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.gone.Store(true)
	renamed := filepath.Join(l.dir.path, deleteDirName(l.tp))
	err := l.env.fsys.Rename(l.mu.path, renamed)
	if err == nil {
		err = l.env.fsys.SyncDir(l.dir.path)
	}
	if err != nil {
		l.dir.fail(fmt.Errorf("delete %s: %w", l.tp, err))
		return l.errorf(kerr.KafkaStorageError, "rename for deletion: %v", err)
	}
	l.mu.path = renamed
	l.lg.Info("log was renamed and will be removed", "dir", renamed, "delay", l.cfg.Load().FileDeleteDelay)
	l.env.removals.add(l.env.now().Add(l.cfg.Load().FileDeleteDelay), []string{renamed}, l.dir)
	for _, s := range *l.segs.Load() {
		if err := s.close(); err != nil {
			l.lg.Warn("close deleted segment", "segment", s, "err", err)
		}
	}
	return nil
}

// FreeBytes returns how much may be written to a directory, and its size. Kafka: DescribeLogDirs, KIP-827.
func (m *Manager) FreeBytes(dir string) (free, total uint64, err error) { return m.opts.FS.Free(dir) }

// FS is the file system of the log directories.
func (m *Manager) FS() vfs.FS { return m.opts.FS }

// ReadCleanerCheckpoints returns up to where the logs of a directory were cleaned.
func (m *Manager) ReadCleanerCheckpoints(dir string) (map[metadata.TopicPartition]int64, error) {
	if d := m.dir(dir); d != nil {
		return d.readOffsets(checkpoint.Cleaner, m.lg.Warn)
	}
	return nil, fmt.Errorf("no log directory %s", dir)
}

// NoteCleaned writes to cleaner-offset-checkpoint that a log was cleaned up to an offset. cuts is what Cuts was before: a
// truncation since then, and a move to another directory that has begun, make the note void. Logs that are gone are taken out
// of the file. Kafka: LogCleanerManager.doneCleaning, updateCheckpoints.
func (m *Manager) NoteCleaned(l *Log, offset int64, cuts int) error {
	return l.dir.editCleaned(m.lg.Warn, func(o checkpoint.Offsets) bool {
		now, _ := m.Get(l.tp)
		if _, moving := m.Future(l.tp); moving || now != l || l.Cuts() != cuts {
			return false
		}
		o[l.tp] = offset
		maps.DeleteFunc(o, func(tp metadata.TopicPartition, _ int64) bool {
			other, ok := m.Get(tp)
			return !ok || other.dir != l.dir
		})
		return true
	})
}
