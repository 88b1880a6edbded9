package budget

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Budget is a number of bytes shared by many. It is safe for concurrent use. Kafka: MemoryPool (queued.max.request.bytes).
type Budget struct {
	limit int64
	used  atomic.Int64
	sem   *semaphore.Weighted
}

// New returns a budget of so many bytes; none at all (every reservation succeeds at once) if limit <= 0.
func New(limit int64) *Budget {
	b := &Budget{limit: limit}
	if limit > 0 {
		b.sem = semaphore.NewWeighted(limit)
	}
	return b
}

// Limit is the size of the budget in bytes, <= 0 for an unbounded one.
func (b *Budget) Limit() int64 { return b.limit }

// InUse is the number of bytes reserved now.
func (b *Budget) InUse() int64 { return b.used.Load() }

// Reserve waits until n bytes are free and takes them. What is larger than the whole budget takes all of it: it waits to
// be alone. The error is ctx's, wrapped, and then nothing is reserved.
func (b *Budget) Reserve(ctx context.Context, n int64) error {
	if b.sem != nil {
		if err := b.sem.Acquire(ctx, b.clamp(n)); err != nil {
			return fmt.Errorf("reserve %d bytes: %w", n, err)
		}
	}
	b.used.Add(n)
	return nil
}

// TryReserve takes n bytes if they are free now.
func (b *Budget) TryReserve(n int64) bool {
	if b.sem != nil && !b.sem.TryAcquire(b.clamp(n)) {
		return false
	}
	b.used.Add(n)
	return true
}

// Release gives back what one call of Reserve or TryReserve took; n must be the same.
func (b *Budget) Release(n int64) {
	b.used.Add(-n)
	if b.sem != nil {
		b.sem.Release(b.clamp(n))
	}
}

func (b *Budget) clamp(n int64) int64 { return min(n, b.limit) }
