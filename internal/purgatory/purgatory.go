package purgatory

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Op is a waiting operation. Its methods are never called at the same time, and exactly one of Complete and Expire is
// called, once. Kafka: DelayedOperation.
type Op interface {
	// TryComplete reports whether the condition holds. It may take locks, but must not block or call the purgatory.
	TryComplete() bool
	// Complete is called after TryComplete said true, by whoever caused the event; it may call the purgatory.
	Complete()
	// Expire is called at the deadline, by the goroutine of Run; it may call the purgatory.
	Expire()
}

// shards is how many locks the watch lists are spread over. A power of two.
const shards = 16

// Purgatory keeps operations until they complete or expire. Its methods are safe for concurrent use.
// Kafka: DelayedOperationPurgatory.
type Purgatory[K comparable] struct {
	name    string
	seed    maphash.Seed
	lists   [shards]shard[K]
	timers  timers
	waiting atomic.Int64
	round   atomic.Uint64 // numbers the calls of Check, so that one looks at an operation once
}

// shard has the watch lists of some of the keys.
type shard[K comparable] struct {
	mu struct {
		sync.Mutex
		waiters map[K][]*waiter[K]
	}
}

// waiter is an operation in the purgatory.
type waiter[K comparable] struct {
	p     *Purgatory[K]
	op    Op
	keys  []K
	timer timer
	round atomic.Uint64
	mu    struct {
		sync.Mutex
		done bool
	}
}

// New returns an empty purgatory. name is Kafka's: Produce, Fetch, and so on.
func New[K comparable](name string) *Purgatory[K] {
	p := &Purgatory[K]{name: name, seed: maphash.MakeSeed()}
	for i := range p.lists {
		p.lists[i].mu.waiters = map[K][]*waiter[K]{}
	}
	p.timers.init()
	return p
}

// Name returns the name given to New.
func (p *Purgatory[K]) Name() string { return p.name }

// Waiting returns the number of operations that neither completed nor expired. Kafka: PurgatorySize.
func (p *Purgatory[K]) Waiting() int { return int(p.waiting.Load()) }

// Run expires operations until ctx ends. Those that wait then stay where they are.
func (p *Purgatory[K]) Run(ctx context.Context) error { return p.timers.run(ctx) }

// Watch completes op at once if its condition holds, and keeps it under keys until deadline otherwise. An operation
// without keys just waits for its deadline. keys is kept as long as the operation.
func (p *Purgatory[K]) Watch(op Op, deadline time.Time, keys ...K) (completed bool) {
	w := &waiter[K]{p: p, op: op, keys: keys}
	if w.try() {
		return true
	}
	p.waiting.Add(1)
	for _, k := range keys {
		p.link(k, w)
	}
	// An event that came before the waiter was in its lists has been missed:
	//
	//	Watch: TryComplete says no
	//	other: the event happens; Check finds nobody
	//	Watch: is in the lists, for ever
	//
	// so the condition is looked at again.
	if w.try() {
		p.leave(w)
		return true
	}
	w.timer.owner = w
	p.timers.add(&w.timer, deadline)
	if w.isDone() {
		// By a Check that found it in its first list, before it was in the last.
		p.unlink(w)
		return true
	}
	return false
}

// ExpireAll expires all operations that wait now, whatever their deadlines, in the caller's goroutine: a server that stops
// answers what it can. The caller must hold no lock that operations take.
func (p *Purgatory[K]) ExpireAll() {
	for _, w := range p.timers.owners() {
		w.expire()
	}
}

// Check looks at the operations under keys, completes those whose condition holds, and returns their number. An
// operation that is under several of the keys is looked at once. The caller must hold no lock that operations take.
func (p *Purgatory[K]) Check(keys ...K) int {
	if p.waiting.Load() == 0 {
		return 0
	}
	round := p.round.Add(1)
	var buf [16]*waiter[K]
	n := 0
	for _, k := range keys {
		for _, w := range p.under(k, buf[:0]) {
			if w.round.Swap(round) == round || !w.try() {
				continue
			}
			p.leave(w)
			n++
		}
	}
	return n
}

// leave takes a waiter that is done out of the lists and off the clock.
func (p *Purgatory[K]) leave(w *waiter[K]) {
	p.waiting.Add(-1)
	p.unlink(w)
	p.timers.remove(&w.timer)
}

func (p *Purgatory[K]) shard(k K) *shard[K] {
	return &p.lists[maphash.Comparable(p.seed, k)%shards]
}

// under appends the waiters of a key to buf.
func (p *Purgatory[K]) under(k K, buf []*waiter[K]) []*waiter[K] {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(buf, s.mu.waiters[k]...)
}

func (p *Purgatory[K]) link(k K, w *waiter[K]) {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiters[k] = append(s.mu.waiters[k], w)
}

func (p *Purgatory[K]) unlink(w *waiter[K]) {
	for _, k := range w.keys {
		s := p.shard(k)
		s.mu.Lock()
		s.drop(k, w)
		s.mu.Unlock()
	}
}

// drop removes w from the list of k; the order of the others does not matter.
func (s *shard[K]) drop(k K, w *waiter[K]) {
	list := s.mu.waiters[k]
	for i, x := range list {
		if x != w {
			continue
		}
		last := len(list) - 1
		list[i], list[last] = list[last], nil
		if last == 0 {
			delete(s.mu.waiters, k)
		} else {
			s.mu.waiters[k] = list[:last]
		}
		return
	}
}

// try completes the operation if it is not done and its condition holds. Of several callers at a time the later ones
// wait, since the earlier one may have looked before their event.
func (w *waiter[K]) try() bool {
	w.mu.Lock()
	won := !w.mu.done && w.op.TryComplete()
	if won {
		w.mu.done = true
	}
	w.mu.Unlock()
	if won {
		w.op.Complete()
	}
	return won
}

// end marks the operation done and reports whether it was the caller who did so.
func (w *waiter[K]) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	won := !w.mu.done
	w.mu.done = true
	return won
}

// expire is called by the clock.
func (w *waiter[K]) expire() {
	if w.end() {
		w.p.leave(w)
		w.op.Expire()
	}
}

func (w *waiter[K]) isDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.done
}
