package log

import (
	"errors"
	"io"
	"io/fs"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/log/index"
	"jackdaw/protocol/record"
)

// SegmentInfo describes a segment to the cleaner.
type SegmentInfo struct {
	// Base is the first offset, Next the base of the segment after it or the log end.
	Base, Next int64
	// Bytes are those of the records, IndexBytes and TimeIndexBytes those of the index entries.
	Bytes, IndexBytes, TimeIndexBytes int64
	// LargestTimestamp and FirstTimestamp are in Unix ms; the latter is -1 when the records have none.
	LargestTimestamp, FirstTimestamp int64

	seg *segment
}

// Segments describes all segments, the active one last.
func (l *Log) Segments() []SegmentInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := *l.segs.Load()
	out := make([]SegmentInfo, 0, len(list))
	for i, s := range list {
		info := SegmentInfo{
			Base: s.base, Next: l.end.Load(), Bytes: s.size.Load(), LargestTimestamp: s.largestTimestamp(),
			IndexBytes: int64(s.offsets.Entries()) * index.OffsetEntrySize, TimeIndexBytes: int64(s.times.Entries()) * index.TimeEntrySize,
			FirstTimestamp: l.firstTimestamp(s), seg: s,
		}
		if i+1 < len(list) {
			info.Next = list[i+1].base
		}
		out = append(out, info)
	}
	return out
}

// ErrChanged tells that a segment is not part of the log any more: it was truncated, deleted or rewritten.
var ErrChanged = errors.New("log changed under its cleaner")

// ReadAt reads records of a segment from a position on. Kafka: FileRecords.readInto.
func (i SegmentInfo) ReadAt(p []byte, pos int64) (int, error) {
	if !i.seg.file.acquire() {
		return 0, ErrChanged
	}
	defer i.seg.file.release() //nolint:errcheck // a reader's pin
	n, err := i.seg.file.f.ReadAt(p, pos)
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return n, err
}

// AbortedTxnEntries returns the aborted transactions that overlap [from, upTo), with all that the index knows.
func (l *Log) AbortedTxnEntries(from, upTo int64) ([]index.AbortedTxn, error) {
	for range maxRetries {
		out, err := collectAborted(*l.segs.Load(), from, upTo)
		if err == nil {
			return out, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, l.failed("read aborted transactions", err)
		}
		l.settle() // the segment was deleted under us
	}
	return nil, l.errorf(kerr.KafkaStorageError, "segments keep changing")
}

func collectAborted(list segments, from, upTo int64) (out []index.AbortedTxn, err error) {
	for i := max(list.floor(from), 0); i < len(list); i++ {
		var done bool
		if out, done, err = list[i].txns.Collect(out, from, upTo); err != nil || done {
			break
		}
	}
	return out, err
}

// ProducerEnd is the last thing the log knows of an active producer.
type ProducerEnd struct {
	// LastDataOffset is -1 when only a marker is known.
	LastDataOffset int64
	Epoch          int16
}

// ProducerEnds lists the active producers by id. Kafka: UnifiedLog.lastRecordsOfActiveProducers.
func (l *Log) ProducerEnds() map[int64]ProducerEnd {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[int64]ProducerEnd{}
	for _, e := range l.mu.producers.Entries() {
		last, _ := e.Last()
		out[e.ID] = ProducerEnd{LastDataOffset: last.LastOffset, Epoch: e.Epoch}
	}
	return out
}

// Rewrite is a segment in the making that will take the place of others. It is for one goroutine. Its files are named
// .cleaned until Commit, so that a crash loses nothing. Kafka: the cleaned segment of Cleaner.cleanSegments.
type Rewrite struct {
	l       *Log
	seg     *segment
	sources []SegmentInfo
	cuts    int
}

// BeginRewrite starts a segment that replaces the sources, which follow each other.
func (l *Log) BeginRewrite(sources []SegmentInfo) (*Rewrite, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	cuts, dir := l.mu.cuts, l.mu.path
	l.mu.Unlock()
	seg, err := createSegmentAs(l.env.fsys, dir, sources[0].Base, cleanedSuffix, l.cfg.Load(), l.env.nowMs())
	if err != nil {
		return nil, l.failed("create cleaned segment", err)
	}
	return &Rewrite{l: l, seg: seg, sources: sources, cuts: cuts}, nil
}

// Append writes whole batches that keep their offsets, with one system call.
func (r *Rewrite) Append(buf []byte) error {
	if err := r.seg.write(buf); err != nil {
		return r.l.failed("write cleaned segment", err)
	}
	interval := r.l.cfg.Load().IndexIntervalBytes
	for len(buf) > 0 {
		h := header(buf)
		a := set{buf: buf[:h.size()], maxTS: record.NoTimestamp}
		a.add(h)
		if err := r.seg.publish(a, interval, r.l.env.nowMs()); err != nil {
			return r.l.failed("index cleaned segment", err)
		}
		buf = buf[h.size():]
	}
	return nil
}

// KeepAborted notes an aborted transaction whose marker stays.
func (r *Rewrite) KeepAborted(t index.AbortedTxn) error {
	if err := r.seg.txns.Append(t); err != nil {
		return r.l.failed("index aborted transaction", err)
	}
	return nil
}

// Size is the number of bytes written.
func (r *Rewrite) Size() int64 { return r.seg.size.Load() }

// Discard gives up the rewrite.
func (r *Rewrite) Discard() error {
	err := r.seg.close()
	for _, p := range r.seg.files() {
		err = errors.Join(err, vfs.RemoveIfExists(r.l.env.fsys, p))
	}
	return err
}

// Commit makes the new segment durable and puts it in the place of its sources. ErrChanged when these are not in the log
// any more; then the rewrite is discarded.
//
// The files go .cleaned -> .swap (durable: from here on a restart finishes the replacement), the sources go .deleted, and
// .swap goes to the real names. Kafka: LocalLog.replaceSegments.
func (r *Rewrite) Commit() error {
	err := errors.Join(r.seg.seal(false), r.seg.sync())
	if err != nil {
		return r.l.failed("flush cleaned segment", errors.Join(err, r.Discard()))
	}
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	if err := r.l.usable(); err != nil {
		return errors.Join(err, r.Discard())
	}
	i, ok := r.positionLocked()
	if !ok {
		return errors.Join(ErrChanged, r.Discard())
	}
	if err := r.seg.rename(swapSuffix); err != nil {
		return r.l.failed("swap in cleaned segment", err)
	}
	return r.replaceLocked(i)
}

// positionLocked finds the sources in the list.
func (r *Rewrite) positionLocked() (int, bool) {
	list := *r.l.segs.Load()
	i := list.floor(r.sources[0].Base)
	if r.l.mu.cuts != r.cuts || i < 0 || i+len(r.sources) >= len(list) {
		return 0, false
	}
	for k, src := range r.sources {
		if list[i+k] != src.seg {
			return 0, false
		}
	}
	return i, true
}

// replaceLocked changes the list, then the names.
func (r *Rewrite) replaceLocked(i int) error {
	l := r.l
	list := *l.segs.Load()
	old := list[i : i+len(r.sources)]
	next := append(append(append(segments{}, list[:i]...), r.seg), list[i+len(r.sources):]...)
	l.ends.clear()
	l.segs.Store(&next)
	for k, s := range old {
		paths, err := s.markDeleted()
		l.env.removals.add(l.env.now().Add(l.cfg.Load().FileDeleteDelay), paths, l.dir)
		if err == nil && k > 0 {
			err = l.removeSnapshotLocked(s.base) // it belongs to no segment any more
		}
		if err != nil {
			return l.failed("delete cleaned source", err)
		}
	}
	if err := r.seg.rename(""); err != nil {
		return l.failed("swap in cleaned segment", err)
	}
	if err := errors.Join(r.seg.offsets.Idle(), r.seg.times.Idle()); err != nil {
		return l.failed("close index", err)
	}
	return l.closeSegments(old)
}
