package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/run"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// Bounds of a loop. A full queue makes callers wait; a write past maxInFlight is rejected as NOT_ENOUGH_REPLICAS.
const (
	queueLen    = 256
	maxInFlight = 8192
)

// maxKeptBatch bounds the memory, in bytes, that a loop keeps between batches.
const maxKeptBatch = 64 << 10

// settleWait is how long the log may take to settle a write: the answer is given much earlier, and the end of the
// leadership ends the wait.
const settleWait = 24 * time.Hour

// Options of a Runtime.
type Options[S Shard] struct {
	// Name is "group" or "transaction": for logs, metrics and goroutine names.
	Name string
	// Topic is the internal topic.
	Topic string
	Log   PartitionLog
	// NewShard returns the empty state of a partition.
	NewShard func(partition int32, epoch metadata.LeaderEpoch) S
	// Outside gets Effects.Outside on the loop's goroutine; it must not block. Nil when the shard has none.
	Outside func(partition int32, epoch metadata.LeaderEpoch, requests []any)
	// Codec compresses batches: offsets.topic.compression.codec.
	Codec record.Codec
	// WriteTimeout is how long a request waits for its write to be committed.
	WriteTimeout time.Duration
	// Now is time.Now if nil.
	Now    func() time.Time
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics prometheus.Registerer
}

// Runtime runs the shards of the partitions that this broker leads. Its methods are safe for concurrent use.
// Kafka: CoordinatorRuntime.
type Runtime[S Shard] struct {
	o  Options[S]
	lg *slog.Logger
	m  *metrics

	mu struct {
		sync.Mutex
		loops map[int32]*loop[S]
		// epochs is the highest epoch heard of each partition, also of those that others lead: it fences a late election.
		epochs map[int32]metadata.LeaderEpoch
		group  *run.Group // nil before Run
		closed bool
	}
}

// NewRuntime returns a runtime without shards. Run starts it; elections before Run are kept for it.
func NewRuntime[S Shard](o Options[S]) *Runtime[S] {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runtime[S]{o: o, lg: o.Logger.With("component", o.Name+"-coordinator"), m: newMetrics(o.Name, o.Metrics)}
	r.mu.loops = map[int32]*loop[S]{}
	r.mu.epochs = map[int32]metadata.LeaderEpoch{}
	return r
}

// Run runs loops until ctx ends; it returns when all of them have. Requests that still wait then get
// COORDINATOR_NOT_AVAILABLE.
func (r *Runtime[S]) Run(ctx context.Context) error {
	g := run.New(ctx, r.lg)
	r.mu.Lock()
	if r.mu.group != nil {
		r.mu.Unlock()
		return errors.New("coordinator runtime is already running")
	}
	r.mu.group = g
	for _, l := range r.mu.loops {
		g.Go(l.name(), l.run)
	}
	r.mu.Unlock()

	<-g.Context().Done()
	r.close()
	return g.Wait()
}

// close ends all loops and refuses what comes later.
func (r *Runtime[S]) close() {
	r.mu.Lock()
	r.mu.closed = true
	loops := r.mu.loops
	r.mu.loops = map[int32]*loop[S]{}
	r.mu.Unlock()
	for _, l := range loops {
		l.stop(kerr.CoordinatorNotAvailable)
	}
}

// Elected makes this broker the coordinator of a partition, from this leader epoch on, and starts to load it. An epoch
// that is not above all that were heard of the partition changes nothing. It does not block.
// Kafka: GroupCoordinator.onElection.
func (r *Runtime[S]) Elected(partition int32, epoch metadata.LeaderEpoch) {
	r.mu.Lock()
	if last, ok := r.mu.epochs[partition]; r.mu.closed || ok && epoch <= last {
		r.mu.Unlock()
		return
	}
	r.mu.epochs[partition] = epoch
	old := r.mu.loops[partition]
	l := newLoop(r, partition, epoch)
	r.mu.loops[partition] = l
	if r.mu.group != nil {
		r.mu.group.Go(l.name(), l.run)
	}
	r.mu.Unlock()
	if old != nil {
		// The same broker again in a newer epoch: what the old loop has in flight may be lost, so everything is read anew.
		old.stop(kerr.NotCoordinator)
	}
}

// Resigned ends the shard of a partition: another broker leads in this epoch, or, with NoEpoch, the replica is gone from
// here, whatever the epoch. A resignation from before the current election changes nothing. It does not block; callers
// that wait get NOT_COORDINATOR. Kafka: GroupCoordinator.onResignation.
func (r *Runtime[S]) Resigned(partition int32, epoch metadata.LeaderEpoch) {
	r.mu.Lock()
	last, known := r.mu.epochs[partition]
	switch {
	case epoch == metadata.NoEpoch:
		// The topic may be created again and start at epoch 0.
		delete(r.mu.epochs, partition)
	case known && epoch < last:
		r.mu.Unlock()
		return
	default:
		r.mu.epochs[partition] = epoch
	}
	l := r.mu.loops[partition]
	delete(r.mu.loops, partition)
	r.mu.Unlock()
	if l != nil {
		l.stop(kerr.NotCoordinator)
	}
}

// Active returns the partitions that are loaded, in order, and whether some are still loading.
func (r *Runtime[S]) Active() (partitions []int32, loading bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, l := range r.mu.loops {
		if l.loaded.Load() {
			partitions = append(partitions, p)
		} else {
			loading = true
		}
	}
	slices.Sort(partitions)
	return partitions, loading
}

// Operation is a step on a shard. It runs on the shard's loop, and may outlive its caller: it must not touch what the
// caller reuses. t is the caller's ticket, which some Effects must answer.
type Operation[S Shard] func(s S, now time.Time, t Ticket) Effects

// Call runs op on the shard of a partition and waits for the answer to its ticket. Errors are kerr.NotCoordinator,
// kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, or the cause of ctx's end, after which op may still run.
func (r *Runtime[S]) Call(ctx context.Context, partition int32, op Operation[S]) (any, error) {
	l, err := r.lookup(partition)
	if err != nil {
		return nil, err
	}
	if !l.loaded.Load() {
		return nil, kerr.CoordinatorLoadInProgress
	}
	return l.call(ctx, op)
}

// CallLoaded is Call that waits for a load to end.
func (r *Runtime[S]) CallLoaded(ctx context.Context, partition int32, op Operation[S]) (any, error) {
	l, err := r.lookup(partition)
	if err != nil {
		return nil, err
	}
	return l.call(ctx, op)
}

// Post runs op on the shard of a partition some time later, if the shard is still the one of this epoch: it brings news of
// what Effects.Outside has asked for. It does not block. What is posted must be bounded by what was asked for.
func (r *Runtime[S]) Post(partition int32, epoch metadata.LeaderEpoch, op func(s S, now time.Time) Effects) {
	if l, err := r.lookup(partition); err == nil && l.epoch == epoch {
		l.post(op)
	}
}

func (r *Runtime[S]) lookup(partition int32) (*loop[S], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed || r.mu.group == nil {
		return nil, kerr.CoordinatorNotAvailable
	}
	l, ok := r.mu.loops[partition]
	if !ok {
		return nil, kerr.NotCoordinator
	}
	return l, nil
}
