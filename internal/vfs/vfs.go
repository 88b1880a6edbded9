package vfs

import (
	"errors"
	"io"
)

// Flag says how OpenFile opens.
type Flag int

// Flags of OpenFile; they can be combined. Without Write the file is read-only.
const (
	// Write opens for reading and writing.
	Write Flag = 1 << iota
	// Create makes the file when it does not exist.
	Create
	// Exclusive, with Create, fails with fs.ErrExist when the file exists.
	Exclusive
	// Trunc empties the file.
	Trunc
)

// Entry is one name in a directory.
type Entry struct {
	Name string
	Dir  bool
	// Size is in bytes; 0 for a directory.
	Size int64
	// ModTimeMs is the last modification in Unix milliseconds.
	ModTimeMs int64
}

// FS is a file system. Errors satisfy errors.Is with fs.ErrNotExist and fs.ErrExist where these apply.
type FS interface {
	// OpenFile opens or creates a file.
	OpenFile(name string, flag Flag) (File, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]Entry, error)
	// Stat describes one file or directory.
	Stat(name string) (Entry, error)
	// MkdirAll creates a directory and its parents.
	MkdirAll(name string) error
	// Rename replaces newName atomically. It is durable only after SyncDir of the parents.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes a tree; a missing one is no error.
	RemoveAll(name string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// Lock takes an exclusive lock on a file, which it creates, and holds it until Close. ErrLocked when another has it.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that may still be written to the file system that holds name, and its size.
	Free(name string) (free, total uint64, err error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// WriteAllAt writes pieces one after the other from off on, with one system call if it can.
	WriteAllAt(pieces [][]byte, off int64) error
	// Name is the path it was opened with.
	Name() string
	// Size returns the length in bytes.
	Size() (int64, error)
	// Truncate sets the length; growing leaves a hole that reads as zeros.
	Truncate(size int64) error
	// Reserve asks the file system for room for n bytes from off on, so that writing there is cheaper. The length stays, and
	// what is reserved behind it is given back by Truncate. It may do nothing.
	Reserve(off, n int64) error
	// Sync makes content and length durable, not the directory entry.
	Sync() error
	// Fd returns the descriptor for sendfile, valid until Close; ok is false where there is none.
	Fd() (fd uintptr, ok bool)
}

// lockedError is a constant error type, so that the sentinel cannot be changed.
type lockedError string

// Error implements error.
func (e lockedError) Error() string { return string(e) }

// ErrLocked tells that another process holds the lock.
const ErrLocked = lockedError("locked by another process")

// writeEach is WriteAllAt with a call for each piece.
func writeEach(f io.WriterAt, pieces [][]byte, off int64) error {
	for _, p := range pieces {
		n, err := f.WriteAt(p, off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, 0)
	if err != nil {
		return nil, err
	}
	b, err := readAll(f)
	return b, errors.Join(err, f.Close())
}

func readAll(f File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) && int64(n) == size {
		err = nil
	}
	return b[:n], err
}

// WriteFileAtomic replaces a file so that a crash leaves the old content or the new one: it writes name.tmp, syncs it,
// renames it and syncs the directory. Kafka: Utils.atomicMoveWithFallback.
func WriteFileAtomic(fsys FS, name string, content []byte) error {
	tmp := name + ".tmp"
	if err := writeAndSync(fsys, tmp, content); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(parent(name))
}

// writeAndSync creates or replaces a file and makes its content durable.
func writeAndSync(fsys FS, name string, content []byte) error {
	f, err := fsys.OpenFile(name, Write|Create|Trunc)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Exists reports whether there is a file or directory of that name.
func Exists(fsys FS, name string) (bool, error) {
	_, err := fsys.Stat(name)
	if err == nil {
		return true, nil
	}
	if isNotExist(err) {
		return false, nil
	}
	return false, err
}

// RemoveIfExists deletes a file; a missing one is no error.
func RemoveIfExists(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}
