package replication

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/purgatory"
	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// ReplicaManager owns the partitions that this broker hosts. Its methods are safe for concurrent use.
// Kafka: ReplicaManager.
type ReplicaManager struct {
	cfg      Config
	metrics  *metrics
	sessions *SessionCache
	fetchers *fetchers
	movers   movers
	produce  *purgatory.Purgatory[metadata.TopicPartition]
	fetch    *purgatory.Purgatory[fetchKey]
	deletes  *purgatory.Purgatory[metadata.TopicPartition]
	// retries holds proposals until they are repeated.
	retries *purgatory.Purgatory[metadata.TopicPartition]

	// control is held by the LeaderAndIsr or StopReplica request that is being executed. It comes before all locks and is
	// what orders the OnLeadership callbacks; a channel, since files and callbacks are waited for meanwhile.
	control chan struct{}
	// flushers has the goroutines that wait for the disk; nil before Run.
	flushers atomic.Pointer[run.Group]
	// draining is set when the broker stops: no Fetch waits any more.
	draining atomic.Bool
	// checkpointing is held while the high watermarks are collected and written, so that no older ones replace newer ones.
	checkpointing sync.Mutex
	// marksHigh is set when a log was cut below its high watermark: the one on the disk is too high until it is written.
	marksHigh atomic.Bool

	mu struct {
		sync.RWMutex
		partitions      map[metadata.TopicPartition]*Partition
		controllerEpoch int32
		// checkpointed are the high watermarks of the last run, nil until the first LeaderAndIsr asks for them.
		checkpointed map[metadata.TopicPartition]int64
		// removed remembers for a while what was deleted: see outlived.
		removed map[metadata.TopicPartition]removal
		closed  bool
	}
}

// New returns a manager without partitions.
func New(c Config) *ReplicaManager {
	c = c.withDefaults()
	m := &ReplicaManager{
		cfg:      c,
		sessions: NewSessionCache(c.SessionSlots, c.Now, c.Metrics),
		produce:  purgatory.New[metadata.TopicPartition]("Produce"),
		fetch:    purgatory.New[fetchKey]("Fetch"),
		deletes:  purgatory.New[metadata.TopicPartition]("DeleteRecords"),
		retries:  purgatory.New[metadata.TopicPartition]("AlterPartition"),
		control:  make(chan struct{}, 1),
	}
	m.mu.partitions = map[metadata.TopicPartition]*Partition{}
	m.mu.removed = map[metadata.TopicPartition]removal{}
	m.fetchers = newFetchers(m)
	m.movers = newMovers(m)
	m.metrics = newMetrics(c.Metrics, m)
	return m
}

// SetFetchers changes num.replica.fetchers, n >= 1: followed partitions move to other connections where they have to.
func (m *ReplicaManager) SetFetchers(n int) { m.fetchers.resize(n) }

// Run does the periodic work until ctx ends: it looks for lagging followers, writes high watermarks, expires waiting
// requests, and runs the fetchers.
func (m *ReplicaManager) Run(ctx context.Context) error {
	g := run.New(ctx, m.cfg.Logger)
	g.Go("produce-purgatory", m.produce.Run)
	g.Go("fetch-purgatory", m.fetch.Run)
	g.Go("delete-records-purgatory", m.deletes.Run)
	g.Go("isr-proposal-retries", m.retries.Run)
	g.Go("isr-expiration", m.tickLoop)
	g.Go("high-watermark-checkpoint", m.checkpointLoop)
	m.fetchers.start(g)
	m.movers.start(g)
	m.flushers.Store(g)
	<-g.Context().Done()
	m.fetchers.stop()
	return g.Wait()
}

// every calls f each d until ctx ends.
func every(ctx context.Context, d time.Duration, f func()) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			f()
		}
	}
}

// tickLoop shrinks ISRs. Kafka: ReplicaManager isr-expiration.
func (m *ReplicaManager) tickLoop(ctx context.Context) error {
	every(ctx, m.cfg.LagTimeMax/2, m.tick)
	return nil
}

func (m *ReplicaManager) tick() {
	now := m.cfg.Now()
	for _, p := range m.Partitions() {
		m.wakeOne(p.tick(now))
	}
}

// BrokersChanged tells that other brokers live now than before: one that died outside of an ISR holds back the high
// watermark no more, and who waits for it need not wait for the next fetch. Differs from Kafka, which waits for that.
func (m *ReplicaManager) BrokersChanged() { m.tick() }

func (m *ReplicaManager) checkpointLoop(ctx context.Context) error {
	every(ctx, m.cfg.HWCheckpointInterval, func() {
		if err := m.CheckpointHW(); err != nil {
			m.cfg.Logger.Error("high watermarks not written", "err", err)
		}
	})
	return nil
}

// CheckpointHW writes the high watermarks of all partitions to replication-offset-checkpoint. Before the first
// LeaderAndIsr it does nothing: what it would write is less than what is there. The marks of replicas on disk that have
// not been told their role yet stay as they are.
func (m *ReplicaManager) CheckpointHW() error {
	m.checkpointing.Lock()
	defer m.checkpointing.Unlock()
	m.mu.RLock()
	ready, marks := m.mu.checkpointed != nil, maps.Clone(m.mu.checkpointed)
	m.mu.RUnlock()
	if !ready {
		return nil
	}
	maps.DeleteFunc(marks, func(tp metadata.TopicPartition, _ int64) bool {
		_, onDisk := m.cfg.Logs.Get(tp)
		return !onDisk
	})
	for _, p := range m.Partitions() {
		if l := p.Log(); l != nil {
			marks[p.tp] = l.HighWatermark()
		}
	}
	return m.cfg.Logs.WriteHWCheckpoints(marks)
}

// Drain answers the fetches that wait and lets no later one wait, so that a stop need not sit out their time.
func (m *ReplicaManager) Drain() {
	m.draining.Store(true)
	m.fetch.ExpireAll()
}

// Close stops the fetchers and writes the high watermarks. It is idempotent.
func (m *ReplicaManager) Close(ctx context.Context) error {
	m.StopFetchers(ctx)
	m.mu.Lock()
	closed := m.mu.closed
	m.mu.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	return m.CheckpointHW()
}

// StopFetchers ends all fetchers and waits for them, or for ctx; none is started afterwards.
func (m *ReplicaManager) StopFetchers(ctx context.Context) {
	for _, f := range m.fetchers.stop() {
		select {
		case <-f.done:
		case <-ctx.Done():
			m.cfg.Logger.Warn("fetcher still runs", "fetcher", f.key.name(), "err", ctx.Err())
		}
	}
}

// Sessions returns the cache of fetch sessions.
func (m *ReplicaManager) Sessions() *SessionCache { return m.sessions }

// Partition returns a hosted partition. The error is kerr.NotLeaderOrFollower when the cluster has it elsewhere, which
// tells clients to look again, and kerr.UnknownTopicOrPartition when nobody knows it; kerr.KafkaStorageError when its
// log directory has failed. Kafka: ReplicaManager.getPartitionOrError.
func (m *ReplicaManager) Partition(tp metadata.TopicPartition) (*Partition, error) {
	p := m.hosted(tp)
	switch {
	case p == nil:
		if _, ok := m.cfg.Image().Partition(tp); ok {
			return nil, kerr.NotLeaderForPartition
		}
		return nil, kerr.UnknownTopicOrPartition
	case p.Offline():
		return nil, kerr.KafkaStorageError
	}
	return p, nil
}

func (m *ReplicaManager) hosted(tp metadata.TopicPartition) *Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mu.partitions[tp]
}

// Partitions returns all hosted partitions, in no order.
func (m *ReplicaManager) Partitions() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.AppendSeq(make([]*Partition, 0, len(m.mu.partitions)), maps.Values(m.mu.partitions))
}

// CheckControllerEpoch refuses an epoch below the highest one seen with kerr.StaleControllerEpoch, and remembers it
// otherwise.
func (m *ReplicaManager) CheckControllerEpoch(epoch int32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch < m.mu.controllerEpoch {
		return fmt.Errorf("controller epoch %d, last seen %d: %w", epoch, m.mu.controllerEpoch, kerr.StaleControllerEpoch)
	}
	m.mu.controllerEpoch = epoch
	return nil
}

// ControllerEpoch returns the highest controller epoch seen.
func (m *ReplicaManager) ControllerEpoch() int32 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mu.controllerEpoch
}

// LogDirFailed takes all replicas in a log directory offline, and ends the moves to it. The caller tells the controller.
// Kafka: ReplicaManager.handleLogDirFailure.
func (m *ReplicaManager) LogDirFailed(dir string) {
	m.control <- struct{}{}
	defer func() { <-m.control }()
	var changes []LeadershipChange
	var tps []metadata.TopicPartition
	for _, p := range m.Partitions() {
		epoch, _ := p.Leads()
		offline, unmoved := p.leaveDir(dir)
		if offline || unmoved {
			m.movers.remove(p.tp)
		}
		if unmoved {
			m.cfg.Logger.Warn("replica is not moved, since the new log directory has failed", "partition", p.tp, "dir", dir)
			m.cfg.Logs.ForgetFuture(p.tp)
		}
		if !offline {
			continue
		}
		m.fetchers.remove(p.tp)
		tps = append(tps, p.tp)
		changes = append(changes, LeadershipChange{TP: p.tp, Epoch: epoch})
	}
	m.cfg.Logger.Error("replicas offline", "dir", dir, "partitions", len(tps))
	m.wakeAll(tps)
	if len(changes) > 0 {
		m.cfg.OnLeadership(changes)
	}
}

// isStorage reports whether an error means that the disk failed.
func isStorage(err error) bool { return errors.Is(err, kerr.KafkaStorageError) }
