package main

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerSlack is how late the kernel may wake a thread of the broker from a sleep with a deadline; 50 us is what it takes by default.
	timerSlack = 500 * time.Microsecond
	// slackIsSet is in the environment of a process that has been started again.
	slackIsSet = "JACKDAW_TIMER_SLACK"
)

// coarsenTimers starts the process again, with the same id and command line, under a larger timer slack.
//
// A thread of Go's runtime looks every 20 us for system calls that last, as long as it finds one each time, and then has another
// thread take the processor over. Large writes and sendfile last, and return at once after that. The looking and the changing of
// threads took a tenth of a broker's CPU time, with three brokers on a machine a fifth: docs/adr/0012-timer-slack.md. The runtime
// has no setting for it, and its thread is there before main; but what prctl sets stays over exec.
//
// Where something does not work the process goes on as it is.
func coarsenTimers() {
	if os.Getenv(slackIsSet) != "" {
		_ = os.Unsetenv(slackIsSet) // not for processes that we start
		return
	}
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || time.Duration(now) >= timerSlack {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	runtime.LockOSThread() // slack belongs to a thread, and the one that calls exec goes on
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(self, os.Args, append(os.Environ(), slackIsSet+"=1"))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(now), 0, 0, 0) // we are still here
}
