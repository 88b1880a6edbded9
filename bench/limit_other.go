//go:build !linux

package bench

import (
	"io"
	"net"
	"os"
	"time"
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

// reserve does nothing where there is no call for it.
func reserve(*os.File, int64, int64) {}

// sendRange sends n bytes of f from offset; the standard library picks the call.
func sendRange(c *net.TCPConn, f *os.File, offset int64, n int) error {
	_, err := io.Copy(c, io.NewSectionReader(f, offset, int64(n)))
	return err
}
