package vfs

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Reserve implements File.
func (f osFile) Reserve(off, n int64) error {
	if err := unix.Fallocate(int(f.File.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n); err != nil {
		return &fs.PathError{Op: "reserve", Path: f.Name(), Err: err}
	}
	return nil
}
