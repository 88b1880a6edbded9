//go:build unix && !linux

package vfs

import "golang.org/x/sys/unix"

// lockCommand takes a POSIX lock, which does not conflict inside this process; only Linux has better ones.
const lockCommand = unix.F_SETLK
