package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// maxTombstones bounds the records of one batch, so that it stays well below any sensible message size.
const maxTombstones = 1000

// Delete removes a group that has no members, with its offsets. The reply is a Result.
// Kafka: GroupCoordinator.handleDeleteGroups.
func (s *Shard) Delete(now time.Time, t coordinator.Ticket, id string) coordinator.Effects {
	s.now = now
	g := s.groups[id]
	switch {
	case g == nil:
		s.reply(t, Result{kerr.GroupIDNotFound})
	case !g.empty():
		s.reply(t, Result{kerr.NonEmptyGroup})
	default:
		s.removeOffsets(g, g.offsets.known(), true, func(s *Shard, err error) { s.reply(t, Result{err}) })
	}
	return s.effects()
}

// DeleteOffsets removes offsets of partitions that no member subscribes to. The reply is a DeleteOffsetsResult.
// Kafka: GroupCoordinator.handleDeleteOffsets.
func (s *Shard) DeleteOffsets(now time.Time, t coordinator.Ticket, id string, tps []metadata.TopicPartition) coordinator.Effects {
	s.now = now
	g := s.groups[id]
	switch {
	case g == nil:
		s.reply(t, DeleteOffsetsResult{Err: kerr.GroupIDNotFound})
		return s.effects()
	case g.state != Empty && !g.isConsumerGroup(): // of another protocol type
		s.reply(t, DeleteOffsetsResult{Err: kerr.NonEmptyGroup})
		return s.effects()
	}
	errs := make([]error, len(tps))
	var gone []metadata.TopicPartition
	for i, tp := range tps {
		if g.uses(tp.Topic) {
			errs[i] = kerr.GroupSubscribedToTopic
			continue
		}
		if g.offsets.has(tp) {
			gone = append(gone, tp)
		}
	}
	s.removeOffsets(g, gone, false, func(s *Shard, err error) { s.reply(t, DeleteOffsetsResult{Err: err, Errs: errs}) })
	return s.effects()
}

// DeleteOffsetsResult is the answer to an OffsetDelete: an error for all, or one or nil for each partition.
type DeleteOffsetsResult struct {
	Err  error
	Errs []error
}

// has reports whether a tombstone for tp would remove something.
func (o *offsets) has(tp metadata.TopicPartition) bool {
	_, ok := o.committed[tp]
	return ok || o.unstable(tp)
}

// known returns every partition that a record in the log may give an offset to.
func (o *offsets) known() []metadata.TopicPartition {
	tps := o.partitions()
	for tp := range o.writing {
		if _, ok := o.committed[tp]; !ok {
			tps = append(tps, tp)
		}
	}
	for _, byTP := range o.open {
		for tp := range byTP {
			if _, ok := o.committed[tp]; !ok && o.writing[tp] == 0 {
				tps = append(tps, tp)
			}
		}
	}
	return tps
}

// removeOffsets writes tombstones for partitions, in batches of bounded size, and for the group itself if whole. The last
// batch calls done, once; with nothing to write that is at once.
func (s *Shard) removeOffsets(g *group, tps []metadata.TopicPartition, whole bool, done func(*Shard, error)) {
	var records []coordinator.Record
	job := &removal{done: done}
	flush := func(tps []metadata.TopicPartition, last bool) {
		w := &removeWrite{g: g, tps: tps, whole: last && whole, job: job}
		job.left++
		s.write(coordinator.Write{Records: records, Tag: w})
		records = nil
	}
	var last []coordinator.Record
	if whole {
		last = g.tombstones()
	}
	from := 0
	for i, tp := range tps {
		records = append(records, coordinator.Record{Key: offsetKey(g.id, tp)})
		if len(records) == maxTombstones {
			flush(tps[from:i+1], i+1 == len(tps) && len(last) == 0)
			from = i + 1
		}
	}
	records = append(records, last...)
	if len(records) > 0 {
		flush(tps[from:], true)
	}
	if job.left == 0 {
		if whole {
			s.forget(g)
		}
		done(s, nil)
	}
}

// tombstones end a group without members. A classic group of generation 0 only ever stored offsets: it has no record of its own.
func (g *group) tombstones() []coordinator.Record {
	if g.consumer == nil && g.generation == 0 {
		return nil
	}
	if g.consumer == nil {
		return []coordinator.Record{{Key: groupKey(g.id)}}
	}
	var out []coordinator.Record
	for _, r := range g.consumer.tombstones() {
		out = append(out, r.encode(g.id))
	}
	return out
}

// removal is shared by the batches of one deletion.
type removal struct {
	left int
	done func(*Shard, error)
}

// finish counts one batch; the first error, or the last batch, answers.
func (r *removal) finish(s *Shard, err error) {
	r.left--
	if r.done != nil && (err != nil || r.left == 0) {
		r.done(s, err)
		r.done = nil
	}
}

// removeWrite is a batch of tombstones.
type removeWrite struct {
	g    *group
	tps  []metadata.TopicPartition
	at   int64
	job  *removal
	told bool
	// whole says that with this batch the group is gone.
	whole bool
}

func (w *removeWrite) appended(_ *Shard, at int64) {
	w.at = at
	for _, tp := range w.tps {
		w.g.offsets.begin(tp)
	}
	if w.whole {
		w.g.consumer = nil // who joins from now on makes a new one
	}
}

func (w *removeWrite) rejected(s *Shard, err error) { w.job.finish(s, offsetWriteError(err)) }

func (w *removeWrite) late(s *Shard, err error) {
	w.told = true
	w.job.finish(s, offsetWriteError(err))
}

func (w *removeWrite) committed(s *Shard) {
	for i, tp := range w.tps {
		w.g.offsets.remove(tp, w.at+int64(i))
		w.g.offsets.end(tp)
	}
	s.pruneOpen(w.g)
	// Somebody may have joined or committed since the tombstone was written; then the group lives, and its later records
	// come after the tombstone.
	if w.whole && w.g.idle() {
		s.forget(w.g)
	}
	if !w.told {
		w.job.finish(s, nil)
	}
}

// idle reports whether nothing would be lost with the group.
func (g *group) idle() bool {
	return g.consumer == nil && g.state == Empty && len(g.pending) == 0 && g.offsets.none()
}

// empty reports whether the group has no members.
func (g *group) empty() bool {
	return g.state == Empty && (g.consumer == nil || len(g.consumer.members) == 0)
}

// uses reports whether a member subscribes to the topic, or may.
func (g *group) uses(topic string) bool {
	if g.consumer != nil {
		return g.consumer.subscribers[topic] > 0
	}
	return g.state != Empty && (g.subscribed == nil || g.subscribed[topic])
}

// forget drops a group. Its timers end with it.
func (s *Shard) forget(g *group) {
	g.state = Dead
	delete(s.groups, g.id)
}

// pruneOpen drops the empty remains of transactions.
func (s *Shard) pruneOpen(g *group) {
	for id, byTP := range g.offsets.open {
		if len(byTP) > 0 {
			continue
		}
		delete(g.offsets.open, id)
		if delete(s.open[id], g); len(s.open[id]) == 0 {
			delete(s.open, id)
		}
	}
}
