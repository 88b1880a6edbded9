package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what processes have used so far.
type Usage struct {
	// CPU is user and system time, in the kernel's steps of 10 ms.
	CPU time.Duration
	// RSS is the resident memory in bytes, Peak its highest value since ResetPeak or the start.
	RSS, Peak int64
}

// clockTick is the unit of times in /proc: USER_HZ is 100 on all Linux machines.
const clockTick = 10 * time.Millisecond

// UsageOf adds up over processes. Linux only.
func UsageOf(pids []int) (u Usage, err error) {
	for _, pid := range pids {
		if err := u.add(pid); err != nil {
			return Usage{}, err
		}
	}
	return u, nil
}

func (u *Usage) add(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	// The second field is a name in parentheses that may have blanks; utime and stime are the 14th and the 15th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return err
		}
		u.CPU += time.Duration(ticks) * clockTick
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err
	}
	u.RSS += kilobytes(status, "VmRSS:")
	u.Peak += kilobytes(status, "VmHWM:")
	return nil
}

// kilobytes reads one line of /proc/PID/status, in bytes; 0 if it is not there.
func kilobytes(status []byte, name string) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(f[0]), 10, 64)
	return n << 10
}

// ResetPeak makes Usage.Peak begin anew.
func ResetPeak(pids []int) error {
	for _, pid := range pids {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
			return err
		}
	}
	return nil
}
