package broker

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// producerIDs hands out producer ids from blocks that the controller allocates. A block is used up before the next is
// asked for, and never used again after a lost answer. Kafka: RPCProducerIdManager; KIP-730.
type producerIDs struct {
	// allocate gets a new block: its first id and its length.
	allocate func(ctx context.Context) (start int64, n int32, err error)
	flight   singleflight.Group
	mu       struct {
		sync.Mutex
		next, end int64
	}
}

// Next returns an id that nobody has had before.
func (p *producerIDs) Next(ctx context.Context) (int64, error) {
	for {
		if id, ok := p.take(); ok {
			return id, nil
		}
		result := p.flight.DoChan("block", func() (any, error) { return nil, p.refill(context.WithoutCancel(ctx)) })
		select {
		case res := <-result:
			if res.Err != nil {
				return -1, res.Err
			}
		case <-ctx.Done():
			return -1, ctx.Err()
		}
	}
}

func (p *producerIDs) take() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.next == p.mu.end {
		return 0, false
	}
	id := p.mu.next
	p.mu.next++
	return id, true
}

func (p *producerIDs) refill(ctx context.Context) error {
	start, n, err := p.allocate(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.next == p.mu.end {
		p.mu.next, p.mu.end = start, start+int64(n)
	}
	return nil
}
