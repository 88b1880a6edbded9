package bench

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sendFile sends f from its start, again and again.
func sendFile(c *net.TCPConn, f *os.File, stop time.Time) error {
	for offset := int64(0); time.Now().Before(stop); offset = (offset + sendStep) % limitFile {
		if err := sendRange(c, f, offset, sendStep); err != nil {
			return err
		}
	}
	return nil
}

// reserve asks for room on the disk; without it, writing goes on.
func reserve(f *os.File, offset, n int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, n)
}

// sendRange sends n bytes of f from offset.
func sendRange(c *net.TCPConn, f *os.File, offset int64, n int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	for n > 0 {
		var sent int
		var failed error
		err := raw.Write(func(fd uintptr) bool {
			sent, failed = unix.Sendfile(int(fd), int(f.Fd()), &offset, n)
			return failed != unix.EAGAIN
		})
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		n -= sent
	}
	return nil
}
