package log

import (
	"errors"
	"math"
	"path/filepath"
	"strings"

	"jackdaw/internal/vfs"
)

// resolveLeftovers finishes or undoes what was going on when the process stopped. .deleted files go; .cleaned files are of
// a pass that did not end; .swap files are of one that did, so they replace the segments they were made from.
// Kafka: LogLoader.removeTempFilesAndCollectSwapFiles and the passes in load.
func (ld *loader) resolveLeftovers() error {
	names, err := ld.fsys().ReadDir(ld.dir())
	if err != nil {
		return err
	}
	swaps, err := ld.removeTemporary(names)
	if err != nil || len(swaps) == 0 {
		return err
	}
	if err := ld.removeReplaced(names, swaps); err != nil {
		return err
	}
	for _, name := range swaps {
		from := filepath.Join(ld.dir(), name)
		if err := ld.fsys().Rename(from, strings.TrimSuffix(from, swapSuffix)); err != nil {
			return err
		}
	}
	return ld.fsys().SyncDir(ld.dir())
}

// removeTemporary deletes .deleted, .cleaned and .tmp files, and the .swap files that belong to an unfinished set: those at
// or above the first .cleaned segment (KAFKA-6264). It returns the .swap files that count.
func (ld *loader) removeTemporary(names []vfs.Entry) (swaps []string, err error) {
	minCleaned := int64(math.MaxInt64)
	for _, n := range names {
		if strings.HasSuffix(n.Name, cleanedSuffix) {
			minCleaned = min(minCleaned, leadingOffset(n.Name))
		}
	}
	for _, n := range names {
		remove := strings.HasSuffix(n.Name, deletedSuffix) || strings.HasSuffix(n.Name, cleanedSuffix) ||
			strings.HasSuffix(n.Name, ".tmp")
		if strings.HasSuffix(n.Name, swapSuffix) {
			if remove = leadingOffset(n.Name) >= minCleaned; !remove {
				swaps = append(swaps, n.Name)
			}
		}
		if remove {
			if err := ld.fsys().Remove(filepath.Join(ld.dir(), n.Name)); err != nil {
				return nil, err
			}
		}
	}
	return swaps, nil
}

// leadingOffset is the offset that the name of a file begins with, the largest one when there is none.
func leadingOffset(name string) int64 {
	digits, _, _ := strings.Cut(name, ".")
	if base, ok := parseBase(digits, ""); ok {
		return base
	}
	return math.MaxInt64
}

// removeReplaced deletes the segments whose records the .swap segments hold now.
func (ld *loader) removeReplaced(names []vfs.Entry, swaps []string) error {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, name := range swaps {
		base, ok := parseBase(name, logSuffix+swapSuffix)
		if !ok {
			continue
		}
		next, err := ld.swapEnd(name, base)
		if err != nil {
			return err
		}
		from, to = min(from, base), max(to, next)
	}
	for _, n := range names {
		for _, suffix := range []string{logSuffix, indexSuffix, timeSuffix, txnSuffix} {
			base, ok := parseBase(n.Name, suffix)
			if !ok || base < from || base >= to {
				continue
			}
			ld.l.lg.Info("removing a file that a cleaned segment replaces", "file", n.Name)
			if err := ld.fsys().Remove(filepath.Join(ld.dir(), n.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// swapEnd returns the offset after the last record of a .swap segment, at least the one after its base.
func (ld *loader) swapEnd(name string, base int64) (next int64, err error) {
	f, err := ld.fsys().OpenFile(filepath.Join(ld.dir(), name), 0)
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	next = base
	sc := ld.l.env.scratch.get()
	defer ld.l.env.scratch.put(sc)
	_, err = walk(f, 0, size, sc.buf[:], func(h header, _ int64) bool {
		next = h.last() + 1
		return true
	})
	if errors.Is(err, errBadHeader) {
		err = nil // the recovery of the segment will cut there
	}
	return next, errors.Join(err, f.Close())
}
