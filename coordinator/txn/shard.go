package txn

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// Shard is the transactional ids of one partition of __transaction_state. It implements coordinator.Shard.
type Shard struct {
	cfg Config
	// epoch is the leader epoch in which this broker coordinates; markers carry it.
	epoch metadata.LeaderEpoch
	ids   map[string]*transaction
	// unfinished are the ids whose completing record waits to be tried again.
	unfinished map[*transaction]bool
	// abort and expire are when timed-out transactions and expired ids are looked for next; zero before the load has ended.
	abort, expire time.Time
	// markers counts the Markers that were asked for.
	markers uint64

	// now and out are of the operation that runs.
	now time.Time
	out coordinator.Effects
}

// NewShard returns a shard without ids. epoch is the leader epoch of the partition.
func NewShard(cfg Config, epoch metadata.LeaderEpoch) *Shard {
	return &Shard{cfg: cfg, epoch: epoch, ids: map[string]*transaction{}, unfinished: map[*transaction]bool{}}
}

// Result is a reply that is only an error, or nil.
type Result struct{ Err error }

// Markers are to be written to all partitions of a transaction that has been decided, as Effects.Outside. MarkersWritten
// is to be called for those that have theirs, or are deleted. They may be asked for again after a fail-over.
type Markers struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	// CoordinatorEpoch fences the markers of a former coordinator.
	CoordinatorEpoch metadata.LeaderEpoch
	// Partitions in order.
	Partitions []metadata.TopicPartition
	// Seq tells transactions of one producer apart, which may have the same epoch.
	Seq uint64
}

// Appended implements coordinator.Shard.
func (s *Shard) Appended(time.Time, any, int64) {}

// Rejected implements coordinator.Shard: the id is as it was.
func (s *Shard) Rejected(now time.Time, tag any, err error) coordinator.Effects {
	s.now = now
	c := tag.(*change)
	c.x.pending = nil
	if c.to.state == CompleteCommit || c.to.state == CompleteAbort {
		s.completeLater(c.x)
	}
	s.answer(c, c.failed(err))
	s.forgetUnborn(c.x)
	return s.effects()
}

// Late implements coordinator.Shard: the id stays pending, since the log has the record.
func (s *Shard) Late(now time.Time, tag any, err error) coordinator.Effects {
	s.now = now
	c := tag.(*change)
	s.answer(c, c.failed(err))
	return s.effects()
}

// Committed implements coordinator.Shard: the id changes.
func (s *Shard) Committed(now time.Time, tag any) coordinator.Effects {
	s.now = now
	c := tag.(*change)
	x := c.x
	x.pending = nil
	if c.dead {
		delete(s.ids, x.id)
		return s.effects()
	}
	x.values = c.to
	s.answer(c, c.committed)
	if x.state.preparing() {
		s.sendMarkers(x)
	}
	return s.effects()
}

// change writes a new version of an id.
func (s *Shard) change(c *change) {
	c.x.pending = c
	s.out.Writes = append(s.out.Writes, coordinator.Write{
		Records:   []coordinator.Record{{Key: key(c.x.id), Value: c.to.encode()}},
		Timestamp: s.now.UnixMilli(),
		Tag:       c,
	})
}

// answer replies to who waits for a change, once.
func (s *Shard) answer(c *change, body any) {
	s.reply(c.ticket, body)
	c.ticket = coordinator.NoTicket
}

func (s *Shard) reply(t coordinator.Ticket, body any) {
	if t != coordinator.NoTicket {
		s.out.Replies = append(s.out.Replies, coordinator.Reply{To: t, Body: body})
	}
}

func (s *Shard) effects() coordinator.Effects {
	out := s.out
	s.out = coordinator.Effects{}
	return out
}

// forgetUnborn drops an id whose very first record was refused.
func (s *Shard) forgetUnborn(x *transaction) {
	if x.epoch == noEpoch && x.pending == nil {
		delete(s.ids, x.id)
	}
}

// failed is the answer to a change that did not succeed.
func (c *change) failed(err error) any {
	if c.init {
		return InitResult{Err: writeError(err), ProducerID: noProducerID, Epoch: noEpoch}
	}
	return Result{writeError(err)}
}

// writeError is what a client hears when its transaction could not be stored: always something to retry at, where that can
// help. Kafka: TransactionStateManager.appendTransactionToLog.
func writeError(err error) error {
	switch {
	case is(err, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut):
		return kerr.CoordinatorNotAvailable
	case is(err, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch):
		return kerr.NotCoordinator
	default:
		return kerr.UnknownServerError
	}
}

func is(err error, of ...*kerr.Error) bool {
	return slices.ContainsFunc(of, func(e *kerr.Error) bool { return errors.Is(err, e) })
}

// Deadline implements coordinator.Shard.
func (s *Shard) Deadline() time.Time {
	next := s.abort
	if next.IsZero() || s.expire.Before(next) {
		next = s.expire
	}
	for x := range s.unfinished {
		if x.retry.Before(next) {
			next = x.retry
		}
	}
	return next
}

// Tick implements coordinator.Shard.
func (s *Shard) Tick(now time.Time) coordinator.Effects {
	s.now = now
	if !s.abort.IsZero() && !s.abort.After(now) {
		s.abort = now.Add(s.cfg.AbortInterval)
		s.abortTimedOut()
	}
	if !s.expire.IsZero() && !s.expire.After(now) {
		s.expire = now.Add(s.cfg.ExpireInterval)
		s.expireIDs()
	}
	if len(s.unfinished) > 0 {
		for _, x := range s.matching(func(x *transaction) bool { return s.unfinished[x] && !x.retry.After(now) }) {
			s.complete(x)
		}
	}
	return s.effects()
}
