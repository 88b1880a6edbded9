package txn

import (
	"slices"
	"strings"

	"jackdaw/coordinator"
)

// abortTimedOut aborts transactions that are open for longer than their producer asked for, and fences the producer.
// Kafka: TransactionCoordinator.abortTimedOutTransactions.
func (s *Shard) abortTimedOut() {
	now := s.now.UnixMilli()
	for _, x := range s.matching(func(x *transaction) bool {
		return x.state == Ongoing && x.pending == nil && x.start+x.timeout.Milliseconds() < now
	}) {
		s.change(&change{x: x, to: x.fenced(now)})
	}
}

// maxTombstones bounds the ids that one turn removes.
const maxTombstones = 1000

// expireIDs removes ids that no producer has used for long. Kafka: TransactionStateManager.removeExpiredTransactionalIds.
func (s *Shard) expireIDs() {
	before := s.now.Add(-s.cfg.IDExpiration).UnixMilli()
	expired := s.matching(func(x *transaction) bool { return x.state.idle() && x.pending == nil && x.updated <= before })
	for _, x := range expired[:min(len(expired), maxTombstones)] { // the rest at the next turn
		x.pending = &change{x: x, to: values{state: Dead}, dead: true}
		s.out.Writes = append(s.out.Writes, coordinator.Write{
			Records: []coordinator.Record{{Key: key(x.id)}}, Timestamp: s.now.UnixMilli(), Tag: x.pending,
		})
	}
}

// matching returns the ids that f selects, in order, so that runs repeat exactly.
func (s *Shard) matching(f func(*transaction) bool) []*transaction {
	var out []*transaction
	for _, x := range s.ids {
		if f(x) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *transaction) int { return strings.Compare(a.id, b.id) })
	return out
}
