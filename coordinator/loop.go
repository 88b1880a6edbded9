package coordinator

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// loop owns one shard. Fields above mu belong to the goroutine of run.
type loop[S Shard] struct {
	r         *Runtime[S]
	partition int32
	tp        metadata.TopicPartition
	epoch     metadata.LeaderEpoch

	shard    S
	inFlight inFlight
	builder  *record.Builder
	batch    []byte    // memory of the batch that is being appended
	todo     []Effects // effects to be executed, oldest first

	loaded atomic.Bool
	ops    chan queued[S]
	wake   chan struct{} // of capacity 1: settled or posted has something

	mu struct {
		sync.Mutex
		waiting map[Ticket]chan answer
		last    Ticket
		settled []settlement
		posted  []func(s S, now time.Time) Effects
		err     error // why it ended; nil while it runs
		cancel  context.CancelFunc
	}
}

type queued[S Shard] struct {
	ticket Ticket
	op     Operation[S]
}

// answer is what a caller waits for.
type answer struct {
	body any
	err  error
}

func newLoop[S Shard](r *Runtime[S], partition int32, epoch metadata.LeaderEpoch) *loop[S] {
	l := &loop[S]{
		r:         r,
		partition: partition,
		tp:        metadata.TopicPartition{Topic: r.o.Topic, Partition: partition},
		epoch:     epoch,
		builder:   record.NewBuilder(r.o.Codec, record.BuilderOptions{}),
		ops:       make(chan queued[S], queueLen),
		wake:      make(chan struct{}, 1),
	}
	l.mu.waiting = map[Ticket]chan answer{}
	return l
}

func (l *loop[S]) name() string {
	return l.r.o.Name + "-shard-" + strconv.Itoa(int(l.partition)) + "-epoch-" + strconv.Itoa(int(l.epoch))
}

// run loads the shard and serves it until it is stopped or ctx ends. It never fails: what goes wrong is told to callers.
func (l *loop[S]) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer l.stop(kerr.CoordinatorNotAvailable) // no effect if it was stopped for a better reason
	if !l.started(cancel) || !l.load(ctx) {
		return nil
	}
	l.loaded.Store(true)
	l.r.m.loaded.Inc()
	defer l.r.m.loaded.Dec()
	l.serve(ctx)
	return nil
}

// started makes stop able to end the loop; false if it was stopped before.
func (l *loop[S]) started(cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cancel = cancel
	return l.mu.err == nil
}

func (l *loop[S]) serve(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.arm(timer)
		select {
		case <-ctx.Done():
			return
		case q := <-l.ops:
			l.execute(q.op(l.shard, l.r.o.Now(), q.ticket))
		case <-l.wake:
		case <-timer.C:
		}
		l.settle()
		l.runPosted()
		l.expire()
	}
}

// post queues an operation without a caller.
func (l *loop[S]) post(op func(s S, now time.Time) Effects) {
	l.mu.Lock()
	if l.mu.err == nil {
		l.mu.posted = append(l.mu.posted, op)
	}
	l.mu.Unlock()
	l.notify()
}

func (l *loop[S]) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop[S]) runPosted() {
	l.mu.Lock()
	posted := l.mu.posted
	l.mu.posted = nil
	l.mu.Unlock()
	for _, op := range posted {
		l.execute(op(l.shard, l.r.o.Now()))
	}
}

// arm sets the timer to the next deadline of the shard or of a write.
func (l *loop[S]) arm(timer *time.Timer) {
	next := l.shard.Deadline()
	if d := l.inFlight.deadline(); next.IsZero() || !d.IsZero() && d.Before(next) {
		next = d
	}
	if next.IsZero() {
		timer.Stop()
		return
	}
	timer.Reset(max(0, next.Sub(l.r.o.Now())))
}

// expire tells the shard of writes that took too long and of timers that are due.
func (l *loop[S]) expire() {
	now := l.r.o.Now()
	for w := l.inFlight.late(now); w != nil; w = l.inFlight.late(now) {
		l.execute(l.shard.Late(now, w.tag, kerr.RequestTimedOut))
	}
	if d := l.shard.Deadline(); !d.IsZero() && !d.After(now) {
		l.execute(l.shard.Tick(now))
	}
}

// execute carries out effects, and those that come of them.
func (l *loop[S]) execute(e Effects) {
	l.todo = append(l.todo, e)
	for len(l.todo) > 0 {
		e := l.todo[0]
		l.todo = l.todo[1:]
		for i := range e.Writes {
			l.append(&e.Writes[i])
		}
		for _, r := range e.Replies {
			l.reply(r)
		}
		if len(e.Outside) > 0 {
			l.r.o.Outside(l.partition, l.epoch, e.Outside)
		}
	}
	l.todo = nil
}

// append writes one batch and tells the shard how that went.
func (l *loop[S]) append(w *Write) {
	now := l.r.o.Now()
	if l.inFlight.len() >= maxInFlight {
		l.todo = append(l.todo, l.shard.Rejected(now, w.Tag, kerr.NotEnoughReplicas))
		return
	}
	p := &pending{tag: w.Tag, deadline: now.Add(l.r.o.WriteTimeout)}
	first, err := l.r.o.Log.Append(l.tp, l.epoch, l.build(w), settleWait, func(err error) { l.settled(p, err) })
	if err != nil {
		l.r.lg.Debug("append refused", "topic", l.tp.Topic, "partition", l.partition, "epoch", l.epoch, "err", err)
		l.r.m.rejected.Inc()
		l.todo = append(l.todo, l.shard.Rejected(now, w.Tag, err))
		return
	}
	p.last = first + int64(len(w.Records)) - 1
	l.inFlight.push(p)
	l.shard.Appended(now, w.Tag, first)
}

// build makes the batch of a write. It is good until the next one.
func (l *loop[S]) build(w *Write) []byte {
	l.builder.Reset(record.BuilderOptions{Producer: w.Producer, Transactional: w.Transactional})
	for _, r := range w.Records {
		l.builder.Append(w.Timestamp, r.Key, r.Value, nil)
	}
	if cap(l.batch) > maxKeptBatch {
		l.batch = nil
	}
	l.batch = l.builder.AppendTo(l.batch[:0])
	return l.batch
}

// settled notes what the log says of a write. It is called by the log, from any goroutine.
func (l *loop[S]) settled(p *pending, err error) {
	l.mu.Lock()
	if l.mu.err == nil {
		l.mu.settled = append(l.mu.settled, settlement{p, err})
	}
	l.mu.Unlock()
	l.notify()
}

// settle tells the shard which writes are committed and which are in doubt.
func (l *loop[S]) settle() {
	l.mu.Lock()
	settled := l.mu.settled
	l.mu.settled = nil
	l.mu.Unlock()
	for _, s := range settled {
		now := l.r.o.Now()
		if s.err != nil && s.p.toTell() {
			l.execute(l.shard.Late(now, s.p.tag, s.err))
		}
		if s.err != nil && !errors.Is(s.err, kerr.NotEnoughReplicasAfterAppend) {
			// Still in the log. A later write that is committed shows that this one is, too; else the leadership ends.
			continue
		}
		// The high watermark has passed it, also when the ISR was too small by then, and with it all before it.
		for p := l.inFlight.committed(s.p.last); p != nil; p = l.inFlight.committed(s.p.last) {
			l.execute(l.shard.Committed(now, p.tag))
		}
	}
}
