package service

import (
	"sync/atomic"

	"jackdaw/coordinator"
)

// partitioner knows how many partitions an internal topic has. The topic's own count decides, as soon as the topic is there;
// it is kept from then on, since another count would send every id elsewhere. Kafka: GroupCoordinator.startup, where the
// count is read once.
type partitioner struct {
	// configured is the count that the topic is created with.
	configured int32
	// actual returns the topic's count, 0 while it is not known; nil if nobody knows.
	actual func() int32
	known  atomic.Int32
}

func (p *partitioner) count() int32 {
	if n := p.known.Load(); n > 0 {
		return n
	}
	if p.actual != nil {
		if n := p.actual(); n > 0 {
			p.known.CompareAndSwap(0, n)
			return p.known.Load()
		}
	}
	return p.configured
}

// of returns the partition that an id lives in.
func (p *partitioner) of(id string) int32 { return coordinator.PartitionFor(id, p.count()) }
