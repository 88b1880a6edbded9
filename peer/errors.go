package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Error tells which step towards which address failed.
type Error struct {
	// Addr is the address of the peer, Op the step: connect, tls handshake, or the name of the request.
	Addr, Op string
	Err      error
}

// Error implements error.
func (e *Error) Error() string { return e.Op + " " + e.Addr + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsReset reports whether the peer ended the connection: it was reset, or closed in the middle of an exchange. The process of
// the peer may be gone, or may just have closed an idle connection; only another attempt tells.
func IsReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// IsRefused reports whether the peer's host answered that nobody listens at the address.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// IsTimeout reports whether the peer was silent for too long. The end of a caller's context is no time-out of the peer.
func IsTimeout(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}
