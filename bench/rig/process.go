package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit = 2 * time.Minute
	stopLimit  = time.Minute
	pollEvery  = 5 * time.Millisecond
)

// Process is a running child with its output in a file.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed after the end
	cancel    context.CancelFunc
}

// start runs a command with its output in dir/name.log.
func start(ctx context.Context, dir, name, path string, args ...string) (*Process, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &Process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	ctx, p.cancel = context.WithCancel(ctx)
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the benchmark, which then ends its children
	if err := p.cmd.Start(); err != nil {
		p.cancel()
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), out.Close())
	}
	context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	var wait sync.WaitGroup
	wait.Go(func() {
		_ = p.cmd.Wait() // how it ended is told by whoever needed it to run
		_ = out.Close()  // the child wrote through its own descriptor
		close(p.done)
	})
	return p, nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the process to end, waits, and kills it if it does not.
func (p *Process) Stop() error {
	defer p.cancel()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("%s does not stop; its log is %s", p.name, p.log)
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	p.cancel()
	<-p.done
}

// waitOutput waits for text in the log.
func (p *Process) waitOutput(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		out, err := os.ReadFile(p.log)
		if err == nil && bytes.Contains(out, []byte(text)) {
			return nil
		}
		select {
		case <-time.After(pollEvery):
		case <-p.done:
			return fmt.Errorf("%s ended before it wrote %q:\n%s", p.name, text, tail(out))
		case <-ctx.Done():
			return fmt.Errorf("%s: no line %q: %w\n%s", p.name, text, ctx.Err(), tail(out))
		}
	}
}

func tail(out []byte) []byte {
	const most = 4 << 10
	return out[max(0, len(out)-most):]
}
