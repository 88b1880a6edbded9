package vfs

import (
	"io"
	"io/fs"
	"slices"
)

// memFile is an open file of a Mem. It follows the node, not the name, as a descriptor does.
type memFile struct {
	m     *Mem
	name  string
	n     *memNode
	write bool
	// closed is guarded by the Mem's mutex.
	closed bool
}

func (f *memFile) err(op Op, err error) error {
	return &fs.PathError{Op: string(op), Path: f.name, Err: err}
}

// Name implements File.
func (f *memFile) Name() string { return f.name }

// Fd implements File.
func (f *memFile) Fd() (uintptr, bool) { return 0, false }

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.m.ask(OpRead, f.name); err != nil {
		return 0, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, f.err(OpRead, fs.ErrClosed)
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements File.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.m.ask(OpWrite, f.name); err != nil {
		return 0, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.writableLocked(OpWrite); err != nil {
		return 0, err
	}
	if end := off + int64(len(p)); end > int64(len(f.n.data)) {
		f.n.resize(end)
	}
	copy(f.n.data[off:], p)
	f.n.mtime = f.m.changedLocked()
	return len(p), nil
}

// WriteAllAt implements File.
func (f *memFile) WriteAllAt(pieces [][]byte, off int64) error { return writeEach(f, pieces, off) }

func (f *memFile) writableLocked(op Op) error {
	if f.closed {
		return f.err(op, fs.ErrClosed)
	}
	if !f.write {
		return f.err(op, fs.ErrPermission)
	}
	return nil
}

// resize cuts or extends with zeros.
func (n *memNode) resize(size int64) {
	if size <= int64(len(n.data)) {
		clear(n.data[size:])
		n.data = n.data[:size]
		return
	}
	n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	if err := f.m.ask(OpTruncate, f.name); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.writableLocked(OpTruncate); err != nil {
		return err
	}
	f.n.resize(size)
	f.n.mtime = f.m.changedLocked()
	return nil
}

// Reserve implements File.
func (*memFile) Reserve(int64, int64) error { return nil }

// Sync implements File.
func (f *memFile) Sync() error {
	if err := f.m.ask(OpSync, f.name); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return f.err(OpSync, fs.ErrClosed)
	}
	f.n.durable = slices.Clone(f.n.data)
	f.m.mu.steps++
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, f.err(OpRead, fs.ErrClosed)
	}
	return int64(len(f.n.data)), nil
}

// Close implements File. A second one fails, as with os.File.
func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return f.err("close", fs.ErrClosed)
	}
	f.closed = true
	return nil
}
