package producer

import (
	"cmp"
	"slices"
	"time"

	"jackdaw/protocol/record"
)

// openTxn is a transaction without marker.
type openTxn struct{ first, producer int64 }

// doneTxn is a transaction whose marker may still be above the high watermark.
type doneTxn struct{ first, last int64 }

// CompletedTxn is a transaction that its marker has just ended. Kafka: CompletedTxn.
type CompletedTxn struct {
	ProducerID  int64
	FirstOffset int64
	// LastOffset is that of the marker.
	LastOffset int64
	Aborted    bool
}

// State is what a partition knows about its producers. Kafka: ProducerStateManager.
type State struct {
	expiration time.Duration
	entries    map[int64]*Entry
	// open and done rise by first offset.
	open []openTxn
	done []doneTxn
	// verifying are producers about which the coordinator is asked, guards is the last guard given out.
	verifying map[int64]*verification
	guards    Guard
	// mapEnd is the offset up to which batches were seen, snapEnd that of the last snapshot.
	mapEnd, snapEnd int64
}

// NewState returns an empty state at offset 0. Producers idle for longer than expiration are dropped by Expire.
func NewState(expiration time.Duration) *State {
	return &State{expiration: expiration, entries: map[int64]*Entry{}}
}

// Entry returns the state of a producer, nil when it is unknown. It is owned by the State.
func (s *State) Entry(id int64) *Entry { return s.entries[id] }

// Len is the number of known producers.
func (s *State) Len() int { return len(s.entries) }

// Entries returns all entries by rising producer id.
func (s *State) Entries() []*Entry {
	out := make([]*Entry, 0, len(s.entries))
	for _, e := range s.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// MapEnd is the offset up to which the state is complete.
func (s *State) MapEnd() int64 { return s.mapEnd }

// SetMapEnd tells that all batches below offset were applied.
func (s *State) SetMapEnd(offset int64) { s.mapEnd = offset }

// Apply takes a batch that was written at its offsets, and which Check, if it must be checked, has let through. It skips
// batches without producer id. ok tells that the batch was a marker that ended a transaction: the caller notes an aborted
// one in the index with LSOAfter, then calls Complete. An existing producer costs no allocation.
// Kafka: ProducerAppendInfo.append, ProducerStateManager.update.
func (s *State) Apply(b record.Batch) (done CompletedTxn, ok bool) {
	if !b.HasProducerID() {
		return CompletedTxn{}, false
	}
	e := s.entries[b.ProducerID()]
	if b.IsTransactional() {
		s.verified(b.ProducerID())
	}
	if b.IsControl() {
		return s.applyMarker(e, b)
	}
	if e == nil {
		e = s.put(newEntry(b.ProducerID()))
	}
	e.add(b.ProducerEpoch(), Batch{
		LastSequence: b.LastSequence(), LastOffset: b.LastOffset(),
		OffsetDelta: b.LastOffsetDelta(), Timestamp: b.MaxTimestamp(),
	})
	if b.IsTransactional() && e.TxnFirstOffset == NoOffset {
		e.TxnFirstOffset = b.BaseOffset()
		s.insertOpen(openTxn{e.TxnFirstOffset, e.ID})
	}
	return CompletedTxn{}, false
}

// applyMarker takes a control batch. One that compaction has emptied changes nothing.
func (s *State) applyMarker(e *Entry, b record.Batch) (done CompletedTxn, ok bool) {
	if b.Count() == 0 {
		return CompletedTxn{}, false
	}
	kind, coordinatorEpoch, isMarker := record.ParseMarker(b)
	if !isMarker {
		return CompletedTxn{}, false
	}
	if e == nil {
		e = s.put(newEntry(b.ProducerID()))
	}
	if e.TxnFirstOffset != NoOffset {
		done = CompletedTxn{
			ProducerID: e.ID, FirstOffset: e.TxnFirstOffset, LastOffset: b.LastOffset(), Aborted: kind == record.Abort,
		}
		ok = true
	}
	e.setEpoch(b.ProducerEpoch())
	e.CoordinatorEpoch = coordinatorEpoch
	e.LastTimestamp = b.MaxTimestamp()
	e.TxnFirstOffset = NoOffset
	return done, ok
}

func (s *State) put(e *Entry) *Entry {
	s.entries[e.ID] = e
	return e
}

// insertOpen keeps open sorted; transactions nearly always come in order.
func (s *State) insertOpen(t openTxn) {
	i := len(s.open)
	for i > 0 && s.open[i-1].first > t.first {
		i--
	}
	s.open = slices.Insert(s.open, i, t)
}

// LSOAfter returns the last stable offset once the transaction is complete: the start of the oldest other open one, or
// the offset after the marker. Kafka: ProducerStateManager.lastStableOffset.
func (s *State) LSOAfter(done CompletedTxn) int64 {
	for _, t := range s.open {
		if t.producer != done.ProducerID {
			return t.first
		}
	}
	return done.LastOffset + 1
}

// Complete takes a transaction out of the open ones. It holds the last stable offset back until its marker is below the
// high watermark. Kafka: ProducerStateManager.completeTxn.
func (s *State) Complete(done CompletedTxn) {
	s.open = slices.DeleteFunc(s.open, func(t openTxn) bool { return t.first == done.FirstOffset && t.producer == done.ProducerID })
	i := len(s.done)
	for i > 0 && s.done[i-1].first > done.FirstOffset {
		i--
	}
	s.done = slices.Insert(s.done, i, doneTxn{done.FirstOffset, done.LastOffset})
}

// HighWatermarkMoved releases the completed transactions whose marker is below hw.
// Kafka: ProducerStateManager.onHighWatermarkUpdated.
func (s *State) HighWatermarkMoved(hw int64) {
	if len(s.done) > 0 {
		s.done = slices.DeleteFunc(s.done, func(t doneTxn) bool { return t.last < hw })
	}
}

// FirstUnstable returns the first offset whose fate is not decided and replicated; ok is false when there is none.
// Kafka: ProducerStateManager.firstUnstableOffset.
func (s *State) FirstUnstable() (offset int64, ok bool) {
	switch {
	case len(s.open) > 0 && len(s.done) > 0:
		return min(s.open[0].first, s.done[0].first), true
	case len(s.open) > 0:
		return s.open[0].first, true
	case len(s.done) > 0:
		return s.done[0].first, true
	}
	return NoOffset, false
}

// Expire drops producers that were idle for too long and have no open transaction, and returns how many.
// Kafka: ProducerStateManager.removeExpiredProducers.
func (s *State) Expire(nowMs int64) int {
	s.expireVerifications(nowMs)
	n := 0
	for id, e := range s.entries {
		if s.expired(e, nowMs) {
			delete(s.entries, id)
			n++
		}
	}
	return n
}

func (s *State) expired(e *Entry, nowMs int64) bool {
	return e.TxnFirstOffset == NoOffset && nowMs-e.LastTimestamp >= s.expiration.Milliseconds()
}

// SetExpiration changes the life of idle producers, producer.id.expiration.ms.
func (s *State) SetExpiration(d time.Duration) { s.expiration = d }

// StartMoved tells the new start of the log. Producers stay known (KIP-360). Kafka: onLogStartOffsetIncremented.
func (s *State) StartMoved(start int64) {
	s.HighWatermarkMoved(start)
	s.mapEnd = max(s.mapEnd, start)
}

// Reset forgets everything; the log goes on at offset.
func (s *State) Reset(offset int64) {
	clear(s.entries)
	clear(s.verifying)
	s.open, s.done = nil, nil
	s.mapEnd, s.snapEnd = offset, offset
}
