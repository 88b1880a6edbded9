package epoch

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// Entry says that an epoch's first record is, or would be, at Start.
type Entry struct {
	Epoch metadata.LeaderEpoch
	Start int64
}

// Cache is the history of one partition. Kafka: LeaderEpochFileCache.
type Cache struct {
	fsys vfs.FS
	mu   struct {
		sync.RWMutex
		path string
		// entries rise strictly in epoch and in start offset.
		entries []Entry
	}
	// unsaved tells that the file does not have the entries yet. It changes under mu.
	unsaved atomic.Bool
}

// Open reads the history of the partition from a file, which need not exist. A *CorruptError comes with an empty Cache.
func Open(fsys vfs.FS, path string) (*Cache, error) {
	c := &Cache{fsys: fsys}
	c.mu.path = path
	entries, err := read(fsys, path)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		c.insertLocked(e)
	}
	return c, nil
}

// Assign notes that records from start on are of epoch e. What contradicts it is dropped: later epochs, and epochs that
// begin at or above start. It reports whether the history changed. Kafka: LeaderEpochFileCache.assign.
func (c *Cache) Assign(e metadata.LeaderEpoch, start int64) (changed bool, err error) {
	if e < 0 || start < 0 {
		return false, fmt.Errorf("epoch %d at offset %d is out of range", e, start)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.insertLocked(Entry{e, start}) {
		return false, nil
	}
	return true, c.writeLocked()
}

// Note is Assign without the write, for an epoch that has no records yet: nothing is lost with it, because loading a log
// drops epochs that begin at its end. Save comes before the first record.
func (c *Cache) Note(e metadata.LeaderEpoch, start int64) error {
	if e < 0 || start < 0 {
		return fmt.Errorf("epoch %d at offset %d is out of range", e, start)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.insertLocked(Entry{e, start}) {
		c.unsaved.Store(true)
	}
	return nil
}

// Save writes what Note and ForgetFromEnd have left unwritten.
func (c *Cache) Save() error {
	if !c.unsaved.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked()
}

// insertLocked adds an entry at the end and reports whether that was news.
func (c *Cache) insertLocked(e Entry) bool {
	if n := len(c.mu.entries); n > 0 {
		if last := c.mu.entries[n-1]; e.Epoch == last.Epoch && e.Start >= last.Start {
			return false
		}
	}
	n := len(c.mu.entries)
	for n > 0 && (c.mu.entries[n-1].Epoch >= e.Epoch || c.mu.entries[n-1].Start >= e.Start) {
		n--
	}
	c.mu.entries = append(c.mu.entries[:n], e)
	return true
}

// Latest returns the last epoch; ok is false when there is none.
func (c *Cache) Latest() (e Entry, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n := len(c.mu.entries); n > 0 {
		return c.mu.entries[n-1], true
	}
	return Entry{Epoch: metadata.NoEpoch, Start: -1}, false
}

// Earliest returns the first epoch; ok is false when there is none.
func (c *Cache) Earliest() (e Entry, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.mu.entries) > 0 {
		return c.mu.entries[0], true
	}
	return Entry{Epoch: metadata.NoEpoch, Start: -1}, false
}

// Previous returns the largest epoch below the latest; ok is false when there is none.
func (c *Cache) Previous() (e Entry, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n := len(c.mu.entries); n > 1 {
		return c.mu.entries[n-2], true
	}
	return Entry{Epoch: metadata.NoEpoch, Start: -1}, false
}

// EndOffset answers OffsetForLeaderEpoch: the largest known epoch <= e and the offset at which it ends, which for the
// latest epoch is logEnd. For an epoch before the first known one the answer is e itself and the start of the first.
// ok is false when e is above all known epochs, or nothing is known. Kafka: LeaderEpochFileCache.endOffsetFor.
func (c *Cache) EndOffset(e metadata.LeaderEpoch, logEnd int64) (found metadata.LeaderEpoch, end int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	es := c.mu.entries
	if e < 0 || len(es) == 0 || e > es[len(es)-1].Epoch {
		return metadata.NoEpoch, -1, false
	}
	if e == es[len(es)-1].Epoch {
		return e, logEnd, true
	}
	i := sort.Search(len(es), func(i int) bool { return es[i].Epoch > e })
	if i == 0 {
		return e, es[0].Start, true
	}
	return es[i-1].Epoch, es[i].Start, true
}

// At returns the epoch of the record at offset, NoEpoch when it is not known.
func (c *Cache) At(offset int64) metadata.LeaderEpoch {
	c.mu.RLock()
	defer c.mu.RUnlock()
	es := c.mu.entries
	i := sort.Search(len(es), func(i int) bool { return es[i].Start > offset })
	if i == 0 {
		return metadata.NoEpoch
	}
	return es[i-1].Epoch
}

// TruncateFromEnd drops the epochs that begin at or above end. Kafka: LeaderEpochFileCache.truncateFromEnd.
func (c *Cache) TruncateFromEnd(end int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cutLocked(end) {
		return nil
	}
	return c.writeLocked()
}

// ForgetFromEnd is TruncateFromEnd without the write, for a log that is being loaded: end is where its records end, so
// the next load drops the same epochs again, unless a record was appended, and Save came before that.
func (c *Cache) ForgetFromEnd(end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cutLocked(end) {
		c.unsaved.Store(true)
	}
}

func (c *Cache) cutLocked(end int64) (changed bool) {
	n := len(c.mu.entries)
	for n > 0 && c.mu.entries[n-1].Start >= end {
		n--
	}
	changed = n < len(c.mu.entries)
	c.mu.entries = c.mu.entries[:n]
	return changed
}

// TruncateFromStart drops the epochs that end at or below start; the one that spans it now begins there.
// Kafka: LeaderEpochFileCache.truncateFromStart.
func (c *Cache) TruncateFromStart(start int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.mu.entries) && c.mu.entries[n].Start <= start {
		n++
	}
	if n == 0 || (n == 1 && c.mu.entries[0].Start == start) {
		return nil
	}
	kept := slices.Clone(c.mu.entries[n-1:])
	kept[0].Start = start
	c.mu.entries = kept
	return c.writeLocked()
}

// Clear forgets everything.
func (c *Cache) Clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.entries) == 0 {
		return nil
	}
	c.mu.entries = nil
	return c.writeLocked()
}

// Entries returns a copy of the history.
func (c *Cache) Entries() []Entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.mu.entries)
}

// Moved tells that the file now has another path, because its directory was renamed.
func (c *Cache) Moved(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.path = path
}

// writeLocked saves the history. It is IO under the lock, on purpose: readers must not see an epoch that a crash forgets.
func (c *Cache) writeLocked() error {
	if err := vfs.WriteFileAtomic(c.fsys, c.mu.path, Encode(c.mu.entries)); err != nil {
		return err
	}
	c.unsaved.Store(false)
	return nil
}
