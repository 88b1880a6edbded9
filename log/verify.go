package log

import "jackdaw/log/producer"

// VerificationGuard names one verification of a producer's transaction; 0 is none.
type VerificationGuard = producer.Guard

// BeginVerification prepares for the first batch of a producer's transaction (KIP-890). needed is false when the transaction
// has batches here already. Else the transaction coordinator is to be asked, and its consent told with ConfirmVerification
// before the batch is appended with AppendOptions.VerifiedOnly. sequence is -1 for batches without.
// Kafka: UnifiedLog.maybeStartTransactionVerification.
func (l *Log) BeginVerification(producerID int64, epoch int16, sequence int32) (g VerificationGuard, needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.producers.BeginVerification(producerID, epoch, sequence, l.env.nowMs())
}

// ConfirmVerification tells that the coordinator consents. It has no effect if a marker of the producer came in between.
func (l *Log) ConfirmVerification(producerID int64, g VerificationGuard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.producers.ConfirmVerification(producerID, g)
}
