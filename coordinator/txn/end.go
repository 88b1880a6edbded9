package txn

import (
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// EndTxn decides the transaction of a producer. The reply, a Result, comes when the decision is stored; markers follow.
// Kafka: TransactionCoordinator.handleEndTransaction.
func (s *Shard) EndTxn(now time.Time, t coordinator.Ticket, id string, p Producer, commit bool) coordinator.Effects {
	s.now = now
	x, err := s.owner(id, p)
	switch {
	case err != nil:
		s.reply(t, Result{err})
	case x.pending != nil || x.state.preparing():
		s.reply(t, Result{kerr.ConcurrentTransactions})
	case x.state == Ongoing:
		s.change(&change{x: x, to: x.decided(commit, now.UnixMilli()), ticket: t, committed: Result{}})
	case x.state == CompleteCommit && commit || x.state == CompleteAbort && !commit:
		s.reply(t, Result{}) // asked again: the answer was lost
	default:
		s.reply(t, Result{kerr.InvalidTxnState})
	}
	return s.effects()
}

// sendMarkers asks for the markers of a decided transaction.
func (s *Shard) sendMarkers(x *transaction) {
	if len(x.partitions) == 0 {
		s.complete(x)
		return
	}
	s.markers++
	x.markers, x.unmarked = s.markers, maps.Clone(x.partitions)
	s.out.Outside = append(s.out.Outside, Markers{
		TransactionalID: x.id, ProducerID: x.producerID, ProducerEpoch: x.epoch, Commit: x.state == PrepareCommit,
		CoordinatorEpoch: s.epoch, Partitions: x.sorted(), Seq: x.markers,
	})
}

// MarkersWritten tells that some partitions have their marker or are deleted. With the last one the transaction is complete.
// Nobody waits for an answer. Kafka: TransactionMetadata.removePartition, TransactionMarkerChannelManager.maybeWriteTxnCompletion.
func (s *Shard) MarkersWritten(now time.Time, m Markers, tps []metadata.TopicPartition) coordinator.Effects {
	s.now = now
	x := s.ids[m.TransactionalID]
	if x == nil || !x.state.preparing() || x.markers != m.Seq {
		return s.effects()
	}
	for _, tp := range tps {
		delete(x.unmarked, tp)
	}
	if len(x.unmarked) == 0 {
		s.complete(x)
	}
	return s.effects()
}

// complete writes that the transaction has ended. It is tried until it succeeds, or the leadership ends and the next
// coordinator asks for the markers again.
func (s *Shard) complete(x *transaction) {
	delete(s.unfinished, x)
	if x.pending == nil && x.state.preparing() {
		s.change(&change{x: x, to: x.completed(s.now.UnixMilli())})
	}
}

func (s *Shard) completeLater(x *transaction) {
	x.retry = s.now.Add(s.cfg.CompleteRetry)
	s.unfinished[x] = true
}
