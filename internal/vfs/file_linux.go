package vfs

import (
	"errors"
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

// maxPieces is how many pieces one system call takes (IOV_MAX).
const maxPieces = 1024

// WriteAllAt implements File. What the system leaves over, as on a disk that is nearly full, is written piece by piece, so that
// the error is the one a plain write tells.
func (f osFile) WriteAllAt(pieces [][]byte, off int64) error {
	for len(pieces) > 0 {
		some := pieces[:min(len(pieces), maxPieces)]
		n, err := f.writev(some, off)
		if err != nil {
			return &fs.PathError{Op: "write", Path: f.Name(), Err: err}
		}
		off += int64(n)
		rest, whole := behind(some, n)
		if !whole {
			return writeEach(f.File, append(rest, pieces[len(some):]...), off)
		}
		pieces = pieces[len(some):]
	}
	return nil
}

func (f osFile) writev(pieces [][]byte, off int64) (n int, err error) {
	for {
		if n, err = unix.Pwritev(int(f.File.Fd()), pieces, off); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// behind returns what of the pieces comes after n bytes; whole tells that nothing does.
func behind(pieces [][]byte, n int) (rest [][]byte, whole bool) {
	for i, p := range pieces {
		if n < len(p) {
			return append([][]byte{p[n:]}, pieces[i+1:]...), false
		}
		n -= len(p)
	}
	return nil, true
}
