//go:build !linux

package network

import "errors"

const canReadv = false

// rawReader is not used where the system calls are other ones.
type rawReader struct{}

func (*rawReader) read(*frameReader, []byte, bool) (int, error) { return 0, errors.ErrUnsupported }

func (*rawReader) waiting() int { return 0 }
