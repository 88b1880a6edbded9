package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is started again as a process that coarsens its timers, and then tells what it is.
func TestCoarsenTimers_NewProcess_SameCommandLineMoreSlack(t *testing.T) {
	const asked = "JACKDAW_TEST_COARSEN"
	if os.Getenv(asked) != "" {
		coarsenTimers()
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil || slack != int(timerSlack) || os.Getenv(slackIsSet) != "" {
			t.Fatalf("slack %d, %v, marker %q", slack, err, os.Getenv(slackIsSet))
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), asked+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "=== RUN") != 2 {
		t.Fatalf("%v: not started twice:\n%s", err, out)
	}
}
