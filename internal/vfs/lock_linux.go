package vfs

import "golang.org/x/sys/unix"

// lockCommand takes an open-file-description lock: it conflicts with the POSIX lock that a JVM broker takes through
// FileChannel.lock, and, unlike one, with another lock of this process.
const lockCommand = unix.F_OFD_SETLK
