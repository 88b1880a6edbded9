package network

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

const canReadv = true

// rawReader makes the system calls for reading that the standard library has no form for: into two pieces of memory at once,
// and a look at how much has come. Its state lies here and not in a closure, so that a call allocates nothing.
type rawReader struct {
	f    *frameReader
	step func(fd uintptr) bool
	look func(fd uintptr)

	big   []byte // what is filled before the reader's buffer
	ahead bool   // the buffer is filled, too
	n     int
	err   error
}

// read fills big, and, if ahead, what is free of the reader's buffer. While nothing comes, a reader whose buffer is empty does
// without it.
func (r *rawReader) read(f *frameReader, big []byte, ahead bool) (int, error) {
	if r.step == nil {
		r.f, r.step, r.look = f, r.once, r.ask
	}
	r.big, r.ahead, r.n, r.err = big, ahead, 0, nil
	err := f.c.raw.Read(r.step)
	r.big = nil
	return r.n, errors.Join(err, r.err)
}

// once makes one system call; false asks to be called again when something has come.
func (r *rawReader) once(fd uintptr) bool {
	var vec [2][]byte
	to := vec[:0]
	if len(r.big) > 0 {
		to = append(to, r.big)
	}
	if r.ahead {
		r.f.takeBuffer()
		to = append(to, r.f.buf[r.f.w:])
	}
	for {
		n, err := unix.Readv(int(fd), to)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			r.f.lendBuffer()
			return false
		case err != nil:
			r.err = err
		case n == 0:
			r.err = io.EOF
		default:
			r.n = n
		}
		return true
	}
}

// waiting tells how many bytes have come and were not read yet.
func (r *rawReader) waiting() int {
	r.n = 0
	if r.look == nil || r.f.c.raw.Control(r.look) != nil {
		return 0
	}
	return r.n
}

func (r *rawReader) ask(fd uintptr) {
	if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
		r.n = n
	}
}
