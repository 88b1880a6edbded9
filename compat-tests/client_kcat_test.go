//go:build compat

package compat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/compat-tests/cluster"
)

// kcat runs kcat to its end and returns its standard output.
func kcat(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	return kcatAt(t, c.Bootstrap(), stdin, args...)
}

// kcatAt is kcat at other addresses.
func kcatAt(t *testing.T, bootstrap []string, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	cluster.Need(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-b", strings.Join(bootstrap, ",")}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

func TestKcat_EveryCodec_ReadFromTheStart(t *testing.T) {
	c := three(t)
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := topicName(t)
			createTopic(t, c, topic, 3, 3)
			for p, values := range spread(codec) {
				part := fmt.Sprint(p)
				kcat(t, c, strings.Join(values, "\n")+"\n", "-P", "-t", topic, "-p", part, "-z", codec, "-X", "acks=all", "-X", "linger.ms=300")
				got := lines(kcat(t, c, "", "-C", "-t", topic, "-p", part, "-o", "beginning", "-e", "-q"))
				if diff := cmp.Diff(values, got); diff != "" {
					t.Errorf("partition %d (-want +got):\n%s", p, diff)
				}
			}
			checkCodec(t, c, topic, codec)
		})
	}
}

func TestKcat_UnknownTopic_CreatedByProducing(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	kcat(t, c, "hello\n", "-P", "-t", topic)
	if got := kcat(t, c, "", "-C", "-t", topic, "-o", "beginning", "-e", "-q"); got != "hello\n" {
		t.Errorf("read back %q", got)
	}
	list := kcat(t, c, "", "-L")
	if !strings.Contains(list, "3 brokers:") || !strings.Contains(list, fmt.Sprintf("topic %q", topic)) {
		t.Errorf("kcat -L:\n%s", list)
	}
}

func TestKcat_Idempotent_BatchesCarryTheProducer(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	want := series("v", 2000)
	kcat(t, c, strings.Join(want, "\n")+"\n", "-P", "-t", topic, "-X", "enable.idempotence=true", "-X", "batch.num.messages=50")
	if got := lines(kcat(t, c, "", "-C", "-t", topic, "-o", "beginning", "-e", "-q")); !slices.Equal(got, want) {
		t.Errorf("%d records came back, not the %d that were sent in order", len(got), len(want))
	}
	checkIdempotent(t, c, topic)
}

// kcatMember is a running `kcat -G`, which joins a group with librdkafka's balanced consumer and commits on its own.
type kcatMember struct {
	cmd  *exec.Cmd
	done sync.WaitGroup
	mu   struct {
		sync.Mutex
		values []string
	}
}

func joinKcat(t *testing.T, c *cluster.Cluster, group, topic string) *kcatMember {
	t.Helper()
	path, err := exec.LookPath("kcat")
	cluster.Need(t, err)
	cmd := exec.Command(path, "-b", c.BootstrapString(), "-u", "-q", "-X", "auto.offset.reset=earliest",
		"-X", "heartbeat.interval.ms=200", "-X", "session.timeout.ms=6000", "-X", "auto.commit.interval.ms=100", "-G", group, topic)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &kcatMember{cmd: cmd}
	m.done.Go(func() { m.collect(out) })
	t.Cleanup(func() { m.leave(t) })
	return m
}

func (m *kcatMember) collect(out io.Reader) {
	buf := make([]byte, 64<<10)
	rest := ""
	for {
		n, err := out.Read(buf)
		rest += string(buf[:n])
		whole := strings.LastIndexByte(rest, '\n') + 1
		m.mu.Lock()
		for line := range strings.Lines(rest[:whole]) {
			m.mu.values = append(m.mu.values, strings.TrimSuffix(line, "\n"))
		}
		m.mu.Unlock()
		rest = rest[whole:]
		if err != nil {
			return
		}
	}
}

// values is what came so far.
func (m *kcatMember) values() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mu.values)
}

// leave asks kcat to commit, leave the group and end.
func (m *kcatMember) leave(t *testing.T) {
	t.Helper()
	if m.cmd.ProcessState != nil {
		return
	}
	if err := m.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Errorf("kcat: %v", err)
	}
	m.done.Wait()
	if err := m.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("kcat: %v", err)
	}
}

func TestKcat_Group_RebalancesCommitsAndResumes(t *testing.T) {
	c := three(t)
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 4, 3)
	adm := admin(t, c)
	produce := func(prefix string, n int) {
		for p := range 4 {
			kcat(t, c, strings.Join(series(prefix, n), "\n")+"\n", "-P", "-t", topic, "-p", fmt.Sprint(p))
		}
	}
	count := func(limit time.Duration, want int, members ...*kcatMember) {
		t.Helper()
		cluster.Eventually(t, limit, "records at kcat", func() error {
			n := 0
			for _, m := range members {
				n += len(m.values())
			}
			if n < want {
				return fmt.Errorf("%d of %d records", n, want)
			}
			return nil
		})
	}
	produce("first", 10)
	a := joinKcat(t, c, group, topic)
	count(30*time.Second, 40, a)
	b := joinKcat(t, c, group, topic)
	waitAssigned(t, adm, group, 2, 2)
	produce("second", 10)
	count(20*time.Second, 80, a, b)
	if n := len(b.values()); n != 20 {
		t.Errorf("the second member read %d records, want 20 of the 80", n)
	}
	a.leave(t)
	waitAssigned(t, adm, group, 4)
	b.leave(t)
	produce("third", 3)
	d := joinKcat(t, c, group, topic)
	count(20*time.Second, 12, d)
	for _, v := range d.values() {
		if !strings.HasPrefix(v, "third") {
			t.Errorf("record %s read again after its offset was committed", v)
		}
	}
}
