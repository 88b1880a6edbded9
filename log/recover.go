package log

import (
	"errors"
	"io"
	"math"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/log/index"
	"jackdaw/log/producer"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

const (
	// recoveryBuffer is how much is read at once.
	recoveryBuffer = 1 << 20
	// progressInterval is how often a long recovery says where it is.
	progressInterval = 10 * time.Second
)

// recoverUnflushed reads every segment again that may hold what was not synced, cuts at the first bad batch, and drops
// all that comes after it. Kafka: LogLoader.recoverLog.
func (ld *loader) recoverUnflushed() error {
	if len(ld.list) == 0 {
		return nil
	}
	from := max(ld.list.floor(ld.p.recoveryPoint), 0)
	total := ld.list[from:].size()
	start := ld.l.env.now()
	last := start
	for i := from; i < len(ld.list); i++ {
		if i > from && ld.torn(i) {
			return ld.dropFrom(i)
		}
		cut, err := ld.recoverSegment(i)
		if err != nil {
			return err
		}
		if now := ld.l.env.now(); now.Sub(last) >= progressInterval {
			last = now
			ld.l.lg.Info("recovering log", "bytes", ld.recovered, "of", total, "segment", i+1, "segments", len(ld.list))
		}
		if cut > 0 {
			ld.l.lg.Warn("log was cut at the first bad batch", "segment", ld.list[i], "bytes_cut", cut,
				"segments_dropped", len(ld.list)-i-1)
			if err := ld.dropFrom(i + 1); err != nil {
				return err
			}
		}
	}
	if ld.recovered > 0 {
		ld.l.lg.Info("recovered log", "bytes", ld.recovered, "segments", len(ld.list)-from, "took", ld.l.env.now().Sub(start))
	}
	return nil
}

// torn tells whether segment i does not continue the one before, which was just recovered. A power cut can leave a segment
// without all of the records before it, since neither was synced. Only compacted logs have holes by right.
//
// Differs from Kafka: there the log keeps a hole, and the replica counts as in sync although it lacks records.
func (ld *loader) torn(i int) bool {
	s := ld.list[i]
	if s.base == ld.end || (s.base > ld.end && ld.cfg.Compact) {
		return false
	}
	ld.l.lg.Warn("segment does not follow the one before, dropping it and those after", "segment", s, "end", ld.end)
	return true
}

// recoverSegment rebuilds the indexes of a segment from its records and cuts it at the first bad batch; it returns how
// many bytes that cost. Kafka: LogLoader.recoverSegment, LogSegment.recover.
func (ld *loader) recoverSegment(i int) (cut int64, err error) {
	s := ld.list[i]
	state := ld.producers
	if state == nil || state.MapEnd() != s.base {
		state = producer.NewState(time.Duration(ld.l.env.producerExpiration.Load()))
		if err := ld.stateBefore(i, state); err != nil {
			return 0, err
		}
	}
	ld.producers = state
	if err := ld.resetIndexes(s); err != nil {
		return 0, err
	}
	r := &recovery{ld: ld, s: s, state: state, end: s.size.Load(), last: s.base - 1}
	if err := r.run(); err != nil {
		return 0, err
	}
	cut = s.size.Load() - r.pos
	if err := r.seal(); err != nil {
		return 0, err
	}
	ld.recovered += r.pos
	ld.end = r.last + 1
	ld.cutBytes += cut
	state.SetMapEnd(r.last + 1)
	return cut, state.TakeSnapshot(ld.fsys(), ld.dir(), false)
}

// stateBefore loads the producers' state at the base of segment i.
func (ld *loader) stateBefore(i int, state *producer.State) error {
	s := ld.list[i]
	start := max(ld.p.startOffset, ld.list[0].base)
	if err := state.Load(ld.fsys(), ld.dir(), start, s.base, ld.l.env.nowMs()); err != nil {
		return err
	}
	for _, before := range ld.list[:i] {
		if state.MapEnd() >= s.base {
			break
		}
		if err := ld.l.replaySegment(before, state); err != nil {
			return err
		}
	}
	state.SetMapEnd(s.base)
	return nil
}

// resetIndexes empties the indexes, and makes those that could not be opened.
func (ld *loader) resetIndexes(s *segment) (err error) {
	if s.offsets == nil || s.offsets.Reset(ld.cfg.IndexBytes) != nil {
		if s.offsets, err = index.CreateOffset(ld.fsys(), s.path(indexSuffix), s.base, ld.cfg.IndexBytes); err != nil {
			return err
		}
	}
	if s.times == nil || s.times.Reset(ld.cfg.IndexBytes) != nil {
		if s.times, err = index.CreateTime(ld.fsys(), s.path(timeSuffix), s.base, ld.cfg.IndexBytes); err != nil {
			return err
		}
	}
	if s.txns == nil {
		if err := vfs.RemoveIfExists(ld.fsys(), s.path(txnSuffix)); err != nil {
			return err
		}
		s.txns, err = index.OpenTxn(ld.fsys(), s.path(txnSuffix))
		return err
	}
	return s.txns.Reset()
}

// recovery reads one segment from its start.
type recovery struct {
	ld    *loader
	s     *segment
	state *producer.State
	end   int64
	// pos is where the next batch begins, last the offset of the batch before it.
	pos, last int64
	// buf holds the bytes from bufPos on.
	buf    []byte
	bufPos int64
}

// run goes through the batches until the end or the first bad one.
func (r *recovery) run() error {
	r.s.noTimestamps()
	r.s.sinceIndex = 0
	for r.pos < r.end {
		b, err := r.next()
		if err != nil || b == nil {
			return err
		}
		if reason := r.bad(b); reason != "" {
			r.ld.l.lg.Warn("bad batch", "segment", r.s, "position", r.pos, "reason", reason)
			return nil
		}
		if err := r.take(b); err != nil {
			return err
		}
	}
	return nil
}

// next returns the batch at pos, nil when there is none.
func (r *recovery) next() (record.Batch, error) {
	for need := int64(recoveryBuffer); ; {
		b, _, err := record.Next(r.buf[min(r.pos-r.bufPos, int64(len(r.buf))):])
		var corrupt *record.CorruptError
		switch {
		case err == nil:
			return b, nil
		case errors.As(err, &corrupt):
			r.ld.l.lg.Warn("bad batch", "segment", r.s, "position", r.pos, "reason", err.Error())
			return nil, nil
		case r.bufPos == r.pos && int64(len(r.buf)) >= r.end-r.pos:
			return nil, nil // the last batch is not whole
		}
		if r.bufPos == r.pos && len(r.buf) >= record.HeaderSize {
			if size := header(r.buf).size(); size > r.end-r.pos {
				return nil, nil
			} else if size > need {
				need = size
			}
		}
		if err := r.fill(min(need, r.end-r.pos)); err != nil {
			return nil, err
		}
	}
}

// fill reads n bytes from pos on.
func (r *recovery) fill(n int64) error {
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	r.bufPos = r.pos
	got, err := r.s.file.f.ReadAt(r.buf, r.pos)
	if int64(got) < n && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if int64(got) == n {
		return nil
	}
	return err
}

// bad says what is wrong with a batch, empty when nothing is. The history of epochs is synced at every change, the length of
// a segment is not: after a power cut, records can be back that a truncation had removed, with another epoch in their place
// in the history. Nobody could find out any more where such a log parts from its leader's.
func (r *recovery) bad(b record.Batch) string {
	h := header(b)
	switch {
	case !sound(b):
		return "wrong checksum"
	case h.last() <= r.last || h.last() < h.base():
		return "offsets do not rise"
	case h.last()-r.s.base > math.MaxInt32:
		return "offset too far from the segment's base"
	case h.epoch() >= 0 && r.ld.l.epochs.At(h.base()) > metadata.LeaderEpoch(h.epoch()):
		return "of a leader epoch that ended before it"
	}
	return ""
}

// take indexes a batch and applies it to epochs and producers.
func (r *recovery) take(b record.Batch) error {
	h := header(b)
	if ts := h.maxTimestamp(); ts > r.s.maxTS.Load() {
		r.s.maxTSOffset.Store(h.last())
		r.s.maxTS.Store(ts)
	}
	if err := r.s.index(h.last(), r.pos, r.ld.cfg.IndexIntervalBytes); err != nil && !errors.Is(err, index.ErrFull) {
		return err
	}
	r.s.sinceIndex += h.size()
	if err := r.noteEpoch(h); err != nil {
		return err
	}
	if b.Magic() == 2 {
		if done, ok := r.state.Apply(b); ok {
			if err := completeTxn(r.state, r.s, done); err != nil {
				return err
			}
		}
	}
	r.last = h.last()
	r.pos += h.size()
	return nil
}

// noteEpoch adds an epoch that the history does not have.
func (r *recovery) noteEpoch(h header) error {
	if h.epoch() < 0 {
		return nil
	}
	latest, ok := r.ld.l.epochs.Latest()
	if ok && metadata.LeaderEpoch(h.epoch()) <= latest.Epoch {
		return nil
	}
	_, err := r.ld.l.epochs.Assign(metadata.LeaderEpoch(h.epoch()), h.base())
	return err
}

// seal cuts what is not good and closes the indexes as of a segment that is not written any more.
func (r *recovery) seal() error {
	if r.pos < r.s.size.Load() {
		if err := r.s.shorten(r.pos); err != nil {
			return err
		}
		r.s.size.Store(r.pos)
	}
	r.s.dirty.Store(true)
	return r.s.seal(false)
}
