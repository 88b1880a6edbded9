package replication

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// debugReplica is the replica id of a consumer that may read any replica up to its end. Kafka: DEBUGGING_REPLICA_ID.
const debugReplica metadata.BrokerID = -2

// fromFollower reports whether a broker fetches, to replicate.
func (r *FetchRequest) fromFollower() bool { return r.Replica >= 0 }

// leaderOnly reports whether only the leader may answer. Kafka: FetchParams.fetchOnlyLeader.
func (r *FetchRequest) leaderOnly() bool {
	return r.fromFollower() || r.Replica == metadata.NoBroker && !r.AnyReplica
}

// bound returns the exclusive end of what the requester may see. Kafka: FetchIsolation.
func (r *FetchRequest) bound(l *log.Log) int64 {
	switch {
	case r.Replica != metadata.NoBroker:
		return l.EndOffset()
	case r.ReadCommitted:
		return l.LastStableOffset()
	default:
		return l.HighWatermark()
	}
}

// readAll reads every partition of the request in order, within its limits. The first partition that has something
// gives at least one whole batch, unless the limits are hard. With update, a follower's position is recorded.
// Kafka: ReplicaManager.readFromLog.
func (m *ReplicaManager) readAll(req *FetchRequest, results []FetchResult, update bool) (w wakeups) {
	left, minOne := int(req.MaxBytes), !req.HardMaxBytes
	for i := range req.Partitions {
		fp := &req.Partitions[i]
		e := m.readOne(req, fp, &results[i], min(int(fp.MaxBytes), left), minOne, update)
		w.add(e)
		if n := results[i].Records.Size(); n > 0 {
			minOne = false
			left = max(0, left-n)
		}
	}
	return w
}

// readOne fills in the answer for one partition.
func (m *ReplicaManager) readOne(req *FetchRequest, fp *FetchPartition, out *FetchResult, maxBytes int, minOne, update bool) effects {
	*out = noRecords(fp)
	p, err := m.fetchable(fp)
	if err != nil {
		out.Err, out.CurrentLeader = err, m.imageHint(fp.TP, err)
		return effects{}
	}
	p.stats.fetches.Inc()
	v, e, err := p.read(req, fp, out, maxBytes, minOne, update)
	if err != nil {
		p.fetchFailed(v, err, out)
	}
	return e
}

// fetchable returns the partition to be read, if the request for it makes sense at all.
func (m *ReplicaManager) fetchable(fp *FetchPartition) (*Partition, error) {
	if fp.Err != nil {
		return nil, fp.Err
	}
	if fp.TP.Topic == "" {
		return nil, kerr.UnknownTopicID
	}
	p, err := m.Partition(fp.TP)
	if err != nil {
		return nil, err
	}
	if v := p.view.Load(); v.log != nil && !sameTopic(fp.TopicID, v.topicID) {
		return nil, p.wrap("fetch from", kerr.InconsistentTopicID)
	}
	return p, nil
}

// noRecords is an answer in which nothing is known.
func noRecords(fp *FetchPartition) FetchResult {
	return FetchResult{
		TP: fp.TP, TopicID: fp.TopicID, Offset: fp.Offset, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		PreferredReadReplica: metadata.NoBroker, CurrentLeader: noLeader,
	}
}

// fetchFailed fills in an error. OFFSET_OUT_OF_RANGE comes with the range, so that the client need not ask for it.
// Differs from Kafka: Kafka 3.9 answers -1 for both ends.
func (p *Partition) fetchFailed(v *view, err error, out *FetchResult) {
	out.Err = err
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		out.HighWatermark, out.LastStableOffset, out.LogStartOffset = v.log.HighWatermark(), v.log.LastStableOffset(), v.log.StartOffset()
	case errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.FencedLeaderEpoch):
		out.CurrentLeader = v.hint()
	default:
		p.stats.failedFetch.Inc()
	}
}

// read answers for this partition. A follower's position is taken only from a fetch that is found valid: an offset that
// is out of range or diverges proves nothing. Kafka: Partition.fetchRecords, readRecords.
func (p *Partition) read(req *FetchRequest, fp *FetchPartition, out *FetchResult, maxBytes int, minOne, update bool) (*view, effects, error) {
	v, err := p.check(fp.CurrentLeaderEpoch, req.leaderOnly())
	if err != nil {
		return v, effects{}, p.wrap("fetch from", err)
	}
	if to := p.preferred(v, req, fp); to != metadata.NoBroker {
		out.positions(v.log)
		out.PreferredReadReplica = to
		return v, effects{}, nil
	}
	if err := p.diverging(v, fp, out); err != nil || out.Diverging != nil {
		return v, effects{}, err
	}
	var e effects
	if req.fromFollower() {
		if e, err = p.followerFetched(v, req, fp, update); err != nil {
			return v, effects{}, err
		}
	}
	out.positions(v.log)
	if req.fromFollower() && p.holdBack(req.Replica) {
		return v, e, nil
	}
	err = p.readLog(v, req, fp, out, maxBytes, minOne)
	if p.replaced(v, err) {
		v = p.view.Load()
		err = p.readLog(v, req, fp, out, maxBytes, minOne)
	}
	if err != nil {
		return v, e, p.wrap("fetch from", err)
	}
	if !req.fromFollower() {
		p.stats.bytesOut.Add(float64(out.Records.Size()))
	} else {
		p.m.metrics.replicationBytesOut.Add(float64(out.Records.Size()))
	}
	return v, e, nil
}

// readLog fills in the records, and what a consumer has to know of them.
func (p *Partition) readLog(v *view, req *FetchRequest, fp *FetchPartition, out *FetchResult, maxBytes int, minOne bool) (err error) {
	upTo := req.bound(v.log)
	if out.Records, err = v.log.Read(fp.Offset, maxBytes, upTo, minOne); err != nil {
		return err
	}
	out.TooSmall = req.HardMaxBytes && out.Records.Size() == 0 && fp.Offset < upTo && maxBytes > 0
	if !req.ReadCommitted || req.Replica != metadata.NoBroker {
		return nil
	}
	if out.Aborted, err = abortedTxns(v.log, fp.Offset, upTo, out.Records); err != nil {
		out.Records.Release()
		out.Records = log.Records{}
	}
	return err
}

// abortedTxns lists the aborted transactions in what was read; never nil, since null means read_uncommitted.
func abortedTxns(l *log.Log, from, upTo int64, r log.Records) ([]log.AbortedTxn, error) {
	if r.Size() == 0 {
		return []log.AbortedTxn{}, nil
	}
	return l.AbortedTxns(from, l.UpperBound(r, upTo))
}

// positions fills in the offsets of an answer without error.
func (r *FetchResult) positions(l *log.Log) {
	r.HighWatermark, r.LastStableOffset, r.LogStartOffset = l.HighWatermark(), l.LastStableOffset(), l.StartOffset()
}

// diverging compares the epoch of the fetcher's last record with our history and fills in where they part.
func (p *Partition) diverging(v *view, fp *FetchPartition, out *FetchResult) error {
	if fp.LastFetchedEpoch == metadata.NoEpoch {
		return nil
	}
	end, ok := v.log.EndOffsetForEpoch(fp.LastFetchedEpoch)
	if !ok || fp.Offset < v.log.StartOffset() {
		return p.wrap("fetch from", kerr.OffsetOutOfRange)
	}
	if isr.Diverged(isr.EpochEnd(end), fp.LastFetchedEpoch, fp.Offset) {
		out.positions(v.log)
		out.Diverging = &end
	}
	return nil
}

// followerFetched records a follower's position, if its offset is one of ours.
func (p *Partition) followerFetched(v *view, req *FetchRequest, fp *FetchPartition, update bool) (effects, error) {
	if !update {
		return effects{}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.view.Load()
	if now.term != v.term || now.role != isr.Leader {
		return effects{}, p.wrap("fetch from", kerr.NotLeaderForPartition)
	}
	v = now // the log may be another, in another directory
	if fp.Offset < v.log.StartOffset() || fp.Offset > v.log.EndOffset() {
		return effects{}, p.wrap("fetch from", kerr.OffsetOutOfRange)
	}
	p.prepareLocked(v)
	e, verdict := p.mu.core.FollowerFetched(isr.Fetch{
		Replica: req.Replica, Offset: fp.Offset, LogStart: fp.LogStartOffset, BrokerEpoch: req.ReplicaEpoch,
		Alive: p.m.cfg.Image().IsAlive(req.Replica),
	}, p.m.cfg.Now())
	if verdict != isr.Counted {
		return effects{}, p.wrap("fetch from", kerr.NotLeaderForPartition)
	}
	return p.settleLocked(v, e), nil
}

// preferred returns the replica that a consumer should read from instead of this leader, NoBroker for none (KIP-392).
// Kafka: ReplicaManager.findPreferredReadReplica.
func (p *Partition) preferred(v *view, req *FetchRequest, fp *FetchPartition) metadata.BrokerID {
	sel := p.m.cfg.Selector
	if sel == nil || v.role != isr.Leader || req.Replica != metadata.NoBroker || !req.AnyReplica || req.Rack == "" {
		return metadata.NoBroker
	}
	to := sel.Select(req.Rack, p.candidates(v, fp.Offset))
	if to == p.m.cfg.BrokerID {
		return metadata.NoBroker
	}
	return to
}

// candidates are the leader and the live members of the ISR that hold the offset.
func (p *Partition) candidates(v *view, offset int64) []ReplicaView {
	img := p.m.cfg.Image()
	p.mu.Lock()
	defer p.mu.Unlock()
	core := p.mu.core
	out := []ReplicaView{{ID: p.m.cfg.BrokerID, Rack: p.m.cfg.Rack, LEO: v.log.EndOffset(), Leader: true}}
	committed := core.Committed()
	for _, r := range core.Remotes() {
		b, alive := img.Broker(r.ID)
		if alive && slices.Contains(committed.ISR, r.ID) && r.LEO >= offset && r.LogStart <= offset {
			out = append(out, ReplicaView{ID: r.ID, Rack: b.Rack, LEO: r.LEO})
		}
	}
	return out
}

// deadline of a request that may wait.
func (m *ReplicaManager) deadline(d time.Duration) time.Time { return m.cfg.Now().Add(d) }
