package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// movers are the goroutines that copy logs to other log directories. Kafka: ReplicaAlterLogDirsManager.
type movers []*mover

func newMovers(m *ReplicaManager) movers {
	list := make(movers, m.cfg.NumMovers)
	for i := range list {
		list[i] = newMover(m, i)
	}
	return list
}

func (s movers) start(g *run.Group) {
	for _, f := range s {
		g.Go(fmt.Sprintf("log-dir-mover-%d", f.n), f.run)
	}
}

func (s movers) of(tp metadata.TopicPartition) *mover { return s[fetcherNumber(tp, len(s))] }

// add has the future log of a partition filled, or compared with the log again.
func (s movers) add(p *Partition) { s.of(p.tp).add(p) }

// remove ends the copying of a partition. A step that is under way finds the future log gone, if it is.
func (s movers) remove(tp metadata.TopicPartition) { s.of(tp).remove(tp) }

// failed returns how many moves have stopped after an error of a disk.
func (s movers) failed() int {
	n := 0
	for _, f := range s {
		f.mu.Lock()
		for _, mv := range f.mu.moves {
			if mv.failed {
				n++
			}
		}
		f.mu.Unlock()
	}
	return n
}

// maxLag returns by how many records the worst copy is behind its log.
func (s movers) maxLag() int64 {
	worst := int64(0)
	for _, f := range s {
		for _, p := range f.partitions() {
			if l, c := p.Log(), p.future(); l != nil && c != nil {
				worst = max(worst, l.EndOffset()-c.EndOffset())
			}
		}
	}
	return worst
}

// mover copies one log after the other, so that each is done as soon as possible. Kafka: ReplicaAlterLogDirsThread.
type mover struct {
	m    *ReplicaManager
	n    int
	lg   *slog.Logger
	wake bell // rings after moves changed
	mu   struct {
		sync.Mutex
		moves map[metadata.TopicPartition]*move
	}
	// What follows belongs to the goroutine.
	buf     []byte
	current *move
}

// move is a log on its way. Its fields are guarded by mover.mu, but for p and matched.
type move struct {
	p *Partition
	// matched is false until the copy was compared with the log.
	matched bool
	// pauseUntil delays the move after an error; failed ends it until the controller sends a new state.
	pauseUntil time.Time
	failed     bool
}

func newMover(m *ReplicaManager, n int) *mover {
	f := &mover{m: m, n: n, wake: newBell(), lg: m.cfg.Logger.With("component", "log-dir-mover", "mover", n)}
	f.mu.moves = map[metadata.TopicPartition]*move{}
	return f
}

func (f *mover) add(p *Partition) {
	f.mu.Lock()
	f.mu.moves[p.tp] = &move{p: p}
	f.mu.Unlock()
	f.wake.ring()
}

func (f *mover) remove(tp metadata.TopicPartition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mu.moves, tp)
}

// done ends a move, unless it was begun anew.
func (f *mover) done(mv *move) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.moves[mv.p.tp] == mv {
		delete(f.mu.moves, mv.p.tp)
	}
}

func (f *mover) partitions() []*Partition {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*Partition, 0, len(f.mu.moves))
	for _, mv := range f.mu.moves {
		out = append(out, mv.p)
	}
	return out
}

// run copies until ctx ends.
func (f *mover) run(ctx context.Context) error {
	for ctx.Err() == nil {
		mv, wait := f.next()
		if mv == nil {
			f.buf = nil
			f.wake.wait(ctx, wait)
			continue
		}
		if t := f.m.cfg.MoveThrottle; t != nil && t.Exceeded() {
			f.wake.wait(ctx, f.m.cfg.FetchBackoff)
			continue
		}
		if err := f.step(mv); err != nil {
			f.stepFailed(mv, err)
		}
	}
	return nil
}

// next returns the move to go on with: the present one, else the first by name that is ready. When there is none it tells
// how long. Kafka: LocalLeaderEndPoint.selectPartitionToFetch.
func (f *mover) next() (mv *move, wait time.Duration) {
	now := f.m.cfg.Now()
	wait = time.Hour
	f.mu.Lock()
	defer f.mu.Unlock()
	for tp, x := range f.mu.moves {
		if x.failed {
			continue
		}
		if d := x.pauseUntil.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		if x == f.current {
			return x, 0
		}
		if mv == nil || tp.Compare(mv.p.tp) < 0 {
			mv = x
		}
	}
	f.current = mv
	return mv, wait
}

// step copies one piece, and puts the copy in the place of the log when that was the last.
func (f *mover) step(mv *move) error {
	if !mv.matched {
		if err := mv.p.matchFuture(); err != nil {
			return err
		}
		mv.matched = true
	}
	limit := int(f.m.cfg.FetchMaxBytes)
	n, left, err := mv.p.copyOn(&f.buf, limit)
	if err != nil {
		return err
	}
	f.copied(n)
	f.m.deletes.Check(mv.p.tp)
	if left > int64(limit) {
		return nil
	}
	return f.finish(mv, limit)
}

func (f *mover) copied(n int) {
	if t := f.m.cfg.MoveThrottle; t != nil && n > 0 {
		t.Record(n)
	}
}

// finish ends a move whose copy lacks little. The disk does its part before anybody has to wait for it.
func (f *mover) finish(mv *move, limit int) error {
	if c := mv.p.future(); c != nil {
		if err := c.Flush(); err != nil {
			return err
		}
	}
	former, err := mv.p.swap(&f.buf, limit)
	if err != nil || former == nil {
		return err
	}
	f.done(mv)
	f.lg.Info("replica has moved to another log directory", "partition", mv.p.tp, "from", former.Dir())
	if err := f.m.cfg.Logs.Retire(former); err != nil {
		f.lg.Error("former log not removed", "partition", mv.p.tp, "dir", former.Dir(), "err", err)
	}
	f.m.saveMarks()
	f.m.wakeAll([]metadata.TopicPartition{mv.p.tp})
	return nil
}

// stepFailed ends a move that was given up or whose disk fails, and delays it after other errors.
func (f *mover) stepFailed(mv *move, err error) {
	if errors.Is(err, errNotMoving) {
		f.done(mv)
		return
	}
	f.lg.Error("log not copied to another log directory", "partition", mv.p.tp, "err", err)
	f.mu.Lock()
	defer f.mu.Unlock()
	mv.failed = isStorage(err)
	mv.pauseUntil = f.m.cfg.Now().Add(f.m.cfg.FetchBackoff)
}
