package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// owner finds the id of a request and checks that the producer is its owner.
func (s *Shard) owner(id string, p Producer) (*transaction, error) {
	if id == "" {
		return nil, kerr.InvalidRequest
	}
	x := s.ids[id]
	if x == nil || x.producerID != p.ID {
		return nil, kerr.InvalidProducerIDMapping
	}
	if x.epoch != p.Epoch {
		return nil, kerr.ProducerFenced
	}
	return x, nil
}

// AddPartitions adds partitions to the transaction of a producer, which begins with the first ones. The reply is a Result.
// Kafka: TransactionCoordinator.handleAddPartitionsToTransaction.
func (s *Shard) AddPartitions(
	now time.Time, t coordinator.Ticket, id string, p Producer, tps []metadata.TopicPartition,
) coordinator.Effects {
	s.now = now
	x, err := s.owner(id, p)
	switch {
	case err != nil:
		s.reply(t, Result{err})
	case x.pending != nil || x.state.preparing():
		s.reply(t, Result{kerr.ConcurrentTransactions})
	case x.state == Ongoing && x.contains(tps):
		s.reply(t, Result{})
	default:
		s.change(&change{x: x, to: x.withPartitions(tps, now.UnixMilli()), ticket: t, committed: Result{}})
	}
	return s.effects()
}

// VerifyPartitions tells which partitions are in the transaction of a producer: AddPartitionsToTxn with verifyOnly, by which
// a partition leader makes sure that a transactional batch does not come late (KIP-890). The reply is one error or nil for
// each, []error. Kafka: TransactionCoordinator.handleVerifyPartitionsInTransaction.
func (s *Shard) VerifyPartitions(
	now time.Time, t coordinator.Ticket, id string, p Producer, tps []metadata.TopicPartition,
) coordinator.Effects {
	s.now = now
	errs := make([]error, len(tps))
	x, err := s.owner(id, p)
	if err == nil && x.state.preparing() {
		err = kerr.ConcurrentTransactions
	}
	for i, tp := range tps {
		switch {
		case err != nil:
			errs[i] = err
		case !x.partitions[tp]:
			errs[i] = kerr.TransactionAbortable
		}
	}
	s.reply(t, errs)
	return s.effects()
}
