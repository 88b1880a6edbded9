package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"jackdaw/log"
	"jackdaw/log/cleaner/plan"
	"jackdaw/log/index"
	"jackdaw/protocol/record"
)

// worker cleans one log at a time. Kafka: Cleaner.
type worker struct {
	c   *Cleaner
	m   *plan.OffsetMap
	ws  record.Workspace
	buf []byte
}

func (c *Cleaner) newWorker() *worker { return &worker{c: c} }

// rest gives the memory back.
func (w *worker) rest() { *w = worker{c: w.c} }

// once cleans a log and tells whether there was one.
func (w *worker) once(ctx context.Context) bool {
	j := w.c.take()
	if j == nil {
		return false
	}
	end, err := w.clean(ctx, j)
	w.c.done(j, end, err)
	return true
}

// clean makes one pass over a log, and returns the new first dirty offset. Kafka: Cleaner.doClean.
func (w *worker) clean(ctx context.Context, j *job) (end int64, err error) {
	started := w.c.o.Now()
	if w.m == nil {
		w.m = plan.NewOffsetMap(w.c.o.DedupeBytes/w.c.o.Threads, w.c.o.LoadFactor)
	}
	w.m.Reset()
	segments := j.log.Segments()
	if err := w.collect(ctx, j, segments); err != nil {
		return 0, err
	}
	end = w.m.Latest() + 1
	if end <= j.rng.FirstDirty {
		if end = j.rng.FirstUncleanable; w.m.Len() > 0 {
			return 0, fmt.Errorf("the keys of one batch at offset %d do not fit into log.cleaner.dedupe.buffer.size", j.rng.FirstDirty)
		}
	}
	cfg := j.log.Config()
	groups := plan.Group(j.state.Segments[:len(j.state.Segments)-1], end, int64(cfg.SegmentBytes), int64(cfg.IndexBytes))
	p := &pass{w: w, j: j, txns: plan.NewTransactions(), producers: producers(j.log)}
	for _, g := range groups {
		if w.c.moving(j.log) {
			return 0, log.ErrChanged
		}
		if err := p.group(ctx, segments, g); err != nil {
			return 0, err
		}
	}
	took := w.c.o.Now().Sub(started)
	w.c.metrics.passed(p.read, p.written, took)
	w.c.lg.Info("cleaned log", "log", j.log.TP(), "from", j.rng.FirstDirty, "to", end, "keys", w.m.Len(), "records_read", p.total.Read,
		"records_kept", p.total.Kept, "keyless_dropped", p.total.Keyless, "bytes_read", p.read, "bytes_written", p.written, "took", took)
	return end, nil
}

func producers(l *log.Log) map[int64]plan.LastRecord {
	out := map[int64]plan.LastRecord{}
	for id, e := range l.ProducerEnds() {
		out[id] = plan.LastRecord{DataOffset: e.LastDataOffset, Epoch: e.Epoch}
	}
	return out
}

// collect reads the keys of the dirty part, as far as the map has room.
func (w *worker) collect(ctx context.Context, j *job, segments []log.SegmentInfo) error {
	c := plan.Collector{Map: w.m, Start: j.rng.FirstDirty, Txns: plan.NewTransactions(), Workspace: &w.ws}
	aborted, err := abortedTxns(j.log, j.rng.FirstDirty, j.rng.FirstUncleanable)
	if err != nil {
		return err
	}
	c.Txns.Add(aborted...)
	for _, s := range segments {
		if s.Next <= j.rng.FirstDirty {
			continue
		}
		if s.Base >= j.rng.FirstUncleanable {
			break
		}
		full := false
		err := w.batches(ctx, s, func(b record.Batch) (bool, error) {
			if b.BaseOffset() >= j.rng.FirstUncleanable {
				return false, nil
			}
			var err error
			full, err = c.Add(b)
			return !full, err
		})
		if err != nil || full {
			return err
		}
		w.m.Covered(min(s.Next, j.rng.FirstUncleanable) - 1)
	}
	return nil
}

func abortedTxns(l *log.Log, from, upTo int64) ([]plan.Aborted, error) {
	list, err := l.AbortedTxnEntries(from, upTo)
	out := make([]plan.Aborted, 0, len(list))
	for _, t := range list {
		out = append(out, plan.Aborted(t))
	}
	return out, err
}

// batches calls f for every batch of a segment until it returns false. A batch is good until the next.
func (w *worker) batches(ctx context.Context, s log.SegmentInfo, f func(record.Batch) (more bool, err error)) error {
	size := max(w.c.o.IOBytes/w.c.o.Threads, record.HeaderSize)
	if len(w.buf) < size {
		w.buf = make([]byte, size)
	}
	for pos := int64(0); pos < s.Bytes; {
		n, err := s.ReadAt(w.buf[:min(int64(len(w.buf)), s.Bytes-pos)], pos)
		if err != nil {
			return err
		}
		if err := w.c.throttle.wait(ctx, n); err != nil {
			return err
		}
		used := 0
		for rest := w.buf[:n]; len(rest) > 0; {
			b, after, err := record.Next(rest)
			if errors.Is(err, record.ErrShort) {
				break
			}
			if err != nil {
				return fmt.Errorf("segment %d at byte %d: %w", s.Base, pos+int64(used), err)
			}
			if more, err := f(b); err != nil || !more {
				return err
			}
			used += len(b)
			rest = after
		}
		if used == 0 {
			if err := w.grow(s, pos, n); err != nil {
				return err
			}
		}
		pos += int64(used)
	}
	return nil
}

// grow makes room for a batch that is larger than the buffer.
func (w *worker) grow(s log.SegmentInfo, pos int64, n int) error {
	need := int64(record.HeaderSize)
	if n >= record.LogOverhead {
		need = record.LogOverhead + int64(record.Batch(w.buf[:n]).Length())
	}
	if need <= int64(n) || need > s.Bytes-pos {
		return fmt.Errorf("segment %d at byte %d: batch of %d bytes, %d are there", s.Base, pos, need, s.Bytes-pos)
	}
	w.buf = make([]byte, need)
	return nil
}

// pass is the rewriting part of a pass over one log.
type pass struct {
	w         *worker
	j         *job
	txns      *plan.Transactions
	producers map[int64]plan.LastRecord
	// pending are retained batches not written yet.
	pending       []byte
	total         plan.Result
	read, written int64
}

// group rewrites a run of segments as one.
func (p *pass) group(ctx context.Context, all []log.SegmentInfo, g []plan.Segment) error {
	i := slices.IndexFunc(all, func(s log.SegmentInfo) bool { return s.Base == g[0].Base })
	sources := all[i : i+len(g)]
	rw, err := p.j.log.BeginRewrite(sources)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := p.segment(ctx, rw, s); err != nil {
			return errors.Join(err, rw.Discard())
		}
	}
	if err := p.flush(rw); err != nil {
		return errors.Join(err, rw.Discard())
	}
	p.written += rw.Size()
	return rw.Commit()
}

// segment filters one source into the rewrite.
func (p *pass) segment(ctx context.Context, rw *log.Rewrite, s log.SegmentInfo) error {
	aborted, err := abortedTxns(p.j.log, s.Base, s.Next)
	if err != nil {
		return err
	}
	p.txns.Add(aborted...)
	f := plan.Filter{
		Map: p.w.m, Txns: p.txns, Producers: p.producers, Workspace: &p.w.ws, NowMs: p.w.c.o.Now().UnixMilli(),
		DeleteRetentionMs: p.j.log.Config().DeleteRetention.Milliseconds(),
		KeepAborted:       func(a plan.Aborted) error { return rw.KeepAborted(index.AbortedTxn(a)) },
	}
	return p.w.batches(ctx, s, func(b record.Batch) (bool, error) {
		out, res, err := f.Batch(b)
		if err != nil {
			return false, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
		}
		p.total.Read += res.Read
		p.total.Kept += res.Kept
		p.total.Keyless += res.Keyless
		p.read += int64(len(b))
		p.pending = append(p.pending, out...)
		if len(p.pending) < p.w.c.o.IOBytes {
			return true, nil
		}
		if err := p.w.c.throttle.wait(ctx, len(p.pending)); err != nil {
			return false, err
		}
		return true, p.flush(rw)
	})
}

// flush writes the batches that were kept.
func (p *pass) flush(rw *log.Rewrite) error {
	if len(p.pending) == 0 {
		return nil
	}
	err := rw.Append(p.pending)
	p.pending = p.pending[:0]
	return err
}
