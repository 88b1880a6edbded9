package sim

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

const (
	// fetchWait is replica.fetch.wait.max.ms, and fetchTimeout how long a follower waits for an answer.
	fetchWait    = 150 * time.Millisecond
	fetchTimeout = 600 * time.Millisecond
	// fetchBytes is how much a follower asks for: not much, so that it is seen with all sorts of log ends.
	fetchBytes = 400
)

// fetchRequest asks a leader for one partition.
type fetchRequest struct {
	tp          metadata.TopicPartition
	id          metadata.TopicID
	replica     metadata.BrokerID
	brokerEpoch int64
	offset      int64
	current     metadata.LeaderEpoch
	lastFetched metadata.LeaderEpoch
	logStart    int64
}

// fetchResponse is what the leader says.
type fetchResponse struct {
	err       error
	hw, start int64
	records   []byte
	diverging *isr.EpochEnd
}

// parkedFetch waits at the leader for records.
type parkedFetch struct {
	req    fetchRequest
	answer func(any)
	timer  *event
}

// serveFetch is ReplicaManager.Fetch for one partition of a follower.
func (p *process) serveFetch(req fetchRequest, answer func(any)) {
	t := p.parts[req.tp]
	if t == nil {
		answer(fetchResponse{err: kerr.NotLeaderForPartition})
		return
	}
	resp := t.read(req, true)
	if resp.err != nil || resp.diverging != nil || len(resp.records) > 0 {
		answer(resp)
		return
	}
	f := &parkedFetch{req: req, answer: answer}
	f.timer = p.w.after(p, fetchWait, func() { t.unpark(f) })
	t.parked = append(t.parked, f)
}

// unpark answers one fetch whatever there is.
func (t *partition) unpark(f *parkedFetch) {
	for i, o := range t.parked {
		if o == f {
			t.parked = append(t.parked[:i:i], t.parked[i+1:]...)
			break
		}
	}
	f.timer.cancel()
	f.answer(t.read(f.req, false))
}

// wakeFetches answers the fetches that have something to hear.
func (t *partition) wakeFetches() {
	parked := t.parked
	t.parked = nil
	for _, f := range parked {
		resp := t.read(f.req, false)
		if resp.err == nil && resp.diverging == nil && len(resp.records) == 0 {
			t.parked = append(t.parked, f)
			continue
		}
		f.timer.cancel()
		f.answer(resp)
	}
}

// read is Partition.read for a follower. With update, its position is recorded.
func (t *partition) read(req fetchRequest, update bool) fetchResponse {
	fail := func(err error) fetchResponse { return fetchResponse{err: err, hw: -1, start: -1} }
	if t.log != nil && req.id != t.id {
		return fail(kerr.InconsistentTopicID)
	}
	if err := t.check(req.current); err != nil {
		return fail(err)
	}
	if req.lastFetched != metadata.NoEpoch {
		end, ok := t.log.EndOffsetForEpoch(req.lastFetched)
		if !ok || req.offset < t.log.StartOffset() {
			return fail(kerr.OffsetOutOfRange)
		}
		if isr.Diverged(isr.EpochEnd(end), req.lastFetched, req.offset) {
			e := isr.EpochEnd(end)
			return fetchResponse{hw: t.log.HighWatermark(), start: t.log.StartOffset(), diverging: &e}
		}
	}
	if req.offset < t.log.StartOffset() || req.offset > t.log.EndOffset() {
		return fail(kerr.OffsetOutOfRange)
	}
	if update {
		t.prepare()
		e, verdict := t.core.FollowerFetched(isr.Fetch{
			Replica: req.replica, Offset: req.offset, LogStart: req.logStart, BrokerEpoch: req.brokerEpoch, Alive: t.p.image.IsAlive(req.replica),
		}, t.p.now())
		if verdict != isr.Counted {
			return fail(kerr.NotLeaderForPartition)
		}
		t.settle(e, false)
	}
	records, err := t.p.readLog(t.log, req.offset, t.log.EndOffset())
	if err != nil {
		return fail(err)
	}
	return fetchResponse{hw: t.log.HighWatermark(), start: t.log.StartOffset(), records: records}
}

// readLog reads whole batches up to an offset.
func (p *process) readLog(l *log.Log, offset, upTo int64) ([]byte, error) {
	r, err := l.Read(offset, fetchBytes, upTo, true)
	if err != nil {
		if !errors.Is(err, kerr.OffsetOutOfRange) {
			p.w.violate("broker %d: read of %s: %v", p.id, l.TP(), err)
		}
		return nil, err
	}
	defer r.Release()
	b, err := r.ReadAll(nil)
	if err != nil {
		p.w.violate("broker %d: read of %s: %v", p.id, l.TP(), err)
	}
	return b, err
}
