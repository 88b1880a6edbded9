package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/replication"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// Kafka: ZkAlterPartitionManager.DefaultIsrPropagationConfig.
const (
	// announceInterval is how often changed ISRs are looked for that the controller has not been told.
	announceInterval = 2500 * time.Millisecond
	// announceLinger is the quiet time that a telling waits for, announceMaxDelay the longest time between two.
	announceLinger   = 5 * time.Second
	announceMaxDelay = time.Minute
)

// isrWriter writes ISR changes to ZooKeeper itself, which is how leaders do it below inter.broker.protocol.version 2.7, and
// tells the controller a little later which partitions have changed. Kafka: ZkAlterPartitionManager.
//
// Differs from Kafka: the controller is also told of a partition whose write failed by its version. It then sends the present
// state to everybody, from which the leader learns what it does not know.
type isrWriter struct {
	store interface {
		// WriteState replaces the state that is at the version State.PartitionEpoch and returns the next version.
		WriteState(ctx context.Context, tp metadata.TopicPartition, s metadata.LeaderAndISR) (version int32, err error)
		// Announce tells the controller of changed partitions.
		Announce(ctx context.Context, tps []metadata.TopicPartition) error
	}
	now  func() time.Time
	log  *slog.Logger
	wake chan struct{} // capacity 1
	mu   struct {
		sync.Mutex
		pending []isrProposal
	}

	// What follows belongs to Run.

	changed       map[metadata.TopicPartition]struct{}
	lastChange    time.Time
	lastAnnounced time.Time
}

func newISRWriter(session func() *zkstore.Session, now func() time.Time, lg *slog.Logger) *isrWriter {
	return &isrWriter{
		store: stateNodes{session}, now: now, log: lg, wake: make(chan struct{}, 1), changed: map[metadata.TopicPartition]struct{}{},
	}
}

// Propose implements replication.ISRStore.
func (w *isrWriter) Propose(prop replication.Proposal, done func(metadata.LeaderAndISR, error)) {
	w.mu.Lock()
	w.mu.pending = append(w.mu.pending, isrProposal{Proposal: prop, done: done})
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes and announces until ctx ends.
func (w *isrWriter) Run(ctx context.Context) error {
	tick := time.NewTicker(announceInterval)
	defer tick.Stop()
	w.lastAnnounced = w.now()
	for {
		select {
		case <-w.wake:
		case <-tick.C:
			w.announce(ctx)
			continue
		case <-ctx.Done():
			return nil
		}
		w.mu.Lock()
		batch := w.mu.pending
		w.mu.pending = nil
		w.mu.Unlock()
		for _, p := range batch {
			p.done(w.write(ctx, p.Proposal))
		}
	}
}

// write makes one conditional write.
func (w *isrWriter) write(ctx context.Context, p replication.Proposal) (metadata.LeaderAndISR, error) {
	version, err := w.store.WriteState(ctx, p.TP, p.State)
	switch {
	case errors.Is(err, zkstore.ErrBadVersion):
		err = fmt.Errorf("write state of %s at version %d: %w", p.TP, p.State.PartitionEpoch, kerr.InvalidUpdateVersion)
	case errors.Is(err, zkstore.ErrNoNode):
		err = fmt.Errorf("write state of %s: %w", p.TP, kerr.UnknownTopicOrPartition)
	}
	if err != nil && !errors.Is(err, kerr.InvalidUpdateVersion) {
		return metadata.LeaderAndISR{}, err
	}
	w.changed[p.TP] = struct{}{}
	w.lastChange = w.now()
	if err != nil {
		return metadata.LeaderAndISR{}, err
	}
	written := p.State
	written.PartitionEpoch = version
	return written, nil
}

// announce tells the controller when the changes have calmed down, or have gone on for long.
func (w *isrWriter) announce(ctx context.Context) {
	now := w.now()
	if len(w.changed) == 0 || now.Sub(w.lastChange) < announceLinger && now.Sub(w.lastAnnounced) < announceMaxDelay {
		return
	}
	tps := make([]metadata.TopicPartition, 0, len(w.changed))
	for tp := range w.changed {
		tps = append(tps, tp)
	}
	if err := w.store.Announce(ctx, tps); err != nil {
		w.log.Warn("controller not told of changed ISRs, trying again", "partitions", len(tps), "err", err)
		return
	}
	clear(w.changed)
	w.lastAnnounced = now
}

// stateNodes are the state znodes, as a leader writes them.
type stateNodes struct{ session func() *zkstore.Session }

// WriteState writes one state. A write whose answer was lost is recognized by the data that is then there.
func (n stateNodes) WriteState(ctx context.Context, tp metadata.TopicPartition, s metadata.LeaderAndISR) (int32, error) {
	session := n.session()
	if session == nil {
		return 0, zkstore.ErrSessionExpired
	}
	st, err := session.Set(ctx, znode.StatePath(tp), znode.EncodePartitionState(s), s.PartitionEpoch)
	return st.Version, err
}

// Announce makes a notification node. Kafka: KafkaZkClient.propagateIsrChanges.
func (n stateNodes) Announce(ctx context.Context, tps []metadata.TopicPartition) error {
	session := n.session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	_, err := session.Create(ctx, znode.IsrChangePrefix, znode.EncodeIsrChange(tps), zkstore.PersistentSequential)
	return err
}
