package txn

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// Description is what DescribeTransactions tells of an id.
type Description struct {
	Err      error
	State    string
	Producer Producer
	Timeout  time.Duration
	// Start of the transaction in ms, -1 before the first.
	Start int64
	// Partitions in order; once the transaction is decided those that wait for their marker.
	Partitions []metadata.TopicPartition
}

// Describe replies with a Description. Kafka: TransactionCoordinator.handleDescribeTransactions.
func (s *Shard) Describe(now time.Time, t coordinator.Ticket, id string) coordinator.Effects {
	s.now = now
	x := s.ids[id]
	switch {
	case id == "":
		s.reply(t, Description{Err: kerr.InvalidRequest})
	case x == nil || x.epoch == noEpoch:
		s.reply(t, Description{Err: kerr.TransactionalIDNotFound})
	default:
		tps := x.partitions
		if x.state.preparing() {
			tps = x.unmarked
		}
		s.reply(t, Description{
			State: x.state.String(), Producer: Producer{x.producerID, x.epoch}, Timeout: x.timeout, Start: x.start,
			Partitions: inOrder(tps),
		})
	}
	return s.effects()
}

// Filter selects ids for ListTransactions. Empty lists select all.
type Filter struct {
	States      []State
	ProducerIDs []int64
	// OpenFor selects transactions that began longer ago; negative selects all.
	OpenFor time.Duration
}

// Listing is an id in ListTransactions.
type Listing struct {
	ID         string
	ProducerID int64
	State      string
}

// List replies with the ids that the filter selects, []Listing in order.
// Kafka: TransactionStateManager.listTransactionStates.
func (s *Shard) List(now time.Time, t coordinator.Ticket, f Filter) coordinator.Effects {
	s.now = now
	out := []Listing{}
	for _, x := range s.matching(func(x *transaction) bool { return x.epoch != noEpoch && f.selects(x, now) }) {
		out = append(out, Listing{ID: x.id, ProducerID: x.producerID, State: x.state.String()})
	}
	s.reply(t, out)
	return s.effects()
}

func (f *Filter) selects(x *transaction, now time.Time) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, x.state)) &&
		(len(f.ProducerIDs) == 0 || slices.Contains(f.ProducerIDs, x.producerID)) &&
		(f.OpenFor < 0 || now.UnixMilli()-x.start > f.OpenFor.Milliseconds())
}
