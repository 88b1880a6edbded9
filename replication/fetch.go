package replication

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// Fetch reads for a consumer or a follower and calls done exactly once, inline or later, with one result for each
// partition. It answers at once when there are MinBytes to read, when any partition has an error, a diverging epoch or a
// preferred replica, or when MaxWait is 0; otherwise when one of these comes true or MaxWait is over. Waiting reads no
// data. Kafka: ReplicaManager.fetchMessages.
func (m *ReplicaManager) Fetch(req FetchRequest, done func([]FetchResult)) {
	results := make([]FetchResult, len(req.Partitions))
	w := m.readAll(&req, results, true)
	m.wake(&w)
	m.checkDeletes(&req)
	if req.MaxWait <= 0 || len(results) == 0 || enough(results, req.MinBytes) || m.draining.Load() {
		m.recordSent(&req, results)
		done(results)
		return
	}
	release(results)
	op := &delayedFetch{m: m, req: req, results: results, done: done}
	m.fetch.Watch(op, m.deadline(req.MaxWait), op.keys()...)
	if m.draining.Load() {
		m.fetch.ExpireAll() // Drain may have come before the operation was there
	}
}

// enough reports whether the results are worth an answer.
func enough(results []FetchResult, minBytes int32) bool {
	n := 0
	for i := range results {
		r := &results[i]
		if r.Err != nil || r.Diverging != nil || r.TooSmall || r.PreferredReadReplica != metadata.NoBroker {
			return true
		}
		n += r.Records.Size()
	}
	return n >= int(minBytes)
}

func release(results []FetchResult) {
	for i := range results {
		results[i].Records.Release()
		results[i].Records = log.Records{}
	}
}

// waitKind is the event that a fetch waits for.
type waitKind uint8

const (
	byLogEnd        waitKind = iota // followers
	byHighWatermark                 // consumers
)

// fetchKey is what a fetch waits under.
type fetchKey struct {
	tp   metadata.TopicPartition
	kind waitKind
}

func fetchKeys(tps []metadata.TopicPartition, kind waitKind) []fetchKey {
	keys := make([]fetchKey, len(tps))
	for i, tp := range tps {
		keys[i] = fetchKey{tp, kind}
	}
	return keys
}

// delayedFetch is a Fetch that waits for data. Kafka: DelayedFetch.
type delayedFetch struct {
	m       *ReplicaManager
	req     FetchRequest
	results []FetchResult // empty but reusable
	done    func([]FetchResult)
}

func (d *delayedFetch) keys() []fetchKey {
	kind := byHighWatermark
	if d.req.Replica != metadata.NoBroker {
		kind = byLogEnd
	}
	keys := make([]fetchKey, 0, len(d.req.Partitions))
	for i := range d.req.Partitions {
		keys = append(keys, fetchKey{d.req.Partitions[i].TP, kind})
	}
	return keys
}

// TryComplete implements purgatory.Op. It looks at sizes only.
func (d *delayedFetch) TryComplete() bool {
	total := int64(0)
	for i := range d.req.Partitions {
		fp := &d.req.Partitions[i]
		p, err := d.m.fetchable(fp)
		if err != nil {
			return true
		}
		n, now := p.readable(&d.req, fp)
		if now {
			return true
		}
		if total += min(n, int64(fp.MaxBytes)); total >= int64(d.req.MinBytes) {
			return true
		}
	}
	return false
}

// readable returns how many bytes there are for a fetch. now is set when it must be answered whatever they are: the
// leadership or the epoch has changed, the log was cut below the offset, or the epochs have parted.
func (p *Partition) readable(req *FetchRequest, fp *FetchPartition) (n int64, now bool) {
	v, err := p.check(fp.CurrentLeaderEpoch, req.leaderOnly())
	if err != nil {
		return 0, true
	}
	if fp.Offset < v.log.StartOffset() || fp.Offset > v.log.EndOffset() {
		return 0, true
	}
	if fp.LastFetchedEpoch != metadata.NoEpoch {
		end, ok := v.log.EndOffsetForEpoch(fp.LastFetchedEpoch)
		if !ok || isr.Diverged(isr.EpochEnd(end), fp.LastFetchedEpoch, fp.Offset) {
			return 0, true
		}
	}
	upTo := req.bound(v.log)
	if upTo <= fp.Offset || req.fromFollower() && p.holdBack(req.Replica) {
		return 0, false
	}
	return v.log.BytesBetween(fp.Offset, upTo), false
}

// Complete implements purgatory.Op. The follower's position was recorded when the request came.
func (d *delayedFetch) Complete() {
	w := d.m.readAll(&d.req, d.results, false)
	d.m.wake(&w)
	d.m.recordSent(&d.req, d.results)
	d.done(d.results)
}

// Expire implements purgatory.Op.
func (d *delayedFetch) Expire() { d.Complete() }

// imageHint names the leader that the metadata cache knows, for a partition that this broker does not host.
func (m *ReplicaManager) imageHint(tp metadata.TopicPartition, err error) LeaderHint {
	if err != kerr.NotLeaderForPartition { //nolint:errorlint // Partition returns the bare value.
		return noLeader
	}
	if s, ok := m.cfg.Image().Partition(tp); ok {
		return LeaderHint{ID: s.Leader, Epoch: s.LeaderEpoch}
	}
	return noLeader
}
