package network

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

const (
	canSendfile = true
	// sendfileStep is the size in bytes that is sent with one call: after each, the connection counts as alive.
	sendfileStep = 1 << 20
)

// rawSender makes the system calls that the standard library has no form for: sendfile from an explicit offset, and bytes
// with the promise that more follow, so that a header does not go out in a packet of its own. Its state lies here and not
// in a closure, so that a call allocates nothing.
type rawSender struct {
	step func(fd uintptr) bool

	data []byte // to send, if not nil
	src  int    // else the file, its position, and how much
	pos  int64
	left int
	err  error
}

// sendfile sends n bytes of the file from pos.
func (s *rawSender) sendfile(c *Conn, src uintptr, pos int64, n int) error {
	s.src, s.pos, s.left, s.err = int(src), pos, n, nil
	for s.left > 0 {
		if err := s.run(c); err != nil {
			return fmt.Errorf("send %d bytes at %d: %w", n, pos, err)
		}
	}
	return nil
}

// sendMore sends bytes before others.
func (s *rawSender) sendMore(c *Conn, p []byte) error {
	s.data, s.err = p, nil
	defer func() { s.data = nil }()
	for len(s.data) > 0 {
		if err := s.run(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSender) run(c *Conn) error {
	if s.step == nil {
		s.step = s.once
	}
	if err := c.raw.Write(s.step); err != nil {
		return err
	}
	c.touch()
	return s.err
}

// once makes one system call; false asks to be called again when the socket takes more.
func (s *rawSender) once(fd uintptr) bool {
	for {
		n, err := s.call(int(fd))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false
		case err != nil:
			s.err = err
		case n == 0:
			s.err = io.ErrUnexpectedEOF // the file is shorter than the range
		}
		return true
	}
}

func (s *rawSender) call(fd int) (n int, err error) {
	if s.data != nil {
		n, err = unix.SendmsgN(fd, s.data, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
		s.data = s.data[max(n, 0):]
		return n, err
	}
	n, err = unix.Sendfile(fd, s.src, &s.pos, min(s.left, sendfileStep))
	s.left -= max(n, 0)
	return n, err
}
