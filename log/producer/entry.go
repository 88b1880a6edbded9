package producer

import (
	"math"

	"jackdaw/protocol/record"
)

const (
	// keptBatches is how many batches of a producer are remembered for duplicates: the most that an idempotent producer
	// may have in flight. Kafka: ProducerStateEntry.NUM_BATCHES_TO_RETAIN.
	keptBatches = 5

	noEpoch            = int16(-1)
	noSequence         = int32(-1)
	noCoordinatorEpoch = int32(-1)
	// NoOffset stands for "no transaction".
	NoOffset = int64(-1)
)

// Batch is what is remembered of an appended batch. Kafka: BatchMetadata.
type Batch struct {
	LastSequence int32
	LastOffset   int64
	// OffsetDelta is the last offset less the first.
	OffsetDelta int32
	// Timestamp is the batch's largest, in Unix ms.
	Timestamp int64
}

// FirstOffset is the offset of the first record.
func (b Batch) FirstOffset() int64 { return b.LastOffset - int64(b.OffsetDelta) }

// FirstSequence is the sequence of the first record, counted back through the wrap from 2^31-1 to 0.
func (b Batch) FirstSequence() int32 {
	if b.OffsetDelta > b.LastSequence {
		return math.MaxInt32 - (b.OffsetDelta - b.LastSequence) + 1
	}
	return b.LastSequence - b.OffsetDelta
}

// Entry is the state of one producer. Kafka: ProducerStateEntry.
type Entry struct {
	ID    int64
	Epoch int16
	// CoordinatorEpoch is that of the last marker, -1 before one.
	CoordinatorEpoch int32
	// LastTimestamp is that of the last batch or marker, in Unix ms; idle producers expire by it.
	LastTimestamp int64
	// TxnFirstOffset is the first offset of the open transaction, NoOffset without one.
	TxnFirstOffset int64
	// batches is a ring: n of them, the oldest at head.
	batches [keptBatches]Batch
	head, n int
}

// newEntry returns the state of a producer of which nothing is known.
func newEntry(id int64) *Entry {
	return &Entry{
		ID: id, Epoch: noEpoch, CoordinatorEpoch: noCoordinatorEpoch, LastTimestamp: record.NoTimestamp,
		TxnFirstOffset: NoOffset,
	}
}

// Last returns the last batch; ok is false when there is none in this epoch.
func (e *Entry) Last() (b Batch, ok bool) {
	if e.n == 0 {
		return Batch{LastSequence: noSequence, LastOffset: -1, Timestamp: record.NoTimestamp}, false
	}
	return e.batches[(e.head+e.n-1)%keptBatches], true
}

// First returns the oldest remembered batch.
func (e *Entry) First() (b Batch, ok bool) {
	if e.n == 0 {
		return Batch{LastSequence: noSequence, LastOffset: -1, Timestamp: record.NoTimestamp}, false
	}
	return e.batches[e.head], true
}

// setEpoch takes a new epoch; the batches of another epoch are forgotten.
func (e *Entry) setEpoch(epoch int16) {
	if e.Epoch != epoch {
		e.n, e.head = 0, 0
		e.Epoch = epoch
	}
}

// add remembers a batch.
func (e *Entry) add(epoch int16, b Batch) {
	e.setEpoch(epoch)
	if e.n == keptBatches {
		e.batches[e.head] = b
		e.head = (e.head + 1) % keptBatches
	} else {
		e.batches[(e.head+e.n)%keptBatches] = b
		e.n++
	}
	e.LastTimestamp = b.Timestamp
}

// duplicate looks for an exact copy of a batch. Kafka: ProducerStateEntry.findDuplicateBatch.
func (e *Entry) duplicate(b record.Batch) (Batch, bool) {
	if b.ProducerEpoch() != e.Epoch {
		return Batch{}, false
	}
	for i := range e.n {
		c := e.batches[(e.head+i)%keptBatches]
		if c.FirstSequence() == b.BaseSequence() && c.LastSequence == b.LastSequence() {
			return c, true
		}
	}
	return Batch{}, false
}
