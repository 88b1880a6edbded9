package cleaner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"jackdaw/log"
	"jackdaw/log/cleaner/plan"
	"jackdaw/metadata"
)

// Cleaner compacts the logs of a broker. Kafka: LogCleaner, LogCleanerManager.
type Cleaner struct {
	o        Options
	lg       *slog.Logger
	metrics  *metrics
	throttle *throttle
	mu       struct {
		sync.Mutex
		busy map[metadata.TopicPartition]bool
		// bad are the logs that could not be cleaned, by the topic that they are of.
		bad map[metadata.TopicPartition]metadata.TopicID
	}
	// tuned holds the newest Tuning that the workers do not know of yet.
	tuned chan Tuning
}

// New allocates a Cleaner; Run works.
func New(o Options) *Cleaner {
	o = o.withDefaults()
	c := &Cleaner{o: o, lg: o.Logger.With("component", "log-cleaner"), throttle: newThrottle(o.BytesPerSecond, o.Now), tuned: make(chan Tuning, 1)}
	c.mu.busy = map[metadata.TopicPartition]bool{}
	c.mu.bad = map[metadata.TopicPartition]metadata.TopicID{}
	c.metrics = newMetrics(o.Metrics, c.uncleanable)
	return c
}

func (c *Cleaner) uncleanable() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(len(c.mu.bad))
}

// Retune changes settings while Run works. Passes under way are given up and begin again. It does not wait, and is for
// one goroutine at a time. Kafka: LogCleaner.reconfigure.
func (c *Cleaner) Retune(t Tuning) {
	select {
	case <-c.tuned: // an older one that nobody has taken
	default:
	}
	c.tuned <- t
}

// Run cleans until ctx ends. It returns nil.
func (c *Cleaner) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		c.runTuned(ctx)
	}
	return nil
}

// runTuned cleans until ctx ends or the settings change. The settings change only while no worker runs.
func (c *Cleaner) runTuned(ctx context.Context) {
	workers, stop := context.WithCancel(ctx)
	var g errgroup.Group
	for range c.o.Threads {
		g.Go(func() error { c.work(workers); return nil })
	}
	select {
	case <-ctx.Done():
		stop()
		_ = g.Wait() // workers have no error
	case t := <-c.tuned:
		stop()
		_ = g.Wait()
		c.o.Tuning = t.withDefaults()
		c.throttle = newThrottle(c.o.BytesPerSecond, c.o.Now)
		c.lg.Info("log cleaner has new settings", "threads", c.o.Threads, "dedupe_bytes", c.o.DedupeBytes, "bytes_per_second", c.o.BytesPerSecond)
	}
}

// work is one worker. Its memory for keys is allocated when there is a log to clean, and given back when there is none.
func (c *Cleaner) work(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	w := c.newWorker()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		pause := time.Duration(0)
		if !w.once(ctx) {
			pause = c.o.Backoff
			w.rest()
		}
		t.Reset(pause)
	}
}

// CleanOnce cleans the dirtiest log, if one is worth it, and tells whether there was one.
func (c *Cleaner) CleanOnce(ctx context.Context) bool { return c.newWorker().once(ctx) }

// job is a log to be cleaned.
type job struct {
	log   *log.Log
	state plan.Log
	rng   plan.Range
	// cuts is Log.Cuts before the pass.
	cuts int
}

// take chooses a log and marks it as taken; nil when there is none.
func (c *Cleaner) take() *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgiveLocked()
	var logs []*log.Log
	var states []plan.Log
	for _, dir := range c.o.Logs.LiveDirs() {
		done, err := c.o.Logs.ReadCleanerCheckpoints(dir)
		if err != nil {
			c.lg.Warn("read cleaner checkpoint", "dir", dir, "err", err)
			continue
		}
		for _, l := range c.o.Logs.All() {
			if l.Dir() != dir || !l.Config().Compact || c.mu.busy[l.TP()] || c.moving(l) {
				continue
			}
			if _, bad := c.mu.bad[l.TP()]; bad {
				continue
			}
			offset, ok := done[l.TP()]
			logs = append(logs, l)
			states = append(states, stateOf(l, offset, ok))
		}
	}
	i, rng := plan.Choose(states, c.o.Now().UnixMilli())
	c.metrics.dirty(states, c.o.Now().UnixMilli())
	if i < 0 {
		return nil
	}
	if rng.CheckpointLost {
		c.lg.Warn("cleaner checkpoint lies outside of the log, starting at the log start",
			"log", logs[i].TP(), "checkpoint", states[i].Checkpoint)
	}
	c.mu.busy[logs[i].TP()] = true
	return &job{logs[i], states[i], rng, logs[i].Cuts()}
}

// forgiveLocked forgets the bad logs that are gone, be it that there is another of that name.
// Kafka: LogCleanerManager.maintainUncleanablePartitions.
func (c *Cleaner) forgiveLocked() {
	maps.DeleteFunc(c.mu.bad, func(tp metadata.TopicPartition, id metadata.TopicID) bool {
		l, ok := c.o.Logs.Get(tp)
		return !ok || l.TopicID() != id
	})
}

// moving tells whether a log is on its way to another directory, or gone. It is left alone then: what was copied before a pass
// would be taken for clean there. Kafka: LogCleanerManager.abortAndPauseCleaning.
func (c *Cleaner) moving(l *log.Log) bool {
	_, moving := c.o.Logs.Future(l.TP())
	now, _ := c.o.Logs.Get(l.TP())
	return moving || now != l
}

// stateOf describes a log to the plan.
func stateOf(l *log.Log, checkpoint int64, ok bool) plan.Log {
	cfg := l.Config()
	s := plan.Log{
		Settings: plan.Settings{
			MinCompactionLag: cfg.MinCompactionLag, MaxCompactionLag: cfg.MaxCompactionLag, MinCleanableRatio: cfg.MinCleanableRatio,
		},
		Start: l.StartOffset(), LastStable: l.LastStableOffset(), Checkpoint: checkpoint, HasCheckpoint: ok,
	}
	for _, i := range l.Segments() {
		s.Segments = append(s.Segments, planSegment(i))
	}
	s.End = s.Segments[len(s.Segments)-1].Next
	return s
}

func planSegment(i log.SegmentInfo) plan.Segment {
	return plan.Segment{
		Base: i.Base, Next: i.Next, Bytes: i.Bytes, IndexBytes: i.IndexBytes, TimeIndexBytes: i.TimeIndexBytes,
		LargestTimestamp: i.LargestTimestamp, FirstTimestamp: i.FirstTimestamp,
	}
}

// done gives a log back, with how far it was cleaned or why it was not.
func (c *Cleaner) done(j *job, end int64, err error) {
	tp := j.log.TP()
	switch {
	case err == nil:
		err = c.o.Logs.NoteCleaned(j.log, end, j.cuts)
	case errors.Is(err, log.ErrChanged), errors.Is(err, context.Canceled), c.moving(j.log):
		c.lg.Info("cleaning was given up", "log", tp, "err", err)
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.busy, tp)
	if err != nil {
		c.lg.Error("log cannot be cleaned, leaving it alone", "log", tp, "err", err)
		c.mu.bad[tp] = j.log.TopicID()
	}
}
