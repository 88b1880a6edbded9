package txn

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// Producer is a producer id with an epoch, as a client presents it.
type Producer struct {
	ID    int64
	Epoch int16
}

// InitRequest is an InitProducerId with a transactional id.
type InitRequest struct {
	ID      string
	Timeout time.Duration
	// Expected is what the client has, nil when it begins (KIP-360).
	Expected *Producer
	// FreshID is a producer id that nobody has had, or -1. If one turns out to be needed the reply says so, and the request
	// is to be made again with it.
	FreshID int64
}

// InitResult is the answer to an InitProducerId.
type InitResult struct {
	Err        error
	ProducerID int64
	Epoch      int16
	// NeedsID asks for a FreshID.
	NeedsID bool
}

// InitProducerID hands out producer id and epoch, and fences whoever had the transactional id before. The reply is an
// InitResult. Kafka: TransactionCoordinator.handleInitProducerId.
func (s *Shard) InitProducerID(now time.Time, t coordinator.Ticket, r InitRequest) coordinator.Effects {
	s.now = now
	if err := s.init(t, &r); err != nil {
		s.reply(t, InitResult{Err: err, ProducerID: noProducerID, Epoch: noEpoch})
	}
	return s.effects()
}

func (s *Shard) init(t coordinator.Ticket, r *InitRequest) error {
	if r.ID == "" {
		return kerr.InvalidRequest
	}
	if err := s.cfg.CheckTimeout(r.Timeout); err != nil {
		return err
	}
	x := s.ids[r.ID]
	switch {
	case x == nil && r.FreshID == noProducerID:
		s.reply(t, InitResult{NeedsID: true})
		return nil
	case x == nil:
		x = &transaction{id: r.ID, values: values{
			producerID: r.FreshID, epoch: noEpoch, lastProducerID: noProducerID, lastEpoch: noEpoch, start: noTimestamp,
		}}
		s.ids[r.ID] = x
	case x.pending != nil:
		return kerr.ConcurrentTransactions
	}
	if r.Expected != nil && !x.knows(*r.Expected) {
		return kerr.ProducerFenced
	}
	switch {
	case x.state.preparing():
		return kerr.ConcurrentTransactions
	case x.state == Ongoing && r.Expected != nil && r.Expected.Epoch != x.epoch && r.Expected.Epoch != x.lastEpoch:
		// Differs from Kafka: which lets a producer that is fenced already abort the transaction of its successor.
		return kerr.ProducerFenced
	case x.state == Ongoing:
		// Abort first. The client comes again, and gets an epoch above the one that fences now.
		s.change(&change{
			x: x, to: x.fenced(s.now.UnixMilli()), ticket: t, init: true,
			committed: InitResult{Err: kerr.ConcurrentTransactions, ProducerID: noProducerID, Epoch: noEpoch},
		})
		return nil
	default:
		return s.bump(t, x, r)
	}
}

// knows reports whether a producer that presents p may go on: it is the current one (its epoch is looked at later), or the
// id is fresh, or it asks again for the rotation to a new id whose answer it has lost.
func (x *transaction) knows(p Producer) bool {
	return x.epoch == noEpoch || p.ID == x.producerID || p.ID == x.lastProducerID && exhausted(p.Epoch)
}

// bump gives the next epoch, or the first one of a fresh producer id when the epochs are used up.
// Kafka: prepareIncrementProducerEpoch, prepareProducerIdRotation.
func (s *Shard) bump(t coordinator.Ticket, x *transaction, r *InitRequest) error {
	to := x.values
	to.state, to.timeout, to.partitions = Empty, r.Timeout, nil
	to.start, to.updated = noTimestamp, s.now.UnixMilli()
	to.lastProducerID, to.lastEpoch = x.producerID, noEpoch
	switch current := r.Expected == nil || r.Expected.Epoch == x.epoch || x.epoch == noEpoch; {
	case current && exhausted(x.epoch):
		if r.FreshID == noProducerID {
			s.reply(t, InitResult{NeedsID: true})
			return nil
		}
		to.producerID, to.epoch = r.FreshID, 0
		if r.Expected != nil {
			to.lastEpoch = x.epoch
		}
	case current:
		to.epoch++
		if r.Expected != nil {
			to.lastEpoch = x.epoch
		}
	case r.Expected.Epoch == x.lastEpoch:
		// Asked again: the answer was lost. No other producer has come since, or there would be no last epoch.
		to.lastProducerID, to.lastEpoch = x.lastProducerID, x.lastEpoch
	default:
		return kerr.ProducerFenced
	}
	s.change(&change{
		x: x, to: to, ticket: t, init: true, committed: InitResult{ProducerID: to.producerID, Epoch: to.epoch},
	})
	return nil
}
