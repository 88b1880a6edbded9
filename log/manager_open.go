package log

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/metadata"
)

// Open locks the directories and loads all logs, recovering those of a directory that was not shut down cleanly. A
// directory that cannot be used goes offline; it is an error when none is left, when another process has one, or when
// two directories hold the same partition. Kafka: LogManager.startup, loadLogs.
func (m *Manager) Open(ctx context.Context) error {
	if len(m.dirs) == 0 {
		return errors.New("log.dirs: no directory")
	}
	start := m.env.now()
	for _, d := range m.dirs {
		if err := d.open(); err != nil {
			if errors.Is(err, vfs.ErrLocked) {
				return errors.Join(err, m.unlock())
			}
			d.fail(err)
		}
	}
	var wg errgroup.Group
	for _, d := range m.dirs {
		wg.Go(func() error { return m.loadDir(ctx, d) })
	}
	if err := errors.Join(wg.Wait(), m.settleDoubles()); err != nil {
		return errors.Join(err, m.abandon())
	}
	if len(m.LiveDirs()) == 0 {
		f := <-m.failures
		return errors.Join(fmt.Errorf("log.dirs: none can be used; %s: %w", f.dir, f.err), m.abandon())
	}
	m.lg.Info("loaded logs", "count", len(m.All()), "took", m.env.now().Sub(start))
	return nil
}

// unlock gives up all directories.
func (m *Manager) unlock() error {
	var errs error
	for _, d := range m.dirs {
		errs = errors.Join(errs, d.unlock())
	}
	return errs
}

// abandon closes what was opened, without the mark of a clean shutdown.
func (m *Manager) abandon() error {
	var errs error
	for _, l := range append(m.everyLog(), m.mu.doubles...) {
		errs = errors.Join(errs, l.abandon())
	}
	return errors.Join(errs, m.unlock())
}

// dirLoad is the loading of one directory.
type dirLoad struct {
	m *Manager
	d *logDir
	// clean tells that the last shutdown was.
	clean                    bool
	recovery, start, cleaned checkpoint.Offsets

	total int
	done  atomic.Int64
}

// loadDir loads the logs of a directory with as many workers as num.recovery.threads.per.data.dir. Only what concerns the
// broker as a whole is returned; other errors take the directory offline.
func (m *Manager) loadDir(ctx context.Context, d *logDir) error {
	if d.failed.Load() {
		return nil
	}
	ld := &dirLoad{m: m, d: d}
	jobs, err := ld.prepare()
	if err != nil {
		d.fail(err)
		return nil
	}
	var g errgroup.Group
	g.SetLimit(m.opts.RecoveryThreads)
	for _, j := range jobs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return ld.loadLog(j)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	d.loaded.Store(!d.failed.Load())
	return nil
}

// prepare reads the checkpoints and the list of logs. The mark of a clean shutdown is taken first: a crash from here on is
// an unclean stop.
func (ld *dirLoad) prepare() (jobs []loadJob, err error) {
	if ld.clean, err = checkpoint.TakeCleanShutdown(ld.d.fsys, ld.d.path); err != nil {
		return nil, err
	}
	if ld.recovery, err = ld.d.readOffsets(checkpoint.RecoveryPoint, ld.m.lg.Warn); err != nil {
		return nil, err
	}
	if ld.start, err = ld.d.readOffsets(checkpoint.LogStart, ld.m.lg.Warn); err != nil {
		return nil, err
	}
	if ld.cleaned, err = ld.d.readOffsets(checkpoint.Cleaner, ld.m.lg.Warn); err != nil {
		return nil, err
	}
	names, err := ld.d.fsys.ReadDir(ld.d.path)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if j, ok := ld.job(n); ok {
			jobs = append(jobs, j)
		}
	}
	ld.noteGhosts(jobs)
	ld.total = len(jobs)
	if !ld.clean && len(jobs) > 0 {
		ld.m.lg.Info("no clean shutdown, recovering logs", "dir", ld.d.path, "logs", len(jobs))
	}
	return jobs, nil
}

// noteGhosts remembers which logs of the checkpoints are not there.
func (ld *dirLoad) noteGhosts(jobs []loadJob) {
	for _, offsets := range []checkpoint.Offsets{ld.recovery, ld.start, ld.cleaned} {
		for tp := range offsets {
			ld.d.ghosts[tp] = struct{}{}
		}
	}
	for _, j := range jobs {
		delete(ld.d.ghosts, j.tp)
	}
}

// loadJob is the directory of a log.
type loadJob struct {
	tp   metadata.TopicPartition
	path string
	// future tells that it is a copy that was to replace a log.
	future bool
}

// job decides about one name in the log directory.
func (ld *dirLoad) job(n vfs.Entry) (j loadJob, ok bool) {
	path := filepath.Join(ld.d.path, n.Name)
	switch {
	case !n.Dir:
		return j, false
	case strings.HasSuffix(n.Name, deleteDirSuffix):
		delay := ld.m.opts.Config("").FileDeleteDelay
		ld.m.env.removals.add(ld.m.env.now().Add(delay), []string{path}, ld.d)
		return j, false
	case strings.HasSuffix(n.Name, strayDirSuffix):
		ld.m.lg.Warn("leaving a directory alone", "dir", path)
		return j, false
	}
	j.path = path
	if j.tp, ok = parseFutureDir(n.Name); ok {
		j.future = true
	} else if j.tp, ok = parseDir(n.Name); !ok {
		ld.m.lg.Warn("not the directory of a partition, leaving it alone", "dir", path)
	}
	return j, ok
}

// loadLog loads one log.
func (ld *dirLoad) loadLog(j loadJob) error {
	if ld.d.failed.Load() {
		return nil
	}
	p := loadParams{clean: ld.clean, recoveryPoint: ld.recovery[j.tp], startOffset: ld.start[j.tp]}
	l, err := openLog(ld.m.env, ld.d, j.tp, j.path, ld.m.opts.Config(j.tp.Topic), p)
	if err != nil {
		ld.d.fail(err)
		return nil
	}
	if err := ld.m.registerLoaded(l, j.future); err != nil {
		return err
	}
	n := ld.done.Add(1)
	ld.m.lg.Debug("loaded log", "topic", j.tp.Topic, "partition", j.tp.Partition, "future", j.future, "start", l.StartOffset(),
		"end", l.EndOffset(), "segments", l.NumSegments(), "done", n, "of", ld.total)
	return nil
}

// registerLoaded makes a loaded log known. A partition in two directories is left to settleDoubles, if both are of the same
// topic for sure.
func (m *Manager) registerLoaded(l *Log, future bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.mu.logs
	if future {
		in = m.mu.futures
	}
	other, ok := in[l.tp]
	switch {
	case !ok:
		in[l.tp] = l
	case !future && !l.mu.topicID.IsZero() && l.mu.topicID == other.mu.topicID:
		m.mu.doubles = append(m.mu.doubles, l)
	default:
		m.mu.doubles = append(m.mu.doubles, l)
		return fmt.Errorf("log.dirs: %s is both in %s and in %s; remove one of them", l.tp, other.dir.path, l.dir.path)
	}
	return nil
}

// settleDoubles decides about partitions that are in two directories: a crash, or the failure of the old directory, came
// between the two steps of Promote and Retire. The log that knows more stays: see behind.
//
// Differs from Kafka, which does not start: LogManager.loadLog.
func (m *Manager) settleDoubles() error {
	m.creating.Lock()
	defer m.creating.Unlock()
	var errs error
	for _, l := range m.mu.doubles {
		stays, goes := m.mu.logs[l.tp], l
		if stays.behind(goes) {
			stays, goes = goes, stays
		}
		m.mu.logs[l.tp] = stays
		m.lg.Warn("partition was in two directories, since its move had not come to an end", "topic", l.tp.Topic, "partition", l.tp.Partition,
			"keeping", stays.dir.path, "end", stays.end.Load(), "removing", goes.dir.path, "removedEnd", goes.end.Load())
		m.moveCleaned(l.tp, goes.dir, stays.dir)
		errs = errors.Join(errs, m.discard(l.tp, goes))
	}
	m.mu.doubles = nil
	return errs
}

// behind tells whether another replica of the same partition knows more: a later leader epoch, or more records of the same one.
// It then has all that this one has. Kafka: the rule by which KIP-595 compares logs.
func (l *Log) behind(other *Log) bool {
	mine, _ := l.LatestEpoch()
	theirs, _ := other.LatestEpoch()
	if mine != theirs {
		return mine < theirs
	}
	return l.end.Load() < other.end.Load()
}
