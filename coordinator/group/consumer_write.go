package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// refusal is an error with a text for the client: it implements protocol.Messenger.
type refusal struct {
	err *kerr.Error
	msg string
}

func refuse(err *kerr.Error, msg string) error { return &refusal{err: err, msg: msg} }

func (r *refusal) Error() string         { return r.err.Message + ": " + r.msg }
func (r *refusal) Unwrap() error         { return r.err }
func (r *refusal) ClientMessage() string { return r.msg }

// consumerWrite stores records of a consumer group. They change the group when they are in the log, so that the next request
// sees them, and its answer waits until they are committed: an answer never tells of what a fail-over could take back.
type consumerWrite struct {
	g       *group
	records []consumerRecord
	// applied runs when the records have changed the group; nil for nothing.
	applied func()
	// done runs once: with nil when the records are committed, else with why they may never be.
	done func(err error)
	// inLog is set by then; told after done.
	inLog, told bool
	// readers wait for the write without having a part in it.
	readers []func(err error)
}

// writeConsumer stores what a change comes to.
func (s *Shard) writeConsumer(w *consumerWrite) {
	records := make([]coordinator.Record, len(w.records))
	for i := range w.records {
		records[i] = w.records[i].encode(w.g.id)
	}
	s.write(coordinator.Write{Records: records, Tag: w})
}

func (w *consumerWrite) appended(s *Shard, _ int64) {
	w.inLog = true
	for i := range w.records {
		w.g.apply(&w.records[i])
	}
	if w.applied != nil {
		w.applied()
	}
	s.newest = w
}

func (w *consumerWrite) rejected(s *Shard, err error) {
	w.tell(consumerWriteError(err))
	if w.g.blank() {
		s.forget(w.g) // made for this write
	}
}

func (w *consumerWrite) late(_ *Shard, err error) { w.tell(consumerWriteError(err)) }

func (w *consumerWrite) committed(s *Shard) {
	if s.newest == w {
		s.newest = nil
	}
	w.tell(nil)
}

func (w *consumerWrite) tell(err error) {
	if w.told {
		return
	}
	w.told = true
	if w.done != nil {
		w.done(err)
	}
	for _, f := range w.readers {
		f(err)
	}
	w.readers = nil
}

// afterWrites runs f when all that consumer groups have in the log is committed: what f tells was read from it. Writes are
// committed in their order. Kafka: CoordinatorRuntime, which holds back the answer of an operation without records.
func (s *Shard) afterWrites(f func(err error)) {
	switch w := s.newest; {
	case w == nil:
		f(nil)
	case w.told:
		f(kerr.CoordinatorNotAvailable)
	default:
		w.readers = append(w.readers, f)
	}
}

// blank reports whether nothing, in the log or in memory, stands for the group.
func (g *group) blank() bool {
	return g.consumer == nil && g.idle() && g.protocolType == nil && g.generation == 0
}

// consumerWriteError is what a client hears when a consumer group could not be stored.
// Kafka: GroupCoordinatorService.handleOperationException.
func consumerWriteError(err error) error {
	switch {
	case is(err, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut):
		return kerr.CoordinatorNotAvailable
	default:
		return groupWriteError(err)
	}
}
