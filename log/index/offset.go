package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"jackdaw/internal/vfs"
)

// OffsetEntrySize is the size of an entry: relative offset and position, int32 each.
const OffsetEntrySize = 8

// Offset maps offsets to positions in the segment: the last offset of some batches to where the batch begins.
// Kafka: OffsetIndex.
type Offset struct {
	base int64
	t    table
}

// CreateOffset makes the preallocated file of a new segment.
func CreateOffset(fsys vfs.FS, path string, base int64, maxBytes int32) (*Offset, error) {
	x := &Offset{base: base, t: table{fsys: fsys, size: OffsetEntrySize}}
	return x, x.t.create(path, maxBytes)
}

// OpenOffset opens an existing file. A *CorruptError asks for Reset; the index is usable for that.
func OpenOffset(fsys vfs.FS, path string, base int64) (*Offset, error) {
	x := &Offset{base: base, t: table{fsys: fsys, size: OffsetEntrySize}}
	return x, x.t.open(path)
}

// Check looks for a file that was not sealed, or contradicts its segment. Kafka: OffsetIndex.sanityCheck.
func (x *Offset) Check() error {
	n := x.t.entries()
	if n == 0 {
		return nil
	}
	var first, last [OffsetEntrySize]byte
	if err := x.t.at(0, first[:]); err != nil {
		return err
	}
	if err := x.t.at(n-1, last[:]); err != nil {
		return err
	}
	if rel := int32(binary.BigEndian.Uint32(last[:])); rel < 0 || (n > 1 && rel <= int32(binary.BigEndian.Uint32(first[:]))) {
		return x.t.corrupt(fmt.Sprintf("last relative offset %d of %d entries", rel, n))
	}
	return nil
}

// Append adds an entry. offset must be above the last one and within 2^31-1 of the base. It allocates nothing.
func (x *Offset) Append(offset int64, pos int32) error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.t.fullLocked(0) {
		return ErrFull
	}
	rel := offset - x.base
	if rel < 0 || rel > math.MaxInt32 || (x.t.entriesLocked() > 0 && rel <= int64(x.lastRelLocked())) {
		return fmt.Errorf("index %s: offset %d after %d", x.t.mu.path, offset, x.base+int64(x.lastRelLocked()))
	}
	var e [OffsetEntrySize]byte
	binary.BigEndian.PutUint32(e[:], uint32(rel))
	binary.BigEndian.PutUint32(e[4:], uint32(pos))
	return x.t.appendLocked(e[:])
}

func (x *Offset) lastRelLocked() int32 { return int32(binary.BigEndian.Uint32(x.t.mu.last[:])) }

// OffsetEntry is one entry.
type OffsetEntry struct {
	Offset int64
	Pos    int32
}

func (x *Offset) decode(e []byte) OffsetEntry {
	return OffsetEntry{
		Offset: x.base + int64(int32(binary.BigEndian.Uint32(e))),
		Pos:    int32(binary.BigEndian.Uint32(e[4:])),
	}
}

// Last returns the last entry, or base and position 0.
func (x *Offset) Last() OffsetEntry {
	x.t.mu.RLock()
	defer x.t.mu.RUnlock()
	if x.t.entriesLocked() == 0 {
		return OffsetEntry{Offset: x.base}
	}
	return x.decode(x.t.mu.last[:])
}

// Lookup returns the entry with the largest offset <= offset, or base and position 0. Kafka: OffsetIndex.lookup.
func (x *Offset) Lookup(offset int64, scratch []byte) (OffsetEntry, error) {
	rel := offset - x.base
	for {
		n, err := x.t.search(scratch, func(e []byte) bool { return int64(int32(binary.BigEndian.Uint32(e))) <= rel })
		e, err := x.entryBefore(n, err, scratch)
		switch {
		case errors.Is(err, errShrunk):
			continue
		case e.Offset > offset: // truncated and written again between the search and the read of the entry
			return OffsetEntry{Offset: x.base}, err
		}
		return e, err
	}
}

// LookupPos returns the entry with the largest position <= pos, or base and position 0.
func (x *Offset) LookupPos(pos int64, scratch []byte) (OffsetEntry, error) {
	for {
		n, err := x.t.search(scratch, func(e []byte) bool { return int64(int32(binary.BigEndian.Uint32(e[4:]))) <= pos })
		if e, err := x.entryBefore(n, err, scratch); !errors.Is(err, errShrunk) {
			return e, err
		}
	}
}

// UpperBound returns the first entry whose position is >= pos; ok is false when there is none.
// Kafka: OffsetIndex.fetchUpperBoundOffset.
func (x *Offset) UpperBound(pos int64, scratch []byte) (e OffsetEntry, ok bool, err error) {
	n, err := x.t.search(scratch, func(e []byte) bool { return int64(int32(binary.BigEndian.Uint32(e[4:]))) < pos })
	if err != nil || n >= x.t.entries() {
		return OffsetEntry{}, false, err
	}
	var b [OffsetEntrySize]byte
	if err := x.t.at(n, b[:]); err != nil {
		if errors.Is(err, errShrunk) {
			err = nil // there is none any more
		}
		return OffsetEntry{}, false, err
	}
	return x.decode(b[:]), true, nil
}

// entryBefore returns entry n-1, or the start of the segment when n is 0.
func (x *Offset) entryBefore(n int, err error, scratch []byte) (OffsetEntry, error) {
	if err != nil || n == 0 {
		return OffsetEntry{Offset: x.base}, err
	}
	if len(scratch) < OffsetEntrySize {
		scratch = make([]byte, OffsetEntrySize)
	}
	if err := x.t.at(n-1, scratch[:OffsetEntrySize]); err != nil {
		return OffsetEntry{}, err
	}
	return x.decode(scratch), nil
}

// TruncateTo drops the entries with an offset >= offset.
func (x *Offset) TruncateTo(offset int64, scratch []byte) error {
	rel := offset - x.base
	n, err := x.t.search(scratch, func(e []byte) bool { return int64(int32(binary.BigEndian.Uint32(e))) < rel })
	if err != nil {
		return err
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return x.t.truncateLocked(n)
}

// Entries returns the number of entries.
func (x *Offset) Entries() int { return x.t.entries() }

// At returns entry i.
func (x *Offset) At(i int) (OffsetEntry, error) {
	var b [OffsetEntrySize]byte
	err := x.t.at(i, b[:])
	return x.decode(b[:]), err
}

// Full tells whether no entry can be added.
func (x *Offset) Full() bool { return x.FullAfter(0) }

// FullAfter tells whether no entry can be added after n more.
func (x *Offset) FullAfter(n int) bool {
	x.t.mu.RLock()
	defer x.t.mu.RUnlock()
	return x.t.fullLocked(n)
}

// Preallocate makes the file ready for more entries.
func (x *Offset) Preallocate(maxBytes int32) error { return x.t.preallocate(maxBytes) }

// Reset drops all entries.
func (x *Offset) Reset(maxBytes int32) error { return x.t.reset(maxBytes) }

// Seal cuts the file to its entries.
func (x *Offset) Seal() error { return x.t.seal() }

// Sync makes the entries durable.
func (x *Offset) Sync() error { return x.t.sync() }

// Rename changes the name of the file.
func (x *Offset) Rename(path string) error { return x.t.rename(path) }

// Moved tells that the directory of the file was renamed.
func (x *Offset) Moved(dir string) { x.t.moved(dir) }

// Idle closes the descriptor until it is needed again.
func (x *Offset) Idle() error { return x.t.idle() }

// Close gives up the file without sealing it.
func (x *Offset) Close() error { return x.t.close() }
