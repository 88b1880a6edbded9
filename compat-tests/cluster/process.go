package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child process whose output is appended to a file. It can be started again after it ended.
type Process struct {
	Name string // for messages: "broker 2"
	Log  string // path of the file that gets stdout and stderr

	Env []string // added to the environment of the test; change it before a Start

	path string
	args []string

	mu struct {
		sync.Mutex
		cmd    *exec.Cmd
		done   chan struct{} // closed when the current run has ended
		exit   error         // of the run that ended last
		offset int64         // size of the log when the current run began
	}
}

// newProcess prepares a process; nothing runs before Start.
func newProcess(name, dir, path string, args ...string) *Process {
	file := strings.ReplaceAll(name, " ", "-") + ".log"
	return &Process{Name: name, Log: filepath.Join(dir, file), path: path, args: args}
}

// Start runs the command. It is an error to start a process that runs.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.done != nil && !closed(p.mu.done) {
		return fmt.Errorf("%s: already running", p.Name)
	}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: log: %w", p.Name, err)
	}
	info, err := out.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("%s: log: %w", p.Name, err), out.Close())
	}
	cmd := exec.CommandContext(context.Background(), p.path, p.args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), p.Env...)
	// Its own group, so that Ctrl-C reaches the test alone; killed with the test, whatever ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("%s: start: %w", p.Name, err), out.Close())
	}
	done := make(chan struct{})
	p.mu.cmd, p.mu.done, p.mu.offset, p.mu.exit = cmd, done, info.Size(), nil
	var wait sync.WaitGroup
	wait.Go(func() {
		err := cmd.Wait()
		_ = out.Close() // The child wrote through its own descriptor; ours carries nothing.
		p.mu.Lock()
		p.mu.exit = err
		p.mu.Unlock()
		close(done)
	})
	return nil
}

// PID of the current or last run, 0 before the first.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.cmd == nil {
		return 0
	}
	return p.mu.cmd.Process.Pid
}

// Running says whether the process is there (a frozen one is).
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.done != nil && !closed(p.mu.done)
}

// Signal sends a signal to the process, by id. Nothing happens when it has ended.
func (p *Process) Signal(s syscall.Signal) error {
	if !p.Running() {
		return nil
	}
	if err := syscall.Kill(p.PID(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%s: signal %v: %w", p.Name, s, err)
	}
	return nil
}

// Wait blocks until the process has ended and returns its exit code (-1: killed by a signal).
func (p *Process) Wait(limit time.Duration) (int, error) {
	p.mu.Lock()
	done := p.mu.done
	p.mu.Unlock()
	if done == nil {
		return 0, fmt.Errorf("%s: never started", p.Name)
	}
	select {
	case <-done:
	case <-time.After(limit):
		return 0, fmt.Errorf("%s: still running after %v", p.Name, limit)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.cmd.ProcessState.ExitCode(), nil
}

// Kill sends SIGKILL and waits for the end.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil || p.PID() == 0 {
		return err
	}
	_, err := p.Wait(30 * time.Second)
	return err
}

// Terminate sends SIGTERM and waits for the end; a process that does not end in time is killed, and that is an error.
func (p *Process) Terminate(limit time.Duration) (int, error) {
	if err := p.Signal(syscall.SIGTERM); err != nil || p.PID() == 0 {
		return 0, err
	}
	code, err := p.Wait(limit)
	if err != nil {
		return code, errors.Join(err, p.Kill())
	}
	return code, nil
}

// Output is what the current run has written so far.
func (p *Process) Output() []byte {
	p.mu.Lock()
	from := p.mu.offset
	p.mu.Unlock()
	all, err := os.ReadFile(p.Log)
	if err != nil || int64(len(all)) < from {
		return nil
	}
	return all[from:]
}

// WaitOutput waits until the current run has written text, or fails: when the process ends first, or time is up.
func (p *Process) WaitOutput(text string, limit time.Duration) error {
	ended := false
	return Until(limit, func() error {
		if bytes.Contains(p.Output(), []byte(text)) {
			return nil
		}
		if ended {
			return Stop(fmt.Errorf("%s: ended before it wrote %q", p.Name, text))
		}
		ended = !p.Running() // one more look at the output after the end
		return fmt.Errorf("%s: no line %q", p.Name, text)
	})
}

// Tail returns the last n lines of the log of all runs.
func (p *Process) Tail(n int) string {
	all, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(all), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
