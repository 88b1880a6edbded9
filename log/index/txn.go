package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"jackdaw/internal/vfs"
)

// TxnEntrySize is the size of an entry: version (int16), producer id, first and last offset, last stable offset (int64).
const TxnEntrySize = 34

// AbortedTxn is one aborted transaction. Kafka: AbortedTxn.
type AbortedTxn struct {
	ProducerID int64
	// FirstOffset is that of its first record, LastOffset that of the abort marker.
	FirstOffset, LastOffset int64
	// LastStableOffset is the one after the marker was appended.
	LastStableOffset int64
}

// Txn lists the aborted transactions whose marker is in a segment. The file exists only once there is one, and is read
// when it is asked; aborts are rare. Kafka: TransactionIndex.
type Txn struct {
	fsys vfs.FS
	mu   struct {
		sync.Mutex
		path    string
		entries int
		dirty   bool
	}
}

// OpenTxn takes over the file of a segment, or its absence.
func OpenTxn(fsys vfs.FS, path string) (*Txn, error) {
	x := &Txn{fsys: fsys}
	x.mu.path = path
	st, err := fsys.Stat(path)
	if err != nil {
		if exists, e := vfs.Exists(fsys, path); e == nil && !exists {
			return x, nil
		}
		return nil, err
	}
	x.mu.entries = int(st.Size / TxnEntrySize)
	if st.Size%TxnEntrySize != 0 {
		return x, &CorruptError{Path: path, Reason: fmt.Sprintf("size %d is no multiple of %d", st.Size, TxnEntrySize)}
	}
	return x, nil
}

// Append adds a transaction.
func (x *Txn) Append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, err := x.fsys.OpenFile(x.mu.path, vfs.Write|vfs.Create)
	if err != nil {
		return err
	}
	_, werr := f.WriteAt(encodeTxn(t), int64(x.mu.entries)*TxnEntrySize)
	if err := errors.Join(werr, f.Close()); err != nil {
		return err
	}
	x.mu.entries++
	x.mu.dirty = true
	return nil
}

func encodeTxn(t AbortedTxn) []byte {
	b := make([]byte, 2, TxnEntrySize)
	for _, v := range []int64{t.ProducerID, t.FirstOffset, t.LastOffset, t.LastStableOffset} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// DecodeTxn reads an entry of TxnEntrySize bytes.
func DecodeTxn(b []byte) (AbortedTxn, error) {
	if len(b) < TxnEntrySize {
		return AbortedTxn{}, fmt.Errorf("aborted transaction of %d bytes", len(b))
	}
	if v := int16(binary.BigEndian.Uint16(b)); v < 0 {
		return AbortedTxn{}, fmt.Errorf("aborted transaction of version %d", v)
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	return AbortedTxn{ProducerID: at(2), FirstOffset: at(10), LastOffset: at(18), LastStableOffset: at(26)}, nil
}

// All returns the entries in the order of their markers.
func (x *Txn) All() ([]AbortedTxn, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.allLocked()
}

func (x *Txn) allLocked() ([]AbortedTxn, error) {
	if x.mu.entries == 0 {
		return nil, nil
	}
	b, err := vfs.ReadFile(x.fsys, x.mu.path)
	if err != nil {
		return nil, err
	}
	var out []AbortedTxn
	for len(out) < x.mu.entries {
		t, err := DecodeTxn(b)
		if err != nil {
			return nil, &CorruptError{Path: x.mu.path, Reason: err.Error()}
		}
		out = append(out, t)
		b = b[TxnEntrySize:]
	}
	return out, nil
}

// Check reads all entries. Kafka: TransactionIndex.sanityCheck.
func (x *Txn) Check(base int64) error {
	all, err := x.All()
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.LastOffset < base {
			return &CorruptError{Path: x.mu.path, Reason: fmt.Sprintf("last offset %d below the segment's %d", t.LastOffset, base)}
		}
	}
	return nil
}

// Collect appends to dst the transactions that overlap [from, upTo). done tells that no later segment can hold another.
// Kafka: TransactionIndex.collectAbortedTxns.
func (x *Txn) Collect(dst []AbortedTxn, from, upTo int64) (out []AbortedTxn, done bool, err error) {
	all, err := x.All()
	if err != nil {
		return dst, false, err
	}
	for _, t := range all {
		if t.LastOffset >= from && t.FirstOffset < upTo {
			dst = append(dst, t)
		}
		if t.LastStableOffset >= upTo {
			return dst, true, nil
		}
	}
	return dst, false, nil
}

// TruncateTo drops the transactions whose marker is at or above offset.
func (x *Txn) TruncateTo(offset int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, err := x.allLocked()
	if err != nil {
		return err
	}
	n := 0
	for n < len(all) && all[n].LastOffset < offset {
		n++
	}
	if n == len(all) {
		return nil
	}
	return x.cutLocked(n)
}

// cutLocked keeps the first n entries.
func (x *Txn) cutLocked(n int) error {
	f, err := x.fsys.OpenFile(x.mu.path, vfs.Write)
	if err != nil {
		return err
	}
	x.mu.entries = n
	x.mu.dirty = true
	return errors.Join(f.Truncate(int64(n)*TxnEntrySize), f.Close())
}

// Reset drops all entries and the file.
func (x *Txn) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.entries = 0
	x.mu.dirty = false
	return vfs.RemoveIfExists(x.fsys, x.mu.path)
}

// Sync makes the entries durable.
func (x *Txn) Sync() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.mu.dirty {
		return nil
	}
	f, err := x.fsys.OpenFile(x.mu.path, vfs.Write)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	x.mu.dirty = false
	return nil
}

// Exists tells whether there is a file.
func (x *Txn) Exists() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.entries > 0
}

// Rename changes the name of the file, if there is one.
func (x *Txn) Rename(path string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	exists, err := vfs.Exists(x.fsys, x.mu.path)
	if err != nil {
		return err
	}
	if exists {
		if err := x.fsys.Rename(x.mu.path, path); err != nil {
			return err
		}
	}
	x.mu.path = path
	return nil
}

// Moved tells that the directory of the file was renamed.
func (x *Txn) Moved(dir string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.path = filepath.Join(dir, filepath.Base(x.mu.path))
}
