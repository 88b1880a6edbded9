//go:build !linux

package network

import "errors"

const canSendfile = false

// rawSender is not used where sendfile with offsets is not to be had.
type rawSender struct{}

func (*rawSender) sendfile(*Conn, uintptr, int64, int) error { return errors.ErrUnsupported }

func (*rawSender) sendMore(*Conn, []byte) error { return errors.ErrUnsupported }
