//go:build !linux

package bench

import (
	"io"
	"net"
	"os"
	"time"
)

// sendFile sends f from its start, again and again; the standard library picks the call.
func sendFile(c *net.TCPConn, f *os.File, stop time.Time) error {
	for time.Now().Before(stop) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(c, f, limitFile); err != nil {
			return err
		}
	}
	return nil
}
