package log

import "sync"

// rounds lets one goroutine at a time do work whose result serves all who wait. When a round ends all of them look at
// once whether it has served them; one of the others makes the next. With a mutex they would come out one by one, and
// those who come back with new work meanwhile would find no round to share. The zero value is ready.
type rounds struct {
	mu sync.Mutex
	// running is closed when the round that is under way ends; nil when there is none.
	running chan struct{}
}

// enter begins a round, after which leave must be called, or returns false as soon as served says that there is no need.
// served must not block.
func (r *rounds) enter(served func() bool) bool {
	for {
		r.mu.Lock()
		if served() {
			r.mu.Unlock()
			return false
		}
		running := r.running
		if running == nil {
			r.running = make(chan struct{})
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
		<-running
	}
}

// never is for who needs a round of its own.
func never() bool { return false }

// leave ends the round.
func (r *rounds) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.running)
	r.running = nil
}
