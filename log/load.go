package log

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/log/epoch"
	"jackdaw/log/index"
	"jackdaw/log/producer"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// loadParams is what the checkpoints of a log directory say about a log.
type loadParams struct {
	// clean tells that the last shutdown was.
	clean bool
	// recoveryPoint is the offset up to which the log was synced, startOffset the first that may be read.
	recoveryPoint int64
	startOffset   int64
}

// openLog loads the log in a directory, or begins one, and recovers it if need be. Kafka: LogLoader.load.
func openLog(e *env, dir *logDir, tp metadata.TopicPartition, path string, cfg Config, p loadParams) (*Log, error) {
	l := &Log{tp: tp, env: e, dir: dir, lg: e.logger.With("topic", tp.Topic, "partition", tp.Partition)}
	l.cfg.Store(&cfg)
	l.mu.path = path
	l.mu.producers = producer.NewState(time.Duration(e.producerExpiration.Load()))
	l.mu.lastFlush = e.now()
	l.mu.jitterMs = jitter(&cfg)
	l.unstable.Store(noOffset)
	ld := &loader{l: l, cfg: &cfg, p: p}
	if err := ld.load(); err != nil {
		for _, s := range ld.list {
			err = errors.Join(err, s.close())
		}
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return l, nil
}

// loader is the work of one openLog; nobody else sees the log yet.
type loader struct {
	l    *Log
	cfg  *Config
	p    loadParams
	list segments
	// recovered are bytes read again, cut the bytes thrown away.
	recovered, cutBytes int64
	// end is the offset after the last record of the segment that was recovered last, producers their state there, nil if
	// none was recovered.
	end       int64
	producers *producer.State
}

func (ld *loader) fsys() vfs.FS { return ld.l.env.fsys }
func (ld *loader) dir() string  { return ld.l.mu.path }

func (ld *loader) load() error {
	var err error
	if ld.l.mu.topicID, err = checkpoint.ReadTopicID(ld.fsys(), ld.dir()); err != nil {
		return err
	}
	if err := ld.openEpochs(); err != nil {
		return err
	}
	if err := ld.resolveLeftovers(); err != nil {
		return err
	}
	if err := ld.openSegments(); err != nil {
		return err
	}
	if !ld.p.clean {
		if err := ld.recoverUnflushed(); err != nil {
			return err
		}
	}
	end, err := ld.logEnd()
	if err != nil {
		return err
	}
	return ld.finish(end)
}

// openEpochs reads the epoch history. One that cannot be read is dropped: recovery and replication build it again.
func (ld *loader) openEpochs() error {
	c, err := epoch.Open(ld.fsys(), filepath.Join(ld.dir(), epoch.FileName))
	var corrupt *epoch.CorruptError
	if errors.As(err, &corrupt) {
		ld.l.lg.Warn("leader epochs cannot be read, starting without", "err", err)
		ld.p.clean, ld.p.recoveryPoint = false, 0
		err = nil
	}
	ld.l.epochs = c
	return err
}

// openSegments opens all segments by rising base offset, and recovers those whose indexes are missing or wrong.
// Kafka: LogLoader.loadSegmentFiles.
func (ld *loader) openSegments() error {
	names, err := ld.fsys().ReadDir(ld.dir())
	if err != nil {
		return err
	}
	if err := ld.removeOrphans(names); err != nil {
		return err
	}
	for _, n := range names {
		base, ok := parseBase(n.Name, logSuffix)
		if !ok || n.Dir {
			continue
		}
		s, sound, err := ld.openSegment(base, n)
		if err != nil {
			return err
		}
		ld.list = append(ld.list, s)
		if !sound {
			if _, err := ld.recoverSegment(len(ld.list) - 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeOrphans deletes index files without a segment.
func (ld *loader) removeOrphans(names []vfs.Entry) error {
	have := map[string]bool{}
	for _, n := range names {
		have[n.Name] = true
	}
	for _, n := range names {
		for _, suffix := range []string{indexSuffix, timeSuffix, txnSuffix} {
			stem, ok := strings.CutSuffix(n.Name, suffix)
			if !ok || have[stem+logSuffix] {
				continue
			}
			ld.l.lg.Warn("removing an index without segment", "file", n.Name)
			if err := ld.fsys().Remove(filepath.Join(ld.dir(), n.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// openSegment opens the files of a segment. sound is false when the indexes must be built anew.
func (ld *loader) openSegment(base int64, n vfs.Entry) (s *segment, sound bool, err error) {
	s = &segment{fsys: ld.fsys(), dir: ld.dir(), base: base, createdMs: ld.l.env.nowMs(), firstTS: firstUnknown}
	s.modifiedMs.Store(n.ModTimeMs)
	s.noTimestamps()
	f, err := ld.fsys().OpenFile(s.path(logSuffix), vfs.Write)
	if err != nil {
		return nil, false, err
	}
	s.file = newPinned(f)
	s.size.Store(n.Size)
	if err := ld.openIndexes(s); err != nil {
		if !rebuildable(err) {
			return nil, false, errors.Join(err, s.close())
		}
		ld.l.lg.Warn("index is missing or wrong, rebuilding", "segment", s, "err", err)
		return s, false, nil
	}
	if err := ld.checkIndexes(s); err != nil {
		if !rebuildable(err) {
			return nil, false, errors.Join(err, s.close())
		}
		// Unflushed segments are recovered anyway: it is no news that their indexes were not sealed.
		if ld.p.clean {
			ld.l.lg.Warn("index is wrong, rebuilding", "segment", s, "err", err)
		}
		return s, false, nil
	}
	return s, true, nil
}

// rebuildable tells whether an error of an index is cured by building it anew.
func rebuildable(err error) bool {
	var corrupt *index.CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist)
}

func (ld *loader) openIndexes(s *segment) error {
	var err1, err2, err3 error
	s.offsets, err1 = index.OpenOffset(ld.fsys(), s.path(indexSuffix), s.base)
	s.times, err2 = index.OpenTime(ld.fsys(), s.path(timeSuffix), s.base)
	s.txns, err3 = index.OpenTxn(ld.fsys(), s.path(txnSuffix))
	if err3 != nil && s.txns == nil {
		return err3
	}
	return errors.Join(err1, err2, err3)
}

func (ld *loader) checkIndexes(s *segment) error {
	if err := errors.Join(s.offsets.Check(), s.times.Check(), s.txns.Check(s.base)); err != nil {
		return err
	}
	if last := s.offsets.Last(); int64(last.Pos) >= max(s.size.Load(), 1) {
		return &index.CorruptError{Path: s.path(indexSuffix), Reason: fmt.Sprintf("position %d of %d bytes", last.Pos, s.size.Load())}
	}
	sc := ld.l.env.scratch.get()
	defer ld.l.env.scratch.put(sc)
	err := s.loadTimestamps(sc)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return &index.CorruptError{Path: s.path(indexSuffix), Reason: err.Error()}
	}
	return err
}

// logEnd finds the end of the log. Segments that all lie below the start offset are dropped, since records were deleted
// that the disk has lost. Kafka: LogLoader.recoverLog.
func (ld *loader) logEnd() (int64, error) {
	if len(ld.list) > 0 {
		end, err := ld.nextOffset(ld.list.active())
		if err != nil {
			return 0, err
		}
		if end >= ld.p.startOffset {
			return end, nil
		}
		ld.l.lg.Warn("log ends before its start offset, dropping its records", "end", end, "start", ld.p.startOffset)
		if err := ld.dropFrom(0); err != nil {
			return 0, err
		}
		if err := ld.l.epochs.Clear(); err != nil {
			return 0, err
		}
	}
	s, err := createSegment(ld.fsys(), ld.dir(), ld.p.startOffset, ld.cfg, ld.l.env.nowMs())
	if err != nil {
		return 0, err
	}
	ld.list = append(ld.list, s)
	return ld.p.startOffset, nil
}

// nextOffset returns the offset after the last record of a segment. Kafka: LogSegment.readNextOffset.
func (ld *loader) nextOffset(s *segment) (int64, error) {
	next := s.base
	sc := ld.l.env.scratch.get()
	defer ld.l.env.scratch.put(sc)
	pos, err := walk(s.file.f, int64(s.offsets.Last().Pos), s.size.Load(), sc.buf[:], func(h header, _ int64) bool {
		next = h.last() + 1
		return true
	})
	if err != nil {
		return 0, s.corrupt(pos, err)
	}
	if pos != s.size.Load() {
		return 0, s.corrupt(pos, errBadHeader)
	}
	return next, nil
}

// finish sets the offsets and what is derived from the records.
func (ld *loader) finish(end int64) error {
	l := ld.l
	start := max(ld.p.startOffset, ld.list[0].base)
	l.segs.Store(&ld.list)
	l.start.Store(start)
	l.hw.Store(start)
	l.end.Store(end)
	l.recovery.Store(min(ld.p.recoveryPoint, end))
	if ld.p.clean {
		l.recovery.Store(end)
	}
	l.epochs.ForgetFromEnd(end)
	if err := l.epochs.TruncateFromStart(start); err != nil {
		return err
	}
	if err := ld.removeStraySnapshots(); err != nil {
		return err
	}
	if err := ld.rebuildProducers(); err != nil {
		return err
	}
	for _, s := range ld.list[:len(ld.list)-1] {
		if err := errors.Join(s.offsets.Idle(), s.times.Idle()); err != nil {
			return err
		}
	}
	active := ld.list.active()
	return errors.Join(active.offsets.Preallocate(ld.cfg.IndexBytes), active.times.Preallocate(ld.cfg.IndexBytes))
}

// rebuildProducers is reloadProducersLocked for a log that is not shared yet. A log from before producer state, shut down
// cleanly, is not read for it.
//
// Differs from Kafka: after a recovery it loads the snapshot at the log end, which has only the last batch of each
// producer, so a producer with more in flight gets OUT_OF_ORDER_SEQUENCE_NUMBER when it sends them again. Recovery has
// seen them all.
func (ld *loader) rebuildProducers() error {
	if s := ld.producers; s != nil && s.MapEnd() == ld.l.end.Load() {
		ld.l.mu.producers = s
		ld.l.updateUnstableLocked()
		return s.TakeSnapshot(ld.fsys(), ld.dir(), false)
	}
	snapshots, err := producer.Snapshots(ld.fsys(), ld.dir())
	if err != nil {
		return err
	}
	if ld.p.clean && len(snapshots) == 0 {
		ld.l.mu.producers.Reset(ld.l.start.Load())
		ld.l.mu.producers.SetMapEnd(ld.l.end.Load())
		return ld.l.mu.producers.TakeSnapshot(ld.fsys(), ld.dir(), true)
	}
	return ld.l.reloadProducersLocked()
}

// removeStraySnapshots deletes snapshots that belong to no segment, but for the newest one.
// Kafka: ProducerStateManager.removeStraySnapshots.
func (ld *loader) removeStraySnapshots() error {
	snapshots, err := producer.Snapshots(ld.fsys(), ld.dir())
	if err != nil || len(snapshots) == 0 {
		return err
	}
	for _, off := range snapshots[:len(snapshots)-1] {
		i := ld.list.floor(off)
		if i >= 0 && ld.list[i].base == off {
			continue
		}
		if err := vfs.RemoveIfExists(ld.fsys(), filepath.Join(ld.dir(), producer.SnapshotName(off))); err != nil {
			return err
		}
	}
	return nil
}

// reloadProducersLocked builds the producers' state from the newest snapshot and the batches after it.
// Kafka: UnifiedLog.rebuildProducerState.
func (l *Log) reloadProducersLocked() error {
	s := l.mu.producers
	end := l.end.Load()
	if err := s.Load(l.env.fsys, l.mu.path, l.start.Load(), end, l.env.nowMs()); err != nil {
		return err
	}
	list := *l.segs.Load()
	for i, seg := range list {
		if s.MapEnd() >= end {
			break
		}
		if i+1 < len(list) && list[i+1].base <= s.MapEnd() {
			continue
		}
		if err := l.replaySegment(seg, s); err != nil {
			return err
		}
	}
	s.SetMapEnd(end)
	l.updateUnstableLocked()
	return s.TakeSnapshot(l.env.fsys, l.mu.path, false)
}

// replaySegment applies the batches of a segment that are not in the state yet. Transactions that end here are in the
// index of the segment already.
func (l *Log) replaySegment(seg *segment, s *producer.State) error {
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	size := seg.size.Load()
	pos, _, err := seg.find(s.MapEnd(), size, sc)
	if err != nil {
		return err
	}
	for pos < size {
		next, err := walk(seg.file.f, pos, size, sc.buf[:], func(h header, _ int64) bool {
			return h.magic() < 2 || !record.Batch(h).HasProducerID() || !applyHeader(h, s)
		})
		if err != nil {
			return seg.corrupt(next, err)
		}
		if next >= size {
			return nil
		}
		if pos, err = l.replayMarker(seg, next, s); err != nil {
			return err
		}
	}
	return nil
}

// applyHeader takes a data batch, for which the header is enough; false for a control batch.
func applyHeader(h header, s *producer.State) (markerNext bool) {
	if record.Batch(h).IsControl() {
		return true
	}
	if h.last() >= s.MapEnd() {
		s.Apply(record.Batch(h))
	}
	return false
}

// replayMarker takes the control batch at pos and returns the position after it.
func (l *Log) replayMarker(seg *segment, pos int64, s *producer.State) (next int64, err error) {
	var hb [record.HeaderSize]byte
	if _, err := seg.file.f.ReadAt(hb[:], pos); err != nil {
		return 0, err
	}
	n := header(hb[:]).size()
	if n > seg.size.Load()-pos {
		return 0, seg.corrupt(pos, errBadHeader)
	}
	b := make(record.Batch, n)
	if _, err := seg.file.f.ReadAt(b, pos); err != nil {
		return 0, err
	}
	if done, ok := s.Apply(b); ok {
		s.Complete(done)
	}
	return pos + n, nil
}

// dropFrom removes the segments from index i on.
func (ld *loader) dropFrom(i int) error {
	for _, s := range slices.Backward(ld.list[i:]) {
		paths, err := s.markDeleted()
		ld.l.env.removals.add(ld.l.env.now(), paths, ld.l.dir)
		if err := errors.Join(err, s.close(), ld.l.removeSnapshotLocked(s.base)); err != nil {
			return err
		}
	}
	ld.list = slices.Clip(ld.list[:i])
	return nil
}
