package replication

import (
	"context"
	"time"
)

// bell wakes the one goroutine that waits for it. It holds one ring, so that none is missed between two waits.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait returns after a ring, or d, or when ctx ends.
func (b bell) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-b:
	case <-t.C:
	}
}
