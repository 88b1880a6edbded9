package replication

import (
	"jackdaw/log"
	"jackdaw/metadata"
)

// TxnBatch is the first batch of a producer's transaction in a partition, or what may be one.
type TxnBatch struct {
	TP            metadata.TopicPartition
	ProducerID    int64
	ProducerEpoch int16
	// Sequence is that of the first record, -1 without.
	Sequence int32
}

// BeginVerification prepares the leader's log for a transactional batch: see log.Log. Errors are those of Append for a
// partition that is not led here. Kafka: ReplicaManager.maybeStartTransactionVerificationForPartition.
func (m *ReplicaManager) BeginVerification(b TxnBatch) (g log.VerificationGuard, needed bool, err error) {
	v, err := m.ledHere(b.TP)
	if err != nil {
		return 0, false, err
	}
	g, needed = v.log.BeginVerification(b.ProducerID, b.ProducerEpoch, b.Sequence)
	return g, needed, nil
}

// ConfirmVerification tells the log that the transaction coordinator knows the transaction. A leadership lost meanwhile is
// found by the append.
func (m *ReplicaManager) ConfirmVerification(b TxnBatch, g log.VerificationGuard) {
	if v, err := m.ledHere(b.TP); err == nil {
		v.log.ConfirmVerification(b.ProducerID, g)
	}
}

func (m *ReplicaManager) ledHere(tp metadata.TopicPartition) (*view, error) {
	p, err := m.Partition(tp)
	if err != nil {
		return nil, err
	}
	return p.check(metadata.NoEpoch, true)
}
