package replication

import (
	"slices"

	"jackdaw/metadata"
)

// Throttle limits what listed partitions may use for replication in one direction, so that moving a replica leaves room for
// the rest (KIP-73). It is asked for each partition of each fetch of a follower, from many goroutines: it must be quick.
// Kafka: ReplicaQuota, ReplicationQuotaManager.
type Throttle interface {
	// Throttled reports whether the partition is listed.
	Throttled(tp metadata.TopicPartition) bool
	// Exceeded reports whether the listed partitions have used more than they may.
	Exceeded() bool
	// Record takes note of bytes of listed partitions.
	Record(bytes int)
}

// holdBack reports whether a follower gets nothing now: it is outside of the ISR, so that nobody waits for it, and the limit
// is used up. Kafka: ReplicaManager.shouldLeaderThrottle.
func (p *Partition) holdBack(follower metadata.BrokerID) bool {
	t := p.m.cfg.LeaderThrottle
	if t == nil || !t.Throttled(p.tp) || !t.Exceeded() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.Contains(p.mu.core.Committed().ISR, follower)
}

// recordSent counts what a follower is sent of throttled partitions. What goes to replicas in sync counts, too.
func (m *ReplicaManager) recordSent(req *FetchRequest, results []FetchResult) {
	t := m.cfg.LeaderThrottle
	if t == nil || !req.fromFollower() {
		return
	}
	total := 0
	for i := range results {
		if n := results[i].Records.Size(); n > 0 && t.Throttled(results[i].TP) {
			total += n
		}
	}
	if total > 0 {
		t.Record(total)
	}
}

// heldBack reports whether a partition is left out of the fetcher's request for now: it is not known to be in sync, and the
// limit is used up. Kafka: ReplicaFetcherThread.shouldFollowerThrottle.
func (f *fetcher) heldBack(s *fetchState) bool {
	t := f.m.cfg.FollowerThrottle
	return t != nil && s.lag != 0 && t.Throttled(s.p.tp) && t.Exceeded()
}
