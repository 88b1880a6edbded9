package sim

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// fetchPause is the delay after an error.
const fetchPause = 30 * time.Millisecond

// fetcher copies one partition in one leader epoch. replication.fetcher does it for many at once; what it does with one is
// the same. It ends when partition.follow is another.
type fetcher struct {
	t     *partition
	epoch metadata.LeaderEpoch
	// checked is false until the log was made fit to be fetched for.
	checked bool
}

func (t *partition) startFetching() {
	f := &fetcher{t: t, epoch: t.epoch}
	t.follow = f
	f.later(0)
}

// current reports whether the partition is still followed in this epoch.
func (f *fetcher) current() bool {
	return f.t.follow == f && f.t.role == isr.Follower && f.t.epoch == f.epoch && f.t.log != nil
}

func (f *fetcher) later(d time.Duration) { f.t.p.w.after(f.t.p, d, f.round) }

// round sends one fetch.
func (f *fetcher) round() {
	if !f.current() {
		return
	}
	t := f.t
	if !f.checked {
		f.prepare()
		f.checked = true
	}
	req := fetchRequest{
		tp: t.tp, id: t.id, replica: t.p.id, brokerEpoch: t.p.brokerEpoch, offset: t.log.EndOffset(), current: f.epoch,
		lastFetched: latest(t), logStart: t.log.StartOffset(),
	}
	if t.p.w.o.broken.epochTruncation {
		req.lastFetched = metadata.NoEpoch
	}
	t.p.w.call(t.p, t.leader, fetchTimeout, func(q *process, answer func(any)) { q.serveFetch(req, answer) }, func(v any, err error) {
		switch {
		case !f.current():
		case err != nil:
			f.later(fetchPause)
		default:
			f.answered(v.(fetchResponse))
		}
	})
}

// latest is the last epoch in the log, NoEpoch when there is none.
func latest(t *partition) metadata.LeaderEpoch {
	if e, ok := t.log.LatestEpoch(); ok {
		return e
	}
	return metadata.NoEpoch
}

// prepare is fetcher.prepare of replication: a log without epochs is cut at its high watermark.
func (f *fetcher) prepare() {
	t := f.t
	_, known := t.log.LatestEpoch()
	if (!known || t.p.w.o.broken.epochTruncation) && t.log.EndOffset() > t.log.HighWatermark() {
		f.truncate(t.log.HighWatermark())
	}
}

func (f *fetcher) truncate(offset int64) {
	t := f.t
	before, hw := t.log.EndOffset(), t.log.HighWatermark()
	if _, err := t.log.TruncateTo(offset); err != nil {
		t.p.w.violate("broker %d: truncate %s: %v", t.p.id, t.tp, err)
		return
	}
	t.p.w.oracle.sync(t)
	t.p.w.oracle.touch(t)
	if after := t.log.EndOffset(); after != before {
		t.p.note("truncates %s from %d to %d", t.tp, before, after)
		if after < hw {
			t.p.checkpointHW()
		}
	}
}

// answered is fetcher.partition of replication.
func (f *fetcher) answered(resp fetchResponse) {
	switch {
	case resp.err == nil && resp.diverging != nil:
		f.diverged(*resp.diverging)
	case resp.err == nil:
		f.append(resp)
	case errors.Is(resp.err, kerr.OffsetOutOfRange):
		f.outOfRange()
	case errors.Is(resp.err, kerr.FencedLeaderEpoch):
		f.t.follow = nil // until the controller sends a new state
	default:
		f.later(fetchPause)
	}
}

// append is Partition.appendFetched.
func (f *fetcher) append(resp fetchResponse) {
	t := f.t
	if len(resp.records) > 0 {
		info, err := t.log.AppendAsFollower(resp.records)
		if err != nil {
			if kafkaError(err) == kerr.KafkaStorageError {
				t.p.w.violate("broker %d: append to %s: %v", t.p.id, t.tp, err)
			}
			t.p.note("cannot append to %s: %v", t.tp, err)
			f.later(fetchPause)
			return
		}
		t.p.note("copies %s %d-%d", t.tp, info.FirstOffset, info.LastOffset)
	}
	t.p.w.oracle.sync(t)
	if hw := isr.FollowerHW(t.log.EndOffset(), resp.hw); hw != t.log.HighWatermark() {
		t.log.SetHighWatermark(hw)
	}
	t.p.w.oracle.followed(t)
	f.later(0)
}

// diverged is Partition.cutAt.
func (f *fetcher) diverged(leader isr.EpochEnd) {
	t := f.t
	local, known := t.log.EndOffsetForEpoch(leader.Epoch)
	end, last := t.log.EndOffset(), latest(t)
	tr := isr.Truncate(leader, isr.EpochEnd(local), known, end, t.log.HighWatermark())
	t.p.note("parts from its leader in %s: leader ends epoch %d at %d, own %v", t.tp, leader.Epoch, leader.EndOffset, local)
	f.truncate(tr.Offset)
	if t.log.EndOffset() == end && latest(t) == last {
		f.later(fetchPause)
		return
	}
	f.later(0)
}

// outOfRange is fetcher.backIntoRange: it asks for the ends of the leader's log.
func (f *fetcher) outOfRange() {
	type ends struct {
		err        error
		start, end int64
	}
	t := f.t
	t.p.w.call(t.p, t.leader, fetchTimeout, func(q *process, answer func(any)) {
		lead := q.parts[t.tp]
		if lead == nil {
			answer(ends{err: kerr.NotLeaderForPartition})
			return
		}
		if err := lead.check(f.epoch); err != nil {
			answer(ends{err: err})
			return
		}
		answer(ends{start: lead.log.StartOffset(), end: lead.log.EndOffset()})
	}, func(v any, err error) {
		if !f.current() {
			return
		}
		e, _ := v.(ends)
		if err == nil && e.err == nil {
			if r := isr.OutOfRange(t.log.EndOffset(), e.end, e.start); r.Truncate {
				t.p.note("is out of range in %s, leader has %d to %d", t.tp, e.start, e.end)
				f.truncate(r.Offset)
				f.later(0)
				return
			}
		}
		f.later(fetchPause)
	})
}
