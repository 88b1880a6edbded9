package bench

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sendFile sends f from its start, again and again.
func sendFile(c *net.TCPConn, f *os.File, stop time.Time) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	for offset := int64(0); time.Now().Before(stop); {
		if offset >= limitFile {
			offset = 0
		}
		var sent error
		err := raw.Write(func(fd uintptr) bool {
			_, sent = unix.Sendfile(int(fd), int(f.Fd()), &offset, 1<<20)
			return sent != unix.EAGAIN
		})
		if err != nil {
			return err
		}
		if sent != nil {
			return sent
		}
	}
	return nil
}
