package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"jackdaw/internal/vfs"
)

// TimeEntrySize is the size of an entry: timestamp in Unix ms (int64) and relative offset (int32).
const TimeEntrySize = 12

// Time maps the largest timestamp so far to the last offset of the batch that has it. Kafka: TimeIndex.
type Time struct {
	base int64
	t    table
}

// TimeEntry is one entry: no record at or below Offset is later than Timestamp.
type TimeEntry struct {
	// Timestamp is in Unix ms, -1 for none.
	Timestamp int64
	Offset    int64
}

// CreateTime makes the preallocated file of a new segment.
func CreateTime(fsys vfs.FS, path string, base int64, maxBytes int32) (*Time, error) {
	x := &Time{base: base, t: table{fsys: fsys, size: TimeEntrySize}}
	return x, x.t.create(path, maxBytes)
}

// OpenTime opens an existing file. A *CorruptError asks for Reset; the index is usable for that.
func OpenTime(fsys vfs.FS, path string, base int64) (*Time, error) {
	x := &Time{base: base, t: table{fsys: fsys, size: TimeEntrySize}}
	return x, x.t.open(path)
}

// Check looks for a file that was not sealed, or contradicts its segment. Kafka: TimeIndex.sanityCheck.
func (x *Time) Check() error {
	n := x.t.entries()
	if n == 0 {
		return nil
	}
	first, err := x.At(0)
	if err != nil {
		return err
	}
	last, err := x.At(n - 1)
	if err != nil {
		return err
	}
	if last.Timestamp < first.Timestamp || last.Offset < x.base || (n > 1 && last.Offset <= first.Offset) {
		return x.t.corrupt(fmt.Sprintf("last entry (%d, %d) of %d", last.Timestamp, last.Offset, n))
	}
	return nil
}

// Append adds an entry if ts is above the last one's. One place is kept free for the entry that seals a segment: only
// with sealing may it be taken. Kafka: TimeIndex.maybeAppend.
func (x *Time) Append(ts, offset int64, sealing bool) error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	last := x.lastLocked()
	if ts <= last.Timestamp {
		return nil
	}
	if !sealing && x.t.fullLocked(0) {
		return ErrFull
	}
	rel := offset - x.base
	if rel < 0 || rel > math.MaxInt32 || (x.t.entriesLocked() > 0 && offset < last.Offset) {
		return fmt.Errorf("index %s: offset %d after %d", x.t.mu.path, offset, last.Offset)
	}
	var e [TimeEntrySize]byte
	binary.BigEndian.PutUint64(e[:], uint64(ts))
	binary.BigEndian.PutUint32(e[8:], uint32(rel))
	return x.t.appendLocked(e[:])
}

func (x *Time) decode(e []byte) TimeEntry {
	return TimeEntry{
		Timestamp: int64(binary.BigEndian.Uint64(e)),
		Offset:    x.base + int64(int32(binary.BigEndian.Uint32(e[8:]))),
	}
}

func (x *Time) lastLocked() TimeEntry {
	if x.t.entriesLocked() == 0 {
		return TimeEntry{Timestamp: -1, Offset: x.base}
	}
	return x.decode(x.t.mu.last[:])
}

// Last returns the last entry, or timestamp -1 at the base offset.
func (x *Time) Last() TimeEntry {
	x.t.mu.RLock()
	defer x.t.mu.RUnlock()
	return x.lastLocked()
}

// Lookup returns the entry with the largest timestamp <= ts, or timestamp -1 at the base offset.
func (x *Time) Lookup(ts int64, scratch []byte) (TimeEntry, error) {
	none := TimeEntry{Timestamp: -1, Offset: x.base}
	for {
		n, err := x.t.search(scratch, func(e []byte) bool { return int64(binary.BigEndian.Uint64(e)) <= ts })
		if err != nil || n == 0 {
			return none, err
		}
		e, err := x.At(n - 1)
		switch {
		case errors.Is(err, errShrunk):
			continue
		case err == nil && e.Timestamp > ts: // truncated and written again between the search and the read of the entry
			return none, nil
		}
		return e, err
	}
}

// TruncateTo drops the entries with an offset >= offset.
func (x *Time) TruncateTo(offset int64, scratch []byte) error {
	rel := offset - x.base
	n, err := x.t.search(scratch, func(e []byte) bool { return int64(int32(binary.BigEndian.Uint32(e[8:]))) < rel })
	if err != nil {
		return err
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return x.t.truncateLocked(n)
}

// Entries returns the number of entries.
func (x *Time) Entries() int { return x.t.entries() }

// At returns entry i.
func (x *Time) At(i int) (TimeEntry, error) {
	var b [TimeEntrySize]byte
	err := x.t.at(i, b[:])
	return x.decode(b[:]), err
}

// Full tells whether only the sealing entry can be added. Kafka: TimeIndex.isFull.
func (x *Time) Full() bool { return x.FullAfter(0) }

// FullAfter tells the same of the index after n more entries.
func (x *Time) FullAfter(n int) bool {
	x.t.mu.RLock()
	defer x.t.mu.RUnlock()
	return x.t.fullLocked(n + 1)
}

// Preallocate makes the file ready for more entries.
func (x *Time) Preallocate(maxBytes int32) error { return x.t.preallocate(maxBytes) }

// Reset drops all entries.
func (x *Time) Reset(maxBytes int32) error { return x.t.reset(maxBytes) }

// Seal cuts the file to its entries.
func (x *Time) Seal() error { return x.t.seal() }

// Sync makes the entries durable.
func (x *Time) Sync() error { return x.t.sync() }

// Rename changes the name of the file.
func (x *Time) Rename(path string) error { return x.t.rename(path) }

// Moved tells that the directory of the file was renamed.
func (x *Time) Moved(dir string) { x.t.moved(dir) }

// Idle closes the descriptor until it is needed again.
func (x *Time) Idle() error { return x.t.idle() }

// Close gives up the file without sealing it.
func (x *Time) Close() error { return x.t.close() }
