package broker

import (
	"context"
	"sync"
	"sync/atomic"

	"jackdaw/metadata"
)

// metadataCache holds the newest metadata.Image and wakes those who wait for a change of it.
// Kafka: ZkMetadataCache.
type metadataCache struct {
	image atomic.Pointer[metadata.Image]
	mu    struct {
		sync.Mutex
		changed chan struct{} // closed and replaced at each change
	}
}

func newMetadataCache() *metadataCache {
	c := &metadataCache{}
	c.image.Store(metadata.NewImage())
	c.mu.changed = make(chan struct{})
	return c
}

// Image returns the newest image; it never changes afterwards.
func (c *metadataCache) Image() *metadata.Image { return c.image.Load() }

// Apply replaces the image by its successor and wakes the waiters.
func (c *metadataCache) Apply(u metadata.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.image.Store(c.image.Load().Apply(u))
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
}

// Wait returns once cond holds for the newest image, or with the context's error. cond is called without a lock.
func (c *metadataCache) Wait(ctx context.Context, cond func(*metadata.Image) bool) error {
	for {
		c.mu.Lock()
		changed := c.mu.changed
		c.mu.Unlock()
		if cond(c.Image()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
