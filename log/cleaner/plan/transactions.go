package plan

import (
	"cmp"
	"slices"

	"jackdaw/protocol/record"
)

// Aborted is an aborted transaction as the index of its segment has it.
type Aborted struct {
	ProducerID, FirstOffset, LastOffset, LastStableOffset int64
}

// Transactions follows the transactions while batches go by in offset order. Kafka: CleanedTransactionMetadata.
type Transactions struct {
	// pending are the aborted ones that have not begun, by rising first offset.
	pending []Aborted
	// open maps a producer to the aborted transaction it is in, and whether a batch of it was seen.
	open map[int64]*openAborted
	// committed holds the producers of which a batch was seen that will be committed.
	committed map[int64]bool
}

type openAborted struct {
	Aborted
	seen bool
}

// NewTransactions returns the state before the first batch.
func NewTransactions() *Transactions {
	return &Transactions{open: map[int64]*openAborted{}, committed: map[int64]bool{}}
}

// Add announces aborted transactions of the segments that come next.
func (t *Transactions) Add(list ...Aborted) {
	t.pending = append(t.pending, list...)
	slices.SortStableFunc(t.pending, func(a, b Aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

// begin opens the aborted transactions that start at or below offset.
func (t *Transactions) begin(offset int64) {
	for len(t.pending) > 0 && t.pending[0].FirstOffset <= offset {
		a := t.pending[0]
		t.pending = t.pending[1:]
		if t.open[a.ProducerID] == nil {
			t.open[a.ProducerID] = &openAborted{Aborted: a}
		}
	}
}

// Data takes a data batch and tells whether it belongs to an aborted transaction.
func (t *Transactions) Data(b record.Batch) (aborted bool) {
	t.begin(b.LastOffset())
	if !b.IsTransactional() {
		return false
	}
	if a := t.open[b.ProducerID()]; a != nil {
		a.seen = true
		return true
	}
	t.committed[b.ProducerID()] = true
	return false
}

// Marker takes a control batch and tells whether it may go: nothing of its transaction was seen. When it must stay and is an
// abort, its transaction is returned, to be noted in the index of the new segment.
func (t *Transactions) Marker(b record.Batch) (discard bool, keep *Aborted) {
	t.begin(b.LastOffset())
	if b.Count() == 0 {
		return true, nil // emptied by an earlier pass
	}
	kind, _, ok := record.ParseMarker(b)
	if !ok {
		return false, nil
	}
	id := b.ProducerID()
	if kind == record.Commit {
		seen := t.committed[id]
		delete(t.committed, id)
		return !seen, nil
	}
	a := t.open[id]
	delete(t.open, id)
	if a != nil && a.seen {
		return false, &a.Aborted
	}
	return true, nil
}
