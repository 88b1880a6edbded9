package producer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/protocol/record"
)

// Guard names one verification of a producer's transaction; 0 is none. Kafka: VerificationGuard.
type Guard uint64

// verification is a producer about whose transaction the coordinator is asked before its first batch is taken (KIP-890). It
// ends with the first batch or marker of the producer that is appended. Kafka: VerificationStateEntry.
type verification struct {
	guard Guard
	epoch int16
	// lowest is the least sequence that asked: a later batch must not overtake it.
	lowest int32
	// since is in Unix ms.
	since     int64
	confirmed bool
}

// BeginVerification prepares for the first batch of a producer's transaction. needed is false when the transaction has
// batches here already. Else the coordinator is to be asked, and its consent told with ConfirmVerification.
//
// The guard is what makes a late consent harmless:
//
//	BeginVerification -> 1;  the coordinator consents;  the transaction times out, its abort marker is appended;
//	the next transaction, of which this partition is no part, begins;  ConfirmVerification(1) finds no 1 any more.
//
// Kafka: UnifiedLog.maybeStartTransactionVerification.
func (s *State) BeginVerification(id int64, epoch int16, sequence int32, nowMs int64) (g Guard, needed bool) {
	if s.ongoing(id, epoch) {
		return 0, false
	}
	v := s.verifying[id]
	switch {
	case v == nil || epoch > v.epoch:
		s.guards++
		v = &verification{guard: s.guards, epoch: epoch, lowest: sequence, since: nowMs}
		if s.verifying == nil {
			s.verifying = map[int64]*verification{}
		}
		s.verifying[id] = v
	case epoch == v.epoch:
		v.lowest = min(v.lowest, sequence)
	}
	return v.guard, true
}

// ConfirmVerification tells that the coordinator knows the producer's transaction, and this partition as part of it.
func (s *State) ConfirmVerification(id int64, g Guard) {
	if v := s.verifying[id]; v != nil && v.guard == g {
		v.confirmed = true
	}
}

// ongoing reports whether the producer has a transaction with batches here. Kafka: UnifiedLog.hasOngoingTransaction.
func (s *State) ongoing(id int64, epoch int16) bool {
	e := s.entries[id]
	return e != nil && e.TxnFirstOffset != NoOffset && e.Epoch == epoch
}

// checkVerified refuses a transactional batch that neither continues a transaction nor was verified, and one that overtakes
// another which waits for its verification. Kafka: UnifiedLog.batchMissingRequiredVerification, ProducerAppendInfo.checkSequence.
func (s *State) checkVerified(b record.Batch, c Checks) error {
	id := b.ProducerID()
	v := s.verifying[id]
	if !s.ongoing(id, b.ProducerEpoch()) && (v == nil || !v.confirmed || v.epoch != b.ProducerEpoch()) {
		return fmt.Errorf("producer %d: record was not part of an ongoing transaction: %w", id, kerr.InvalidTxnState)
	}
	if v != nil && c.Sequences && b.BaseSequence() > v.lowest {
		return fmt.Errorf("producer %d: sequence %d while %d waits to be verified: %w",
			id, b.BaseSequence(), v.lowest, kerr.OutOfOrderSequenceNumber)
	}
	return nil
}

// verified ends the verification of a producer of whom a batch or marker was appended.
func (s *State) verified(id int64) {
	if len(s.verifying) > 0 {
		delete(s.verifying, id)
	}
}

// Verifications are those that are under way in a State.
type Verifications struct {
	list   map[int64]*verification
	guards Guard
}

// HandOver gives the verifications away, to Adopt of the state of a log that takes the place of this one's.
func (s *State) HandOver() Verifications {
	v := Verifications{s.verifying, s.guards}
	s.verifying = nil
	return v
}

// Adopt goes on with the verifications of another State. Nothing may have been verified here before.
func (s *State) Adopt(v Verifications) { s.verifying, s.guards = v.list, v.guards }

// expireVerifications forgets those whose producer never came back.
func (s *State) expireVerifications(nowMs int64) {
	for id, v := range s.verifying {
		if nowMs-v.since >= s.expiration.Milliseconds() {
			delete(s.verifying, id)
		}
	}
}
