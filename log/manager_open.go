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
	if err := wg.Wait(); err != nil {
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
	for _, l := range m.All() {
		l.gone.Store(true)
		for _, s := range *l.segs.Load() {
			errs = errors.Join(errs, s.close())
		}
	}
	return errors.Join(errs, m.unlock())
}

// dirLoad is the loading of one directory.
type dirLoad struct {
	m *Manager
	d *logDir
	// clean tells that the last shutdown was.
	clean           bool
	recovery, start checkpoint.Offsets
	total           int
	done            atomic.Int64
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
	for _, tp := range jobs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return ld.loadLog(tp)
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
func (ld *dirLoad) prepare() (jobs []metadata.TopicPartition, err error) {
	if ld.clean, err = checkpoint.TakeCleanShutdown(ld.d.fsys, ld.d.path); err != nil {
		return nil, err
	}
	if ld.recovery, err = ld.d.readOffsets(checkpoint.RecoveryPoint, ld.m.lg.Warn); err != nil {
		return nil, err
	}
	if ld.start, err = ld.d.readOffsets(checkpoint.LogStart, ld.m.lg.Warn); err != nil {
		return nil, err
	}
	names, err := ld.d.fsys.ReadDir(ld.d.path)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if tp, ok := ld.job(n); ok {
			jobs = append(jobs, tp)
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
func (ld *dirLoad) noteGhosts(jobs []metadata.TopicPartition) {
	for _, offsets := range []checkpoint.Offsets{ld.recovery, ld.start} {
		for tp := range offsets {
			ld.d.ghosts[tp] = struct{}{}
		}
	}
	for _, tp := range jobs {
		delete(ld.d.ghosts, tp)
	}
}

// job decides about one name in the log directory.
func (ld *dirLoad) job(n vfs.Entry) (tp metadata.TopicPartition, ok bool) {
	path := filepath.Join(ld.d.path, n.Name)
	switch {
	case !n.Dir:
		return tp, false
	case strings.HasSuffix(n.Name, deleteDirSuffix):
		delay := ld.m.opts.Config("").FileDeleteDelay
		ld.m.env.removals.add(ld.m.env.now().Add(delay), []string{path}, ld.d)
		return tp, false
	case strings.HasSuffix(n.Name, futureDirSuffix), strings.HasSuffix(n.Name, strayDirSuffix):
		ld.m.lg.Warn("leaving a directory alone", "dir", path)
		return tp, false
	}
	tp, ok = parseDir(n.Name)
	if !ok {
		ld.m.lg.Warn("not the directory of a partition, leaving it alone", "dir", path)
	}
	return tp, ok
}

// loadLog loads one log.
func (ld *dirLoad) loadLog(tp metadata.TopicPartition) error {
	if ld.d.failed.Load() {
		return nil
	}
	p := loadParams{clean: ld.clean, recoveryPoint: ld.recovery[tp], startOffset: ld.start[tp]}
	l, err := openLog(ld.m.env, ld.d, tp, ld.d.partitionPath(tp), ld.m.opts.Config(tp.Topic), p)
	if err != nil {
		ld.d.fail(err)
		return nil
	}
	if err := ld.m.registerLoaded(l); err != nil {
		return err
	}
	n := ld.done.Add(1)
	ld.m.lg.Debug("loaded log", "topic", tp.Topic, "partition", tp.Partition, "start", l.StartOffset(),
		"end", l.EndOffset(), "segments", l.NumSegments(), "done", n, "of", ld.total)
	return nil
}

// registerLoaded makes a loaded log known; a partition in two directories cannot be decided.
func (m *Manager) registerLoaded(l *Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if other, ok := m.mu.logs[l.tp]; ok {
		return fmt.Errorf("log.dirs: %s is both in %s and in %s; remove one of them", l.tp, other.dir.path, l.dir.path)
	}
	m.mu.logs[l.tp] = l
	return nil
}
