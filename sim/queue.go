package sim

import (
	"container/heap"
	"time"
)

// event is something that happens at a moment of virtual time, in a process or in the world around them.
type event struct {
	at  time.Duration
	seq uint64
	// in is the process that executes it, nil for the world: a dead process loses its events, a paused one is late.
	in   *process
	run  func()
	lost func() // called instead of run when the process is dead; nil for nothing
	off  bool
}

// cancel makes an event never happen. It may be called at any time.
func (e *event) cancel() { e.off = true }

// queue orders events by time, and equal times by creation.
type queue []*event

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(*event)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	n := len(old) - 1
	e := old[n]
	old[n] = nil
	*q = old[:n]
	return e
}

// post plans an event.
func (w *world) post(in *process, after time.Duration, run, lost func()) *event {
	w.seq++
	e := &event{at: w.now + after, seq: w.seq, in: in, run: run, lost: lost}
	heap.Push(&w.queue, e)
	return e
}

// after plans an event that is forgotten when its process dies.
func (w *world) after(in *process, d time.Duration, run func()) *event {
	return w.post(in, d, run, nil)
}

// next executes the next event that counts as a step. It returns false when there is none.
func (w *world) next() bool {
	for len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(*event)
		if e.off {
			continue
		}
		w.now = e.at
		switch p := e.in; {
		case p != nil && p.dead:
			if e.lost != nil {
				e.lost()
			}
			continue
		case p != nil && p.paused:
			p.held = append(p.held, e)
			continue
		}
		w.steps++
		e.run()
		return true
	}
	return false
}
