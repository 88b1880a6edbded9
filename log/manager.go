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
		logs   map[metadata.TopicPartition]*Log
		closed bool
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
	m.mu.logs = map[metadata.TopicPartition]*Log{}
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
	for _, l := range m.All() {
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

// inDir returns the logs of a directory.
func (m *Manager) inDir(d *logDir) []*Log {
	return slices.DeleteFunc(m.All(), func(l *Log) bool { return l.dir != d })
}

// GetOrCreate returns the log of a partition, made in the directory with the fewest logs if there is none. A zero id
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
		d := m.emptiestDir()
		if d == nil {
			return nil, fmt.Errorf("create log %s: no log directory is online: %w", tp, kerr.KafkaStorageError)
		}
		l, err := m.createIn(d, tp)
		if err == nil {
			return l, nil
		}
		d.fail(fmt.Errorf("create log %s: %w", tp, err))
	}
}

// createIn makes a log in a directory.
func (m *Manager) createIn(d *logDir, tp metadata.TopicPartition) (*Log, error) {
	path := d.partitionPath(tp)
	if err := m.layGhosts(d, tp); err != nil {
		return nil, err
	}
	if err := m.opts.FS.MkdirAll(path); err != nil {
		return nil, err
	}
	if err := m.opts.FS.SyncDir(d.path); err != nil {
		return nil, err
	}
	l, err := openLog(m.env, d, tp, path, m.opts.Config(tp.Topic), loadParams{clean: true})
	if err != nil {
		return nil, err
	}
	m.lg.Info("created log", "topic", tp.Topic, "partition", tp.Partition, "dir", d.path)
	return l, m.register(l)
}

// layGhosts takes a former log of the partition out of the checkpoints. After a crash, its recovery point would let the new
// log be trusted where it was never synced, and its start offset would make it begin, empty, above all that it has.
// Kafka: LogManager.asyncDelete, which does it at the deletion.
func (m *Manager) layGhosts(d *logDir, tp metadata.TopicPartition) error {
	if _, ok := d.ghosts[tp]; !ok {
		return nil
	}
	if err := errors.Join(m.writeRecoveryPoints(d), m.writeStarts(d)); err != nil {
		return err
	}
	clear(d.ghosts)
	return nil
}

// errClosed tells that the Manager was closed.
var errClosed = errors.New("log manager is closed")

// register makes a log known.
func (m *Manager) register(l *Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return errClosed
	}
	m.mu.logs[l.tp] = l
	return nil
}

// emptiestDir is the live directory with the fewest logs, nil when none is live. Kafka: LogManager.nextLogDirs.
func (m *Manager) emptiestDir() *logDir {
	count := map[*logDir]int{}
	for _, l := range m.All() {
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

// Delete removes a log: it is gone at once, its directory is renamed, and removed after file.delete.delay.ms. A log that
// is not there is no error. Kafka: LogManager.asyncDelete.
func (m *Manager) Delete(tp metadata.TopicPartition) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	l, ok := m.Get(tp)
	if !ok {
		return nil
	}
	m.mu.Lock()
	delete(m.mu.logs, tp)
	m.mu.Unlock()
	l.dir.ghosts[tp] = struct{}{}
	return l.delete()
}

// UpdateConfig reads the settings of a topic again; they count from the next append, read and retention on.
func (m *Manager) UpdateConfig(topic string) {
	for _, l := range m.All() {
		if l.tp.Topic == topic {
			l.setConfig(m.opts.Config(topic))
		}
	}
}

// UpdateAllConfigs reads the settings of all topics again, because the broker's defaults changed.
func (m *Manager) UpdateAllConfigs() {
	for _, l := range m.All() {
		l.setConfig(m.opts.Config(l.tp.Topic))
	}
}

// ReadHWCheckpoints returns the high watermarks that were last written, of all live directories.
func (m *Manager) ReadHWCheckpoints() map[metadata.TopicPartition]int64 {
	all := map[metadata.TopicPartition]int64{}
	for _, d := range m.dirs {
		if d.failed.Load() {
			continue
		}
		offsets, err := d.readOffsets(checkpoint.HighWatermark, m.lg.Warn)
		if err != nil {
			d.fail(err)
			continue
		}
		maps.Copy(all, offsets)
	}
	return all
}

// WriteHWCheckpoints writes the high watermarks, each in the directory of its log; partitions without log are left out.
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
	for _, d := range m.dirs {
		if byDir[d] == nil && m.hasMarks(d) {
			byDir[d] = checkpoint.Offsets{} // the last log is gone, and its mark must go, too
		}
	}
	var errs error
	for d, offsets := range byDir {
		if !d.failed.Load() {
			errs = errors.Join(errs, d.writeOffsets(checkpoint.HighWatermark, offsets))
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
	for _, d := range m.dirs {
		if d.path == dir {
			return d.readOffsets(checkpoint.Cleaner, m.lg.Warn)
		}
	}
	return nil, fmt.Errorf("no log directory %s", dir)
}

// WriteCleanerCheckpoints replaces cleaner-offset-checkpoint of a directory.
func (m *Manager) WriteCleanerCheckpoints(dir string, offsets map[metadata.TopicPartition]int64) error {
	for _, d := range m.dirs {
		if d.path == dir {
			return d.writeOffsets(checkpoint.Cleaner, offsets)
		}
	}
	return fmt.Errorf("no log directory %s", dir)
}
