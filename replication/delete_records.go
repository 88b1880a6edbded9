package replication

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// DeleteEntry asks for the records below Offset to be deleted; -1 stands for the high watermark.
type DeleteEntry struct {
	TP     metadata.TopicPartition
	Offset int64
	// Err, when set, is the answer for the partition.
	Err error
}

// DeleteResult is the answer for one partition, in the order of the request.
type DeleteResult struct {
	TP metadata.TopicPartition
	// LowWatermark is the least log start of the live replicas, -1 with an error.
	LowWatermark int64
	Err          error
}

// DeleteRecords raises log starts and calls done exactly once, inline or later: when every live replica has followed,
// or after timeout with kerr.RequestTimedOut. Records are deleted all the same then.
// Errors: kerr.OffsetOutOfRange above the high watermark, kerr.PolicyViolation for a topic that is only compacted,
// kerr.InvalidTopicException for an internal one, kerr.NotLeaderOrFollower. Kafka: ReplicaManager.deleteRecords; KIP-107.
func (m *ReplicaManager) DeleteRecords(timeout time.Duration, entries []DeleteEntry, done func([]DeleteResult)) {
	op := &delayedDelete{results: make([]DeleteResult, len(entries)), done: done}
	for i := range entries {
		en := &entries[i]
		op.results[i] = DeleteResult{TP: en.TP, LowWatermark: -1, Err: en.Err}
		if en.Err != nil {
			continue
		}
		p, offset, err := m.deleteOne(en)
		if err != nil {
			op.results[i].Err = err
			continue
		}
		op.waits = append(op.waits, deleteWait{p: p, offset: offset, result: i})
	}
	m.deletes.Watch(op, m.deadline(timeout), op.keys()...)
}

func (m *ReplicaManager) deleteOne(en *DeleteEntry) (*Partition, int64, error) {
	if isInternal(en.TP.Topic) {
		return nil, 0, kerr.InvalidTopicException
	}
	p, err := m.Partition(en.TP)
	if err != nil {
		return nil, 0, err
	}
	offset, err := p.deleteBelow(en.Offset)
	if err != nil {
		return nil, 0, p.wrap("delete records of", err)
	}
	return p, offset, nil
}

// deleteBelow raises the log start of a leader, and returns to what. Kafka: Partition.deleteRecordsOnLeader.
func (p *Partition) deleteBelow(offset int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.check(metadata.NoEpoch, true)
	if err != nil {
		return 0, err
	}
	if cfg := v.log.Config(); !cfg.Delete {
		return 0, kerr.PolicyViolation
	}
	if offset == -1 {
		offset = v.log.HighWatermark()
	}
	if offset < 0 {
		return 0, kerr.OffsetOutOfRange
	}
	return offset, v.log.IncrementStartOffset(offset)
}

// lowWatermark returns the least log start of the live replicas, and of the copy in another directory.
func (p *Partition) lowWatermark() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.check(metadata.NoEpoch, true)
	if err != nil {
		return -1, err
	}
	p.aliveLocked(p.mu.core)
	low := p.mu.core.LowWatermark(v.log.StartOffset())
	if f := p.future(); f != nil {
		low = min(low, f.StartOffset())
	}
	return low, nil
}

// deleteWait is a partition whose replicas may not have followed yet.
type deleteWait struct {
	p      *Partition
	offset int64
	result int
	over   bool
}

// delayedDelete is a DeleteRecords request. Kafka: DelayedDeleteRecords.
type delayedDelete struct {
	waits   []deleteWait
	results []DeleteResult
	done    func([]DeleteResult)
}

func (d *delayedDelete) keys() []metadata.TopicPartition {
	keys := make([]metadata.TopicPartition, len(d.waits))
	for i := range d.waits {
		keys[i] = d.waits[i].p.tp
	}
	return keys
}

// TryComplete implements purgatory.Op.
func (d *delayedDelete) TryComplete() bool {
	open := false
	for i := range d.waits {
		w := &d.waits[i]
		if w.over {
			continue
		}
		low, err := w.p.lowWatermark()
		r := &d.results[w.result]
		switch {
		case err != nil:
			w.over, r.Err, r.LowWatermark = true, w.p.wrap("delete records of", err), -1
		case low >= w.offset:
			w.over, r.LowWatermark = true, low
		default:
			open = true
		}
	}
	return !open
}

// Complete implements purgatory.Op.
func (d *delayedDelete) Complete() { d.done(d.results) }

// Expire implements purgatory.Op.
func (d *delayedDelete) Expire() {
	for i := range d.waits {
		if w := &d.waits[i]; !w.over {
			d.results[w.result].Err = w.p.wrap("delete records of", kerr.RequestTimedOut)
		}
	}
	d.done(d.results)
}

// checkDeletes looks at waiting DeleteRecords requests after a follower told its log starts.
func (m *ReplicaManager) checkDeletes(req *FetchRequest) {
	if !req.fromFollower() || m.deletes.Waiting() == 0 {
		return
	}
	for i := range req.Partitions {
		m.deletes.Check(req.Partitions[i].TP)
	}
}
