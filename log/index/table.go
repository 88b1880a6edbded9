package index

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"jackdaw/internal/vfs"
)

// tailEntries is how many entries are collected in memory before they are written.
const tailEntries = 128

// ErrFull tells that an index has no room; the segment must be rolled. Kafka: AbstractIndex.isFull.
var ErrFull = errors.New("index is full")

// errShrunk tells that an entry was dropped between its finding and its reading, by a truncation or by close, which drops the
// tail: the search has to be made again.
var errShrunk = errors.New("entry was dropped meanwhile")

// ErrClosed tells that an index was closed: its segment is not in service any more.
var ErrClosed = errors.New("index is closed")

// CorruptError tells that an index file contradicts itself or its segment, and must be rebuilt.
// Kafka: CorruptIndexException.
type CorruptError struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt index %s: %s", e.Path, e.Reason) }

// table is a file of entries of one size. The embedded mutex guards all fields that change.
type table struct {
	fsys vfs.FS
	size int // bytes of an entry
	mu   struct {
		sync.RWMutex
		path string
		// f is nil until it is needed.
		f vfs.File
		// written entries are in the file, those in tail follow them.
		written int
		tail    []byte
		// maxEntries bounds what may be added.
		maxEntries int
		last       [maxEntrySize]byte
		closed     bool
	}
}

const maxEntrySize = 12

// create makes the preallocated file of a new segment, replacing what may be there.
func (t *table) create(path string, maxBytes int32) error {
	t.mu.path = path
	t.mu.maxEntries = int(maxBytes) / t.size
	f, err := t.fsys.OpenFile(path, vfs.Write|vfs.Create|vfs.Trunc)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(t.mu.maxEntries*t.size)), f.Close())
}

// open takes over an existing file with all entries that fit into it. A file that was not sealed ends with zeros; the
// caller rebuilds it.
func (t *table) open(path string) error {
	st, err := t.fsys.Stat(path)
	if err != nil {
		return err
	}
	t.mu.path = path
	if st.Size%int64(t.size) != 0 {
		return t.corrupt(fmt.Sprintf("size %d is no multiple of %d", st.Size, t.size))
	}
	t.mu.written = int(st.Size) / t.size
	t.mu.maxEntries = t.mu.written
	if t.mu.written == 0 {
		return nil
	}
	return t.loadLastLocked()
}

// corrupt makes an error about this file.
func (t *table) corrupt(reason string) error { return &CorruptError{Path: t.mu.path, Reason: reason} }

// fileLocked opens the file on first use.
func (t *table) fileLocked() (vfs.File, error) {
	if t.mu.f != nil {
		return t.mu.f, nil
	}
	if t.mu.closed {
		return nil, fmt.Errorf("%s: %w", t.mu.path, ErrClosed)
	}
	f, err := t.fsys.OpenFile(t.mu.path, vfs.Write)
	if err != nil {
		return nil, err
	}
	t.mu.f = f
	return f, nil
}

// entriesLocked counts all entries.
func (t *table) entriesLocked() int { return t.mu.written + len(t.mu.tail)/t.size }

// entries counts all entries.
func (t *table) entries() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entriesLocked()
}

// fullLocked tells whether fewer than spare+1 entries may be added.
func (t *table) fullLocked(spare int) bool { return t.entriesLocked() >= t.mu.maxEntries-spare }

// appendLocked adds an entry, writing the tail out when it has grown enough.
func (t *table) appendLocked(e []byte) error {
	if t.mu.tail == nil {
		t.mu.tail = make([]byte, 0, tailEntries*t.size)
	}
	if len(t.mu.tail) == cap(t.mu.tail) {
		if err := t.writeTailLocked(); err != nil {
			return err
		}
	}
	t.mu.tail = append(t.mu.tail, e...)
	copy(t.mu.last[:], e)
	return nil
}

// writeTailLocked moves the tail into the file.
func (t *table) writeTailLocked() error {
	if len(t.mu.tail) == 0 {
		return nil
	}
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(t.mu.tail, int64(t.mu.written*t.size)); err != nil {
		return err
	}
	t.mu.written += len(t.mu.tail) / t.size
	t.mu.tail = t.mu.tail[:0]
	return nil
}

// loadLastLocked sets last from the entries that are there.
func (t *table) loadLastLocked() error {
	t.mu.last = [maxEntrySize]byte{}
	if n := len(t.mu.tail); n > 0 {
		copy(t.mu.last[:], t.mu.tail[n-t.size:])
		return nil
	}
	if t.mu.written == 0 {
		return nil
	}
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	return readFull(f, t.mu.last[:t.size], int64((t.mu.written-1)*t.size))
}

// readFull reads exactly len(p) bytes.
func readFull(f vfs.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// truncateLocked keeps the first n entries. The file keeps its length; what lies beyond the entries is not looked at.
func (t *table) truncateLocked(n int) error {
	if n >= t.entriesLocked() {
		return nil
	}
	if n >= t.mu.written {
		t.mu.tail = t.mu.tail[:(n-t.mu.written)*t.size]
	} else {
		t.mu.written = n
		t.mu.tail = t.mu.tail[:0]
	}
	return t.loadLastLocked()
}

// setSizeLocked writes the tail and sets the file's length: to its entries when maxBytes is 0, else preallocated.
func (t *table) setSizeLocked(maxBytes int32) error {
	if err := t.writeTailLocked(); err != nil {
		return err
	}
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	n := t.mu.written
	if maxBytes > 0 {
		n = max(n, int(maxBytes)/t.size)
	}
	t.mu.maxEntries = n
	return f.Truncate(int64(n * t.size))
}

// preallocate makes the file ready for more entries. Kafka: AbstractIndex.resize.
func (t *table) preallocate(maxBytes int32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.setSizeLocked(maxBytes); err != nil {
		return err
	}
	return t.releaseLocked()
}

// seal cuts the file to its entries, gives up tail and descriptor. Kafka: AbstractIndex.trimToValidSize.
func (t *table) seal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed {
		return nil
	}
	if err := t.setSizeLocked(0); err != nil {
		return err
	}
	t.mu.tail = nil
	return t.releaseLocked()
}

// releaseLocked closes the descriptor; it is opened again when needed.
func (t *table) releaseLocked() error {
	if t.mu.f == nil {
		return nil
	}
	f := t.mu.f
	t.mu.f = nil
	return f.Close()
}

// idle closes the descriptor until it is needed again.
func (t *table) idle() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.releaseLocked()
}

// sync writes the tail and makes the file durable.
func (t *table) sync() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed {
		return nil
	}
	if err := t.writeTailLocked(); err != nil {
		return err
	}
	if t.mu.f == nil {
		defer t.releaseLocked() //nolint:errcheck // opened only to be synced
	}
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	return f.Sync()
}

// close drops the descriptor without writing anything; seal first to keep the tail.
func (t *table) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.closed = true
	t.mu.tail = nil
	return t.releaseLocked()
}

// reset drops all entries and preallocates.
func (t *table) reset(maxBytes int32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.truncateLocked(0); err != nil {
		return err
	}
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	return t.setSizeLocked(maxBytes)
}

// rename changes the name of the file.
func (t *table) rename(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.fsys.Rename(t.mu.path, path); err != nil {
		return err
	}
	t.mu.path = path
	return nil
}

// moved tells the table that its directory was renamed.
func (t *table) moved(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.path = filepath.Join(dir, filepath.Base(t.mu.path))
}

// search returns the number of entries for which below holds; it must hold for a prefix. The search in the file is made
// without the lock, on entries that do not change; if they were truncated meanwhile it is repeated under the lock.
func (t *table) search(scratch []byte, below func(e []byte) bool) (int, error) {
	t.mu.RLock()
	n := t.entriesLocked()
	if n == 0 {
		t.mu.RUnlock()
		return 0, nil
	}
	written := t.mu.written
	if len(t.mu.tail) > 0 && (written == 0 || below(t.mu.tail[:t.size])) {
		i := searchBytes(t.mu.tail, t.size, below)
		t.mu.RUnlock()
		return written + i, nil
	}
	f := t.mu.f
	t.mu.RUnlock()
	if f != nil {
		if i, err := searchFile(f, 0, written, t.size, scratch, below); err == nil {
			return i, nil
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.fileLocked()
	if err != nil {
		return 0, err
	}
	return searchFile(f, 0, t.mu.written, t.size, scratch, below)
}

// searchBytes is search in memory.
func searchBytes(b []byte, size int, below func(e []byte) bool) int {
	lo, hi := 0, len(b)/size
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if below(b[mid*size : (mid+1)*size]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// searchFile is search among the entries [lo, hi) of a file. Once the rest fits into scratch it is read at once.
func searchFile(f vfs.File, lo, hi, size int, scratch []byte, below func(e []byte) bool) (int, error) {
	fits := max(len(scratch)/size, 1)
	if len(scratch) < size {
		scratch = make([]byte, size)
	}
	for hi-lo > fits {
		mid := int(uint(lo+hi) >> 1)
		if err := readFull(f, scratch[:size], int64(mid*size)); err != nil {
			return 0, err
		}
		if below(scratch[:size]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if hi == lo {
		return lo, nil
	}
	block := scratch[:(hi-lo)*size]
	if err := readFull(f, block, int64(lo*size)); err != nil {
		return 0, err
	}
	return lo + searchBytes(block, size, below), nil
}

// at reads entry i; errShrunk when there is none.
func (t *table) at(i int, e []byte) error {
	t.mu.RLock()
	if i >= t.entriesLocked() {
		t.mu.RUnlock()
		return errShrunk
	}
	if i >= t.mu.written {
		copy(e, t.mu.tail[(i-t.mu.written)*t.size:(i-t.mu.written+1)*t.size])
		t.mu.RUnlock()
		return nil
	}
	f := t.mu.f
	t.mu.RUnlock()
	if f != nil && readFull(f, e[:t.size], int64(i*t.size)) == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.fileLocked()
	if err != nil {
		return err
	}
	return readFull(f, e[:t.size], int64(i*t.size))
}
