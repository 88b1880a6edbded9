package cleaner

import (
	"context"
	"sync"
	"time"
)

// throttle holds the IO of all workers below a rate. Kafka: Throttler.
type throttle struct {
	rate float64
	now  func() time.Time
	mu   struct {
		sync.Mutex
		// free is when the next byte may go.
		free time.Time
	}
}

func newThrottle(bytesPerSecond float64, now func() time.Time) *throttle {
	return &throttle{rate: bytesPerSecond, now: now}
}

// wait accounts for n bytes and pauses for as long as they are ahead of the rate. It also ends a pass when ctx ends.
func (t *throttle) wait(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.rate <= 0 {
		return nil
	}
	pause := t.reserve(n)
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (t *throttle) reserve(n int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.mu.free.Before(now) {
		t.mu.free = now
	}
	t.mu.free = t.mu.free.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))
	return t.mu.free.Sub(now)
}
