package replication

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
)

// Append appends to partitions that this broker leads and calls done exactly once, inline or later, with one result for
// each entry. The entries' bytes are free when Append returns. With Acks -1 done waits until all that was appended, or
// was found to be a duplicate, is committed. Acks other than -1, 0 and 1 are refused with kerr.InvalidRequiredAcks.
// Kafka: ReplicaManager.appendRecords.
func (m *ReplicaManager) Append(req AppendRequest, done func([]AppendResult)) {
	one := [1]AppendCall{{Entries: req.Entries, Done: done}}
	m.AppendJoined(req, one[:])
}

// AppendJoined is Append for each of several calls in turn, whose entries take the place of req's. What they have for one
// partition is written together; each call is answered as soon as its own entries are.
func (m *ReplicaManager) AppendJoined(req AppendRequest, calls []AppendCall) {
	j := joinedAppends.Get().(*joinedAppend)
	defer j.recycle()
	j.layOut(calls)
	if req.Acks < -1 || req.Acks > 1 {
		j.refuse(kerr.InvalidRequiredAcks)
		j.tell(calls)
		return
	}
	flushers := m.flushersRunning()
	req.laterFlush = flushers != nil
	j.append(m, &req)
	m.wake(&j.wakeups)
	unflushed := j.unflushed()
	if len(unflushed) > 0 {
		m.appendDurably(flushers, req, unflushed, j.answers(&req, calls))
		return
	}
	if req.Acks != -1 {
		j.tell(calls)
		return
	}
	for _, a := range j.answers(&req, calls) {
		m.appended(&req, a)
	}
}

// appended answers, or waits for the rest of the ISR.
func (m *ReplicaManager) appended(req *AppendRequest, a answer) {
	waits := slices.DeleteFunc(a.waits, func(w produceWait) bool { return a.results[w.result].Err != nil })
	if len(waits) == 0 {
		a.done(a.results)
		return
	}
	m.await(req, a.results, waits, a.done)
}

// await parks the answer until everything is committed.
func (m *ReplicaManager) await(req *AppendRequest, results []AppendResult, waits []produceWait, done func([]AppendResult)) {
	op := &delayedProduce{waits: waits, results: results, done: done}
	m.produce.Watch(op, m.deadline(req.Timeout), op.keys()...)
}

// appendFailed fills in the answer for an entry that was refused.
func (m *ReplicaManager) appendFailed(p *Partition, v *view, info log.AppendInfo, err error, out *AppendResult) {
	p.stats.failedProduce.Inc()
	out.Err = err
	out.Info.RecordErrors = info.RecordErrors
	if errors.Is(err, kerr.NotLeaderForPartition) {
		out.CurrentLeader = v.hint()
	}
	if v.log != nil && !hidesLogStart(err) {
		out.Info.LogStartOffset = v.log.StartOffset()
	}
}

// hidesLogStart reports whether Kafka answers this error of Produce with log start -1.
func hidesLogStart(err error) bool {
	for _, e := range []error{
		kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition, kerr.MessageTooLarge, kerr.RecordListTooLarge,
		kerr.CorruptMessage, kerr.KafkaStorageError,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// refused is the result of an entry for which nothing was appended.
func refused(tp metadata.TopicPartition, err error) AppendResult {
	return AppendResult{
		TP: tp, Err: err, CurrentLeader: noLeader,
		Info: log.AppendInfo{FirstOffset: -1, LastOffset: -1, LogAppendTime: -1, LogStartOffset: -1, MaxTimestamp: -1},
	}
}

// isInternal reports whether only coordinators may write to the topic. Kafka: Topic.isInternal.
func isInternal(topic string) bool {
	return topic == "__consumer_offsets" || topic == "__transaction_state"
}

// append appends to the log as its leader. The batches are checked and written under tenure alone. An error is one for all of the
// list; else each of it has its own. Kafka: Partition.appendRecordsToLeader.
func (p *Partition) append(req *AppendRequest, list []log.LeaderAppend) (*view, effects, error) {
	p.tenure.RLock()
	defer p.tenure.RUnlock()
	v, err := p.admit(req)
	if err != nil {
		return v, effects{}, err
	}
	v.log.AppendAllAsLeader(list, v.epoch, log.AppendOptions{
		Origin: req.Origin, AllowZstd: req.AllowZstd, VerifiedOnly: req.VerifiedOnly, OldFormats: req.OldFormats,
		LaterFlush: req.laterFlush,
	})
	var last *log.AppendInfo
	for i := range list {
		if a := &list[i]; a.Err == nil && (last == nil || !a.Info.Duplicate) {
			last = &a.Info
		}
	}
	if last == nil || last.FlushTo > 0 {
		return v, effects{}, nil
	}
	return v, p.count(v, last), nil
}

// count tells the core of an append. The caller holds tenure.
func (p *Partition) count(v *view, info *log.AppendInfo) effects {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prepareLocked(v)
	e := p.settleLocked(v, p.mu.core.LocalAppended(v.log.EndOffset(), p.m.cfg.Now()))
	e.appended = !info.Duplicate
	return e
}

// admit checks whether an append may be made: we lead, in the coordinator's epoch if there is one, and for acks=all
// with enough replicas in sync.
func (p *Partition) admit(req *AppendRequest) (*view, error) {
	v, err := p.check(metadata.NoEpoch, true)
	if err != nil {
		return v, p.wrap("append to", err)
	}
	// A coordinator's epoch may lag behind if the leader's was raised in place, but must be of this term: in an earlier
	// one its state was built from records that may have been cut since.
	if req.Origin == log.Coordinator && req.Epoch != metadata.NoEpoch && (req.Epoch < v.since || req.Epoch > v.epoch) {
		return v, p.wrap("append to", kerr.NotLeaderForPartition)
	}
	if req.Acks != -1 {
		return v, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prepareLocked(v)
	if core := p.mu.core; core.UnderMinISR() {
		return v, fmt.Errorf("append to %s: isr %d of %d: %w", p.tp, len(core.Committed().ISR), core.MinISR(), kerr.NotEnoughReplicas)
	}
	return v, nil
}

// produceWait is a partition whose records are not known to be committed.
type produceWait struct {
	p      *Partition
	term   uint64
	need   int64 // the high watermark to be reached
	result int   // index in the results
	over   bool
}

// delayedProduce is a Produce request with acks=all. Kafka: DelayedProduce.
type delayedProduce struct {
	waits   []produceWait
	results []AppendResult
	done    func([]AppendResult)
}

func (d *delayedProduce) keys() []metadata.TopicPartition {
	keys := make([]metadata.TopicPartition, len(d.waits))
	for i := range d.waits {
		keys[i] = d.waits[i].p.tp
	}
	return keys
}

// TryComplete implements purgatory.Op.
func (d *delayedProduce) TryComplete() bool {
	open := false
	for i := range d.waits {
		w := &d.waits[i]
		if w.over {
			continue
		}
		over, err := w.p.reached(w.term, w.need)
		if !over {
			open = true
			continue
		}
		w.over = true
		d.fail(w, err)
	}
	return !open
}

func (d *delayedProduce) fail(w *produceWait, err error) {
	if err == nil {
		return
	}
	r := &d.results[w.result]
	r.Err = w.p.wrap("await commit of", err)
	w.p.stats.failedProduce.Inc()
	if errors.Is(err, kerr.NotLeaderForPartition) {
		r.CurrentLeader = w.p.view.Load().hint()
	}
}

// Complete implements purgatory.Op.
func (d *delayedProduce) Complete() { d.done(d.results) }

// Expire implements purgatory.Op. The records stay in the log.
func (d *delayedProduce) Expire() {
	for i := range d.waits {
		if w := &d.waits[i]; !w.over {
			d.fail(w, kerr.RequestTimedOut)
		}
	}
	d.done(d.results)
}

// wakeups collects, over the partitions of one request, what is left to do once no lock is held.
type wakeups struct {
	first effects // most requests have one partition: that needs no memory
	rest  []effects
}

// add takes over what is left of the effects of one partition.
func (w *wakeups) add(e effects) {
	switch {
	case e.p == nil || !e.HWMoved && !e.appended && e.Propose == nil && e.Joined+e.Left == 0:
	case w.first.p == nil:
		w.first = e
	default:
		w.rest = append(w.rest, e)
	}
}

// wake completes waiting requests and hands over proposals. Never under a partition's lock.
func (m *ReplicaManager) wake(w *wakeups) {
	if w.first.p == nil {
		return
	}
	if len(w.rest) == 0 {
		m.wakeOne(w.first)
		return
	}
	m.wakeMany(append(w.rest, w.first))
}

// wakeOne is wake for a single partition.
func (m *ReplicaManager) wakeOne(e effects) {
	if e.p == nil {
		return
	}
	if e.appended {
		m.fetch.Check(fetchKey{e.p.tp, byLogEnd})
	}
	if e.HWMoved {
		m.produce.Check(e.p.tp)
		m.fetch.Check(fetchKey{e.p.tp, byHighWatermark})
		m.deletes.Check(e.p.tp)
	}
	m.submit(e)
}

// wakeMany looks once at what waits under several of the partitions.
func (m *ReplicaManager) wakeMany(list []effects) {
	var hw, appended []metadata.TopicPartition
	for _, e := range list {
		if e.appended {
			appended = append(appended, e.p.tp)
		}
		if e.HWMoved {
			hw = append(hw, e.p.tp)
		}
	}
	m.fetch.Check(fetchKeys(appended, byLogEnd)...)
	m.produce.Check(hw...)
	m.fetch.Check(fetchKeys(hw, byHighWatermark)...)
	m.deletes.Check(hw...)
	for _, e := range list {
		m.submit(e)
	}
}

// submit hands over a proposal and counts committed changes.
func (m *ReplicaManager) submit(e effects) {
	m.metrics.isrChanged(e.Joined, e.Left)
	if e.Propose != nil {
		e.p.propose(e.Propose)
	}
}

// wakeAll looks at everything that waits for the partitions, after their role changed.
func (m *ReplicaManager) wakeAll(tps []metadata.TopicPartition) {
	if len(tps) == 0 {
		return
	}
	m.produce.Check(tps...)
	m.deletes.Check(tps...)
	m.fetch.Check(fetchKeys(tps, byLogEnd)...)
	m.fetch.Check(fetchKeys(tps, byHighWatermark)...)
}
