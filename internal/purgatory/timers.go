package purgatory

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// timers is a clock with any number of alarms and one goroutine. Kafka: SystemTimer.
type timers struct {
	mu struct {
		sync.Mutex
		heap timerHeap
	}
	wake chan struct{} // holds one token after the earliest alarm changed
}

// timer is one alarm; it is embedded in what it belongs to.
type timer struct {
	at    time.Time
	owner interface{ expire() }
	index int  // in the heap
	set   bool // it is in the heap
	gone  bool // it was removed, perhaps before it was added
}

func (t *timers) init() { t.wake = make(chan struct{}, 1) }

// add sets an alarm, unless it was removed already.
func (t *timers) add(x *timer, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.gone {
		return
	}
	x.at, x.set = at, true
	heap.Push(&t.mu.heap, x)
	if x.index == 0 {
		t.nudge()
	}
}

// remove takes an alarm away; one that has gone off or was never set is left alone.
func (t *timers) remove(x *timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.gone = true
	if x.set {
		x.set = false
		heap.Remove(&t.mu.heap, x.index)
	}
}

// owners returns whose alarms are set.
func (t *timers) owners() []interface{ expire() } {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]interface{ expire() }, 0, len(t.mu.heap))
	for _, x := range t.mu.heap {
		out = append(out, x.owner)
	}
	return out
}

func (t *timers) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run sets off alarms until ctx ends.
func (t *timers) run(ctx context.Context) error {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		t.goOff(time.Now())
		clock.Reset(t.untilNext(time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case <-clock.C:
		case <-t.wake:
		}
	}
}

// untilNext returns how long nothing will go off.
func (t *timers) untilNext(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.heap) == 0 {
		return time.Hour
	}
	return max(0, t.mu.heap[0].at.Sub(now))
}

// goOff sets off all alarms that are due, without the lock.
func (t *timers) goOff(now time.Time) {
	for {
		t.mu.Lock()
		if len(t.mu.heap) == 0 || t.mu.heap[0].at.After(now) {
			t.mu.Unlock()
			return
		}
		x, _ := heap.Pop(&t.mu.heap).(*timer)
		x.set = false
		t.mu.Unlock()
		x.owner.expire()
	}
}

// timerHeap orders alarms by time.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t, _ := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	last := len(old) - 1
	t := old[last]
	old[last] = nil
	*h = old[:last]
	return t
}
