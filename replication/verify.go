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
	err = m.onLeader(b.TP, func(l *log.Log) { g, needed = l.BeginVerification(b.ProducerID, b.ProducerEpoch, b.Sequence) })
	return g, needed, err
}

// ConfirmVerification tells the log that the transaction coordinator knows the transaction. A leadership lost meanwhile is
// found by the append.
func (m *ReplicaManager) ConfirmVerification(b TxnBatch, g log.VerificationGuard) {
	_ = m.onLeader(b.TP, func(l *log.Log) { l.ConfirmVerification(b.ProducerID, g) })
}

// onLeader calls f with the log of a partition that is led here, which is not replaced meanwhile.
func (m *ReplicaManager) onLeader(tp metadata.TopicPartition, f func(l *log.Log)) error {
	p, err := m.Partition(tp)
	if err != nil {
		return err
	}
	p.tenure.RLock()
	defer p.tenure.RUnlock()
	v, err := p.check(metadata.NoEpoch, true)
	if err == nil {
		f(v.log)
	}
	return err
}
