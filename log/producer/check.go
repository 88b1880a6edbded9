package producer

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/protocol/record"
)

// Checks says what is asked of a batch. Replicated batches are not checked at all.
type Checks struct {
	// Sequences is for batches of clients: duplicates and order. Without it only epochs count.
	Sequences bool
	// Verified takes a transactional batch only in a transaction that has batches already, or was verified (KIP-890).
	Verified bool
}

// Check decides about a batch before it is appended. dup is set when it is an exact copy of one of the producer's last
// five. Errors: InvalidProducerEpoch, OutOfOrderSequenceNumber, InvalidTxnState, TransactionCoordinatorFenced.
// Kafka: ProducerAppendInfo, UnifiedLog.analyzeAndValidateProducerState.
func (s *State) Check(b record.Batch, c Checks) (original Batch, dup bool, err error) {
	if !b.HasProducerID() {
		return Batch{}, false, nil
	}
	e := s.entries[b.ProducerID()]
	if e != nil && c.Sequences {
		if original, dup = e.duplicate(b); dup {
			return original, true, nil
		}
	}
	if c.Verified && b.IsTransactional() && !b.IsControl() {
		if err := s.checkVerified(b, c); err != nil {
			return Batch{}, false, err
		}
	}
	if e == nil {
		return Batch{}, false, nil // nothing is known: any epoch and sequence is taken (KIP-360)
	}
	if err := e.checkEpoch(b); err != nil {
		return Batch{}, false, err
	}
	if b.IsControl() {
		return Batch{}, false, e.checkCoordinator(b)
	}
	if c.Sequences {
		if err := e.checkSequence(b); err != nil {
			return Batch{}, false, err
		}
	}
	if e.TxnFirstOffset != NoOffset && !b.IsTransactional() {
		return Batch{}, false, fmt.Errorf("producer %d: plain batch while a transaction is open since offset %d: %w",
			e.ID, e.TxnFirstOffset, kerr.InvalidTxnState)
	}
	return Batch{}, false, nil
}

func (e *Entry) checkEpoch(b record.Batch) error {
	if b.ProducerEpoch() < e.Epoch {
		return fmt.Errorf("producer %d: epoch %d after %d: %w", e.ID, b.ProducerEpoch(), e.Epoch, kerr.InvalidProducerEpoch)
	}
	return nil
}

// checkCoordinator refuses markers of a coordinator that has been replaced.
func (e *Entry) checkCoordinator(b record.Batch) error {
	_, epoch, ok := record.ParseMarker(b)
	if ok && epoch < e.CoordinatorEpoch {
		return fmt.Errorf("producer %d: marker of coordinator epoch %d after %d: %w",
			e.ID, epoch, e.CoordinatorEpoch, kerr.TransactionCoordinatorFenced)
	}
	return nil
}

// checkSequence: a new epoch starts at 0, the same one goes on where it was.
func (e *Entry) checkSequence(b record.Batch) error {
	first := b.BaseSequence()
	if e.Epoch == noEpoch {
		return nil
	}
	if b.ProducerEpoch() != e.Epoch {
		if first != 0 {
			return fmt.Errorf("producer %d: sequence %d at the start of epoch %d: %w",
				e.ID, first, b.ProducerEpoch(), kerr.OutOfOrderSequenceNumber)
		}
		return nil
	}
	last, _ := e.Last()
	if !follows(last.LastSequence, first) {
		return fmt.Errorf("producer %d epoch %d: sequence %d after %d: %w",
			e.ID, e.Epoch, first, last.LastSequence, kerr.OutOfOrderSequenceNumber)
	}
	return nil
}

// follows tells whether next comes right after last; after 2^31-1 comes 0.
func follows(last, next int32) bool {
	return int64(next) == int64(last)+1 || (next == 0 && last == math.MaxInt32)
}
