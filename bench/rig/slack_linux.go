package rig

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// slack is the timer slack of Jackdaw, see its ADR 12: bare loops are not to lose by what the broker has put aside.
const slack = 500 * time.Microsecond

// withSlack starts children that inherit the timer slack of the thread that starts them.
func withSlack(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) // without it they are what they were
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(now), 0, 0, 0) }()
	}
	return start()
}
