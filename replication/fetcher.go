package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// fetcher copies partitions from one leader broker over one connection. Kafka: ReplicaFetcherThread.
type fetcher struct {
	m    *ReplicaManager
	key  fetcherKey
	lg   *slog.Logger
	wake bell          // rings after partitions changed
	done chan struct{} // closed when run returns
	// launched is guarded by fetchers.mu.
	launched bool
	mu       struct {
		sync.Mutex
		parts  map[metadata.TopicPartition]*fetchState
		ended  bool
		cancel context.CancelFunc // ends the request under way; nil before run
	}
	// What follows belongs to the goroutine.
	conn    Leader
	session leaderSession
	ready   []*fetchState
	errors  int // requests in a row that failed as a whole
}

// fetchState is one partition of a fetcher. Its fields are guarded by fetcher.mu, but for the first.
type fetchState struct {
	followed
	// pauseUntil delays the partition after an error.
	pauseUntil time.Time
	// errors counts those in a row.
	errors int
	// failed partitions are left alone until the controller sends a new state.
	failed bool
	// checked is false until the log was made fit to be fetched for: see prepare. cut is the same for truncateAll.
	checked, cut bool
	// lag is how far we were behind the leader's high watermark after the last fetch, unknownLag before the first.
	lag int64
}

// unknownLag is the lag of a partition that was not fetched yet.
const unknownLag = -1

func newFetcher(m *ReplicaManager, key fetcherKey) *fetcher {
	f := &fetcher{
		m: m, key: key, wake: newBell(), done: make(chan struct{}),
		lg: m.cfg.Logger.With("component", "fetcher", "leader", key.leader, "fetcher", key.n),
	}
	f.mu.parts = map[metadata.TopicPartition]*fetchState{}
	return f
}

// add starts to fetch a partition, from its log end.
func (f *fetcher) add(fo followed) {
	f.mu.Lock()
	f.mu.parts[fo.p.tp] = &fetchState{followed: fo, lag: unknownLag}
	f.mu.Unlock()
	f.wake.ring()
}

func (f *fetcher) remove(tp metadata.TopicPartition) {
	f.mu.Lock()
	delete(f.mu.parts, tp)
	f.mu.Unlock()
	f.wake.ring()
}

// followed returns what add was given.
func (f *fetcher) followed(tp metadata.TopicPartition) (followed, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.mu.parts[tp]
	if !ok {
		return followed{}, false
	}
	return s.followed, true
}

func (f *fetcher) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.mu.parts) == 0
}

// end makes run return; it does not wait.
func (f *fetcher) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.ended = true
	if f.mu.cancel != nil {
		f.mu.cancel()
	}
}

func (f *fetcher) maxLag() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	worst := int64(0)
	for _, s := range f.mu.parts {
		worst = max(worst, s.lag)
	}
	return worst
}

func (f *fetcher) failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.mu.parts {
		if s.failed {
			n++
		}
	}
	return n
}

// run fetches until the fetcher is ended.
func (f *fetcher) run(ctx context.Context) error {
	defer close(f.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.mu.cancel = cancel
	ended := f.mu.ended
	f.mu.Unlock()
	if ended {
		return nil
	}
	defer f.disconnect()
	for ctx.Err() == nil {
		if wait := f.collect(); len(f.ready) == 0 {
			f.wake.wait(ctx, wait)
			continue
		}
		if err := f.round(ctx); err != nil && ctx.Err() == nil {
			f.logFailure(ctx, err)
			f.disconnect()
			f.pauseAll()
		}
		if f.m.marksHigh.Swap(false) {
			f.m.saveMarks()
		}
	}
	return nil
}

// collect lists the partitions to fetch now, and otherwise tells how long there is nothing to do.
func (f *fetcher) collect() (wait time.Duration) {
	now := f.m.cfg.Now()
	wait = time.Hour
	f.ready = f.ready[:0]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.mu.parts {
		if s.failed {
			continue
		}
		if d := s.pauseUntil.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		if f.heldBack(s) {
			wait = min(wait, f.m.cfg.FetchBackoff)
			continue
		}
		f.ready = append(f.ready, s)
	}
	return wait
}

// logFailure says that the leader could not be asked: the first time, and then now and again.
func (f *fetcher) logFailure(ctx context.Context, err error) {
	level := slog.LevelDebug
	if f.errors%failuresPerLine == 0 {
		level = slog.LevelWarn
	}
	f.lg.Log(ctx, level, "fetch from leader, trying again", "failures", f.errors+1, "err", err)
}

// failuresPerLine is how many failures in a row make one line of the log.
const failuresPerLine = 30

// firstPause is the delay after a first error: a leader that has just been elected may hear of it a moment after its
// followers. It doubles with each further one up to replica.fetch.backoff.ms, which Kafka waits at once.
const firstPause = 50 * time.Millisecond

// backoff is the delay after n errors in a row.
func (f *fetcher) backoff(n int) time.Duration {
	return min(firstPause<<min(n, 10), f.m.cfg.FetchBackoff)
}

// pause delays one partition.
func (f *fetcher) pause(s *fetchState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.pauseUntil = f.m.cfg.Now().Add(f.backoff(s.errors))
	s.errors++
}

// pauseAll delays all partitions, after the leader could not be asked.
func (f *fetcher) pauseAll() {
	until := f.m.cfg.Now().Add(f.backoff(f.errors))
	f.errors++
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.mu.parts {
		s.pauseUntil = until
	}
}

// giveUp leaves a partition alone until the controller sends a new state for it.
func (f *fetcher) giveUp(s *fetchState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.failed = true
}

// fail gives a partition up for an error of its own.
func (f *fetcher) fail(s *fetchState, why string, err error) {
	f.giveUp(s)
	f.lg.Error("partition not fetched until the controller sends a new state", "partition", s.p.tp, "why", why,
		"leaderEpoch", s.epoch, "err", err)
}

// current returns the state of a partition if it is still the one that was asked for.
func (f *fetcher) current(asked *fetchState) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.parts[asked.p.tp] == asked
}

// connect dials the leader unless there is a connection.
func (f *fetcher) connect(ctx context.Context) error {
	if f.conn != nil {
		return nil
	}
	clientID := fmt.Sprintf("broker-%d-fetcher-%d", f.m.cfg.BrokerID, f.key.n)
	conn, err := f.m.cfg.Dial(ctx, f.key.leader, clientID)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	f.conn = conn
	f.session.reset()
	return nil
}

func (f *fetcher) disconnect() {
	if f.conn == nil {
		return
	}
	if err := f.conn.Close(); err != nil {
		f.lg.Debug("connection closed", "err", err)
	}
	f.conn = nil
}

// round is one Fetch: build it, send it, and apply what comes back. The error is one of the connection or of the whole
// request; partitions with errors of their own do not hold up the others.
func (f *fetcher) round(ctx context.Context) error {
	f.prepare()
	if len(f.ready) == 0 {
		return nil
	}
	if err := f.connect(ctx); err != nil {
		return err
	}
	if f.m.cfg.FetchVersion < lastEpochVersion {
		f.truncateAll(ctx)
	}
	req := f.session.build(&f.m.cfg, f.ready)
	resp, err := f.conn.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	answer, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return fmt.Errorf("fetch answered with %T", resp)
	}
	if err := f.session.accept(answer); err != nil {
		return f.sessionError(err)
	}
	f.errors = 0
	f.apply(ctx, answer)
	return nil
}

// sessionError decides after a top-level error: a session that the leader does not know starts anew at once.
func (f *fetcher) sessionError(err error) error {
	for _, lost := range []error{kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIDError} {
		if errors.Is(err, lost) {
			f.lg.Info("fetch session starts anew", "err", err)
			return nil
		}
	}
	return err
}
