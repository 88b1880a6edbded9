package producer

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jackdaw/internal/vfs"
)

// Suffix of snapshot files; before it stands the offset, 20 digits, below which the snapshot is complete.
const Suffix = ".snapshot"

// SnapshotName is the file name of the snapshot at offset.
func SnapshotName(offset int64) string { return fmt.Sprintf("%020d%s", offset, Suffix) }

// Snapshots lists the offsets of the snapshots in a directory, rising.
func Snapshots(fsys vfs.FS, dir string) ([]int64, error) {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, e := range list {
		if digits, ok := strings.CutSuffix(e.Name, Suffix); ok && !e.Dir {
			if off, err := strconv.ParseInt(digits, 10, 64); err == nil && off >= 0 {
				out = append(out, off)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// SnapshotDue tells whether the state has moved since the last snapshot.
func (s *State) SnapshotDue() bool { return s.mapEnd > s.snapEnd }

// TakeSnapshot writes the state if it has moved since the last snapshot, and makes it durable if sync is set.
// Kafka: ProducerStateManager.takeSnapshot.
func (s *State) TakeSnapshot(fsys vfs.FS, dir string, sync bool) error {
	if !s.SnapshotDue() {
		return nil
	}
	f, err := fsys.OpenFile(filepath.Join(dir, SnapshotName(s.mapEnd)), vfs.Write|vfs.Create|vfs.Trunc)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(EncodeSnapshot(s.Entries()), 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.snapEnd = s.mapEnd
	return nil
}

// Load resets the state to the newest snapshot in (start, end], or to nothing at start. Snapshots outside of that range
// and those that cannot be read are removed. Kafka: ProducerStateManager.truncateAndReload.
func (s *State) Load(fsys vfs.FS, dir string, start, end, nowMs int64) error {
	s.Reset(start)
	offsets, err := Snapshots(fsys, dir)
	if err != nil {
		return err
	}
	for _, off := range slices.Backward(offsets) {
		path := filepath.Join(dir, SnapshotName(off))
		if off > start && off <= end {
			ok, err := s.loadFile(fsys, path, off, nowMs)
			if err != nil {
				return err
			}
			if ok {
				return removeBelow(fsys, dir, offsets, start)
			}
		}
		if err := vfs.RemoveIfExists(fsys, path); err != nil {
			return err
		}
	}
	return nil
}

// removeBelow deletes the snapshots at or below the start of the log.
func removeBelow(fsys vfs.FS, dir string, offsets []int64, start int64) error {
	for _, off := range offsets {
		if off <= start {
			if err := vfs.RemoveIfExists(fsys, filepath.Join(dir, SnapshotName(off))); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadFile takes over a snapshot; ok is false when its content is no snapshot.
func (s *State) loadFile(fsys vfs.FS, path string, off, nowMs int64) (ok bool, err error) {
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return false, err
	}
	entries, err := DecodeSnapshot(b)
	if err != nil {
		return false, nil //nolint:nilerr // a corrupt snapshot is worth as much as none; the caller removes it
	}
	s.Reset(off)
	for _, e := range entries {
		if s.expired(e, nowMs) {
			continue
		}
		s.put(e)
		if e.TxnFirstOffset != NoOffset {
			s.insertOpen(openTxn{e.TxnFirstOffset, e.ID})
		}
	}
	return true, nil
}
