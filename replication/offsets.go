package replication

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// notFound is the answer when no record is as late as asked for.
var notFound = log.TimestampOffset{Timestamp: -1, Offset: -1, Epoch: metadata.NoEpoch}

// ListOffset answers ListOffsets for one partition; offset -1 without an error when there is no such record. Clients see
// what is committed, and with ReadCommitted what is stable; other replicas see the log end. Whether the version of the
// request knows a special timestamp is the handler's business; below -5 is kerr.UnsupportedVersion.
// Kafka: Partition.fetchOffsetForTimestamp.
func (m *ReplicaManager) ListOffset(q ListOffsetQuery) (log.TimestampOffset, error) {
	p, err := m.Partition(q.TP)
	if err != nil {
		return notFound, err
	}
	v, err := p.check(q.CurrentLeaderEpoch, q.Replica != debugReplica)
	if err != nil {
		return notFound, p.wrap("list offsets of", err)
	}
	at, err := p.offsetFor(v, &q)
	if p.replaced(v, err) {
		at, err = p.offsetFor(p.view.Load(), &q)
	}
	if err != nil {
		return notFound, p.wrap("list offsets of", err)
	}
	return at, nil
}

func (p *Partition) offsetFor(v *view, q *ListOffsetQuery) (log.TimestampOffset, error) {
	l := v.log
	upTo := fetchableEnd(l, q)
	switch q.Timestamp {
	case LatestTimestamp:
		if err := p.settled(v, q); err != nil {
			return notFound, err
		}
		return log.TimestampOffset{Timestamp: -1, Offset: upTo, Epoch: v.epoch}, nil
	case EarliestTimestamp, EarliestLocalTimestamp:
		return earliest(l), nil
	case LatestTieredTimestamp:
		return notFound, nil
	case MaxTimestamp:
		return p.bounded(v, q, upTo)(l.MaxTimestampOffset(upTo))
	}
	if q.Timestamp < LatestTieredTimestamp {
		return notFound, fmt.Errorf("timestamp %d: %w", q.Timestamp, kerr.UnsupportedVersion)
	}
	return p.bounded(v, q, upTo)(l.OffsetForTimestamp(q.Timestamp, upTo))
}

// fetchableEnd is the exclusive end of what the asker may see.
func fetchableEnd(l *log.Log, q *ListOffsetQuery) int64 {
	switch {
	case q.Replica != metadata.NoBroker:
		return l.EndOffset()
	case q.ReadCommitted:
		return l.LastStableOffset()
	default:
		return l.HighWatermark()
	}
}

// settled refuses an answer that would send a consumer back: after an election the high watermark may still be below
// the log end that the new leader started with, of which consumers may have seen all. Kafka: KIP-207.
func (p *Partition) settled(v *view, q *ListOffsetQuery) error {
	if q.Replica == metadata.NoBroker && v.role == isr.Leader && v.log.HighWatermark() < v.epochStart {
		return kerr.OffsetNotAvailable
	}
	return nil
}

// bounded passes on what was found below the bound; nothing found may just mean that the mark is behind.
func (p *Partition) bounded(v *view, q *ListOffsetQuery, upTo int64) func(log.TimestampOffset, bool, error) (log.TimestampOffset, error) {
	return func(at log.TimestampOffset, found bool, err error) (log.TimestampOffset, error) {
		if err != nil {
			return notFound, err
		}
		if found && at.Offset < upTo {
			return at, nil
		}
		return notFound, p.settled(v, q)
	}
}

// earliest is the log start with the epoch that it belongs to.
func earliest(l *log.Log) log.TimestampOffset {
	start := l.StartOffset()
	return log.TimestampOffset{Timestamp: -1, Offset: start, Epoch: l.EpochAt(start)}
}

// OffsetForLeaderEpoch tells where a leader epoch ends: the largest known epoch <= the one asked for and the first
// offset that is not of it or an earlier one; (-1, -1) without an error when there is none.
// Kafka: Partition.lastOffsetForLeaderEpoch.
func (m *ReplicaManager) OffsetForLeaderEpoch(q EpochQuery) (log.EpochEnd, error) {
	none := log.EpochEnd{Epoch: metadata.NoEpoch, EndOffset: -1}
	p, err := m.Partition(q.TP)
	if err != nil {
		return none, err
	}
	v, err := p.check(q.CurrentLeaderEpoch, true)
	if err != nil {
		return none, p.wrap("find the end of an epoch of", err)
	}
	if end, ok := v.log.EndOffsetForEpoch(q.LeaderEpoch); ok {
		return end, nil
	}
	return none, nil
}

// LegacyOffsets answers ListOffsets v0: at most max offsets, falling, at which a segment begins that was last written
// before the timestamp, led by the log end for LatestTimestamp. Kafka: UnifiedLog.legacyFetchOffsetsBefore.
func (m *ReplicaManager) LegacyOffsets(q ListOffsetQuery, limit int) ([]int64, error) {
	p, err := m.Partition(q.TP)
	if err != nil {
		return nil, err
	}
	v, err := p.check(q.CurrentLeaderEpoch, q.Replica != debugReplica)
	if err != nil {
		return nil, p.wrap("list offsets of", err)
	}
	end := fetchableEnd(v.log, &q)
	var out []int64
	switch q.Timestamp {
	case LatestTimestamp:
		out = []int64{end, v.log.StartOffset()}
	case EarliestTimestamp:
		out = []int64{v.log.StartOffset()}
	default:
		at, found, err := v.log.OffsetForTimestamp(q.Timestamp, end)
		if p.replaced(v, err) {
			at, found, err = p.Log().OffsetForTimestamp(q.Timestamp, end)
		}
		if err != nil {
			return nil, p.wrap("list offsets of", err)
		}
		if found {
			out = append(out, at.Offset)
		}
	}
	out = slices.Compact(out)
	return out[:min(len(out), max(limit, 0))], nil
}
