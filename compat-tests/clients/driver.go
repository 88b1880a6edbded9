package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// answerLimit is generous: many processes start at once on few cores.
const answerLimit = 90 * time.Second

// Record is what a consumer got.
type Record struct {
	Partition int32
	Offset    int64
	Value     string
}

// Driver is a running client.
type Driver struct {
	Log string // path of the file that gets its standard error

	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers chan string // closed when the process has ended
	done    sync.WaitGroup

	mu struct {
		sync.Mutex
		owned   []int32
		revoked []int32 // since the last Rebalances
		changes int     // assignments since the last Rebalances
		records []Record
	}
}

// start runs a command whose standard error goes to a file.
func start(cmd *exec.Cmd, log string) (*Driver, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // The child writes through its own descriptor.
	cmd.Stderr = file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	d := &Driver{Log: log, cmd: cmd, answers: make(chan string, 1)}
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d.done.Go(func() { d.read(stdout) })
	return d, nil
}

func (d *Driver) read(stdout io.Reader) {
	defer close(d.answers)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "+", "-", "r":
			d.event(kind, strings.Fields(rest))
		default:
			d.answers <- lines.Text()
		}
	}
}

func (d *Driver) event(kind string, words []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if kind == "r" && len(words) == 3 {
		partition, _ := strconv.Atoi(words[0])
		offset, _ := strconv.ParseInt(words[1], 10, 64)
		d.mu.records = append(d.mu.records, Record{Partition: int32(partition), Offset: offset, Value: words[2]})
		return
	}
	d.mu.changes++
	for _, w := range words {
		n, _ := strconv.Atoi(w)
		p := int32(n)
		d.mu.owned = slices.DeleteFunc(d.mu.owned, func(q int32) bool { return p == q })
		if kind == "+" {
			d.mu.owned = append(d.mu.owned, p)
		} else {
			d.mu.revoked = append(d.mu.revoked, p)
		}
	}
}

// Do sends a command and returns what it answers behind "ok".
func (d *Driver) Do(words ...any) (string, error) {
	line := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
	if strings.HasPrefix(line, "join ") {
		d.mu.Lock()
		d.mu.owned, d.mu.revoked, d.mu.changes, d.mu.records = nil, nil, 0, nil
		d.mu.Unlock()
	}
	if _, err := io.WriteString(d.stdin, line+"\n"); err != nil {
		return "", fmt.Errorf("%s: %w", line, err)
	}
	select {
	case answer, ok := <-d.answers:
		kind, rest, _ := strings.Cut(answer, " ")
		switch {
		case !ok:
			return "", fmt.Errorf("%s: the client has ended", line)
		case kind != "ok":
			return "", fmt.Errorf("%s: %s", line, answer)
		}
		return rest, nil
	case <-time.After(answerLimit):
		return "", fmt.Errorf("%s: no answer in %v", line, answerLimit)
	}
}

// Owned are the partitions that the consumer has, ascending.
func (d *Driver) Owned() []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.mu.owned))
}

// Rebalances returns how many assignments and revocations the consumer was told since the last call, and which partitions were
// taken from it.
func (d *Driver) Rebalances() (changes int, revoked []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changes, revoked = d.mu.changes, d.mu.revoked
	d.mu.changes, d.mu.revoked = 0, nil
	return changes, revoked
}

// Records are all that the consumer got since the last Forget, in order.
func (d *Driver) Records() []Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.mu.records)
}

// Forget drops the records.
func (d *Driver) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.records = nil
}

// Kill ends the process as kill -9 does, and waits for its end.
func (d *Driver) Kill() error {
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	for range d.answers { // nobody waits for these any more
	}
	d.done.Wait()
	_ = d.cmd.Wait() // "signal: killed"
	return nil
}

func command(path string, args ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), path, args...)
}
