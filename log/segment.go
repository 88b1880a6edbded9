package log

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"

	"jackdaw/internal/vfs"
	"jackdaw/log/index"
	"jackdaw/protocol/record"
)

// segment is one .log file with its indexes. Fields that change are atomic where readers look at them; the others belong
// to the log's lock. Kafka: LogSegment.
type segment struct {
	fsys vfs.FS
	dir  string
	base int64
	// ext follows the names of all files: .cleaned while a segment is rewritten, then .swap, empty in service.
	ext  string
	file *pinned
	// size is how many bytes readers may see. It is published after the log end offset, see the package's doc.
	size    atomic.Int64
	offsets *index.Offset
	times   *index.Time
	txns    *index.Txn
	// maxTS is the largest timestamp and maxTSOffset the last offset of the batch that has it. The offset is stored first.
	maxTS, maxTSOffset atomic.Int64

	// sinceIndex counts bytes since the last index entry.
	sinceIndex int64
	// reserved is up to where room was asked for on the disk, 0 if it was not.
	reserved int64
	// createdMs is when the segment was made, in Unix ms; it ages by that while no record has a timestamp.
	createdMs int64
	// firstTS is the timestamp of the first batch; -1 when it has none, firstUnknown when it was not looked up.
	firstTS int64
	// modifiedMs is the time of the last write, for retention of records without timestamps.
	modifiedMs atomic.Int64
	// dirty tells that something was written since the last sync.
	dirty atomic.Bool
	// files tells that the directory entries were not synced yet.
	newFiles atomic.Bool
}

const firstUnknown = int64(math.MinInt64)

// createSegment makes the files of a new segment, replacing leftovers.
func createSegment(fsys vfs.FS, dir string, base int64, cfg *Config, nowMs int64) (*segment, error) {
	return createSegmentAs(fsys, dir, base, "", cfg, nowMs)
}

// createSegmentAs makes the files of a segment under names with an extension.
func createSegmentAs(fsys vfs.FS, dir string, base int64, ext string, cfg *Config, nowMs int64) (*segment, error) {
	s := &segment{fsys: fsys, dir: dir, base: base, ext: ext, createdMs: nowMs, firstTS: firstUnknown}
	s.modifiedMs.Store(nowMs)
	s.noTimestamps()
	s.newFiles.Store(true)
	s.dirty.Store(true)
	f, err := fsys.OpenFile(s.path(logSuffix), vfs.Write|vfs.Create|vfs.Trunc)
	if err != nil {
		return nil, err
	}
	s.file = newPinned(f)
	if cfg.Preallocate {
		err = f.Truncate(int64(cfg.SegmentBytes))
	}
	err = errors.Join(err, vfs.RemoveIfExists(fsys, s.path(txnSuffix)))
	if err == nil {
		err = s.createIndexes(cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *segment) createIndexes(cfg *Config) (err error) {
	if s.offsets, err = index.CreateOffset(s.fsys, s.path(indexSuffix), s.base, cfg.IndexBytes); err != nil {
		return err
	}
	if s.times, err = index.CreateTime(s.fsys, s.path(timeSuffix), s.base, cfg.IndexBytes); err != nil {
		return err
	}
	s.txns, err = index.OpenTxn(s.fsys, s.path(txnSuffix))
	return err
}

func (s *segment) path(suffix string) string { return segmentPath(s.dir, s.base, suffix) + s.ext }

// rename changes the extension of all files, durably.
func (s *segment) rename(ext string) error {
	if err := s.changeExt(ext); err != nil {
		return err
	}
	return s.fsys.SyncDir(s.dir)
}

// changeExt changes the extension of all files.
func (s *segment) changeExt(ext string) error {
	old := s.ext
	from := s.path(logSuffix)
	s.ext = ext
	err := errors.Join(
		s.offsets.Rename(s.path(indexSuffix)), s.times.Rename(s.path(timeSuffix)), s.txns.Rename(s.path(txnSuffix)),
		s.fsys.Rename(from, s.path(logSuffix)),
	)
	if err != nil {
		return fmt.Errorf("rename %s from %q to %q: %w", s, old, ext, err)
	}
	return nil
}

func (s *segment) noTimestamps() {
	s.maxTSOffset.Store(s.base)
	s.maxTS.Store(record.NoTimestamp)
}

// fits tells whether an offset can be written relative to the base.
func (s *segment) fits(offset int64) bool {
	return offset >= s.base && offset-s.base <= math.MaxInt32
}

// set describes batches that are appended together.
type set struct {
	buf []byte
	// first is the first offset, records how many there are.
	first, records int64
	// last is the last offset; maxTS the largest timestamp, and maxTSOffset the last offset of the batch that has it.
	last               int64
	maxTS, maxTSOffset int64
}

// Room is reserved on the disk ahead of a segment that grows: for a sixteenth of what it has, within these bounds in bytes. A
// write into reserved room costs a seventh less, since blocks need not be found one by one.
const (
	reserveLeast = 1 << 20
	reserveMost  = 16 << 20
	reserveShare = 16
)

// write puts batches at the end of the file: one system call, and rarely another. Nothing is visible before publish.
func (s *segment) write(b []byte) error {
	pos := s.size.Load()
	s.growTo(pos + int64(len(b)))
	_, err := s.file.f.WriteAt(b, pos)
	s.dirty.Store(true)
	return err
}

// writeAll is write for pieces that follow one another.
func (s *segment) writeAll(pieces [][]byte) error {
	pos := s.size.Load()
	end := pos
	for _, b := range pieces {
		end += int64(len(b))
	}
	s.growTo(end)
	err := s.file.f.WriteAllAt(pieces, pos)
	s.dirty.Store(true)
	return err
}

// growTo sees to it that there is room.
func (s *segment) growTo(end int64) {
	if end > s.reserved && end > reserveLeast {
		s.reserve(s.size.Load(), end+min(max(end/reserveShare, reserveLeast), reserveMost))
	}
}

// reserve asks for room. If there is none, the write that follows decides what that means, and nobody asks again.
func (s *segment) reserve(from, to int64) {
	s.reserved = to
	if err := s.file.f.Reserve(from, to-from); err != nil {
		s.reserved = math.MaxInt64
	}
}

// shorten cuts the file, and gives back what was reserved behind its end.
func (s *segment) shorten(size int64) error {
	s.reserved = 0
	return s.file.f.Truncate(size)
}

// publish makes what was written visible and indexes it. Kafka: LogSegment.append.
func (s *segment) publish(a set, intervalBytes int32, nowMs int64) error {
	pos := s.size.Load()
	if s.firstTS == firstUnknown && pos == 0 {
		s.firstTS = header(a.buf).maxTimestamp()
	}
	if a.maxTS > s.maxTS.Load() {
		s.maxTSOffset.Store(a.maxTSOffset)
		s.maxTS.Store(a.maxTS)
	}
	s.modifiedMs.Store(nowMs)
	s.size.Store(pos + int64(len(a.buf)))
	err := s.index(a.last, pos, intervalBytes)
	s.sinceIndex += int64(len(a.buf))
	return err
}

// index adds entries when enough was written since the last ones. It comes before counting the new bytes, as in Kafka.
func (s *segment) index(last, pos int64, intervalBytes int32) error {
	if s.sinceIndex <= int64(intervalBytes) {
		return nil
	}
	s.sinceIndex = 0
	if err := s.offsets.Append(last, int32(pos)); err != nil {
		return err
	}
	err := s.times.Append(s.maxTS.Load(), s.maxTSOffset.Load(), false)
	if errors.Is(err, index.ErrFull) {
		return nil // the segment is rolled before the next append
	}
	return err
}

// seal ends the life of an active segment: a last time entry, index files cut to their entries, the file to its size. preallocated
// is for log.preallocate.
// Kafka: LogSegment.onBecomeInactiveSegment.
func (s *segment) seal(preallocated bool) error {
	s.dirty.Store(true)
	if err := s.times.Append(s.maxTS.Load(), s.maxTSOffset.Load(), true); err != nil {
		return err
	}
	if preallocated || s.reserved > 0 {
		if err := s.shorten(s.size.Load()); err != nil {
			return err
		}
	}
	return errors.Join(s.offsets.Seal(), s.times.Seal())
}

// sync makes everything durable that was written before the call.
func (s *segment) sync() error {
	if s.dirty.Swap(false) {
		err := errors.Join(s.file.f.Sync(), s.offsets.Sync(), s.times.Sync(), s.txns.Sync())
		if err != nil {
			s.dirty.Store(true)
			return err
		}
	}
	if s.newFiles.Swap(false) {
		if err := s.fsys.SyncDir(s.dir); err != nil {
			s.newFiles.Store(true)
			return err
		}
	}
	return nil
}

// close gives up the files without sealing.
func (s *segment) close() error {
	var err error
	if s.offsets != nil {
		err = s.offsets.Close()
	}
	if s.times != nil {
		err = errors.Join(err, s.times.Close())
	}
	if s.file != nil {
		err = errors.Join(err, s.file.release())
	}
	return err
}

// files are the paths that a segment may have.
func (s *segment) files() []string {
	return []string{s.path(logSuffix), s.path(indexSuffix), s.path(timeSuffix), s.path(txnSuffix)}
}

// markDeleted renames the files of a segment. It stays open, for readers and until it is out of the list. It returns the
// paths to remove later. Kafka: LogSegment.changeFileSuffixes.
func (s *segment) markDeleted() (paths []string, err error) {
	if err := s.changeExt(deletedSuffix); err != nil {
		return nil, err
	}
	paths = []string{s.path(logSuffix), s.path(indexSuffix), s.path(timeSuffix)}
	if s.txns.Exists() {
		paths = append(paths, s.path(txnSuffix))
	}
	return paths, nil
}

// largestTimestamp is what time retention counts by: the records' or, when they have none, the file's.
// Kafka: LogSegment.largestTimestamp.
func (s *segment) largestTimestamp() int64 {
	if ts := s.maxTS.Load(); ts >= 0 {
		return ts
	}
	return s.modifiedMs.Load()
}

// corrupt makes an error about a position of this segment.
func (s *segment) corrupt(pos int64, err error) error {
	return &CorruptError{Dir: s.dir, Segment: s.base, Pos: pos, Err: err}
}

// String names the file in log lines.
func (s *segment) String() string {
	return fmt.Sprintf("%s/%020d", filepath.Base(s.dir), s.base)
}
