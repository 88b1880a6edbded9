package cluster

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

//go:embed Toolbox.java
var toolboxSource []byte

// Toolbox runs tools of Apache Kafka one after the other in one virtual machine.
type Toolbox struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// StartToolbox starts a machine with the jars of a directory; it ends with the test.
func StartToolbox(t testing.TB, jars string) *Toolbox {
	t.Helper()
	dir := t.TempDir()
	source, log4j := filepath.Join(dir, "Toolbox.java"), filepath.Join(dir, "log4j")
	if err := os.WriteFile(source, toolboxSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeLog4j(log4j, "WARN"); err != nil {
		t.Fatal(err)
	}
	options := append([]string{"-Xmx256m", "-Dlog4j.configuration=file:" + log4j}, quietLog4j2...)
	path, line, err := javaOf(jars, options, source)
	if err != nil {
		t.Fatal(err)
	}
	b := &Toolbox{cmd: exec.CommandContext(context.Background(), path, line...)}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.out = bufio.NewReader(out)
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.in.Close() // the machine ends at the end of its input
		if err := b.cmd.Wait(); err != nil {
			t.Errorf("toolbox: %v", err)
		}
	})
	return b
}

// Run calls the main method of a class, and returns what it printed. The error is that of a status other than 0.
func (b *Toolbox) Run(stdin, class string, args ...string) (string, error) {
	fields := append([]string{class, stdin}, args...)
	if _, err := io.WriteString(b.in, strings.ReplaceAll(strings.Join(fields, "\x1f"), "\n", "\x1e")+"\n"); err != nil {
		return "", fmt.Errorf("toolbox: %w", err)
	}
	var printed strings.Builder
	for {
		line, err := b.out.ReadString('\n')
		if err != nil {
			return printed.String(), fmt.Errorf("toolbox: %w", err)
		}
		if text, ok := strings.CutPrefix(line, "\x04"); ok {
			status, err := strconv.Atoi(strings.TrimSpace(text))
			if err == nil && status != 0 {
				err = fmt.Errorf("%s: exit status %d", class, status)
			}
			return strings.TrimSpace(printed.String()), err
		}
		printed.WriteString(line)
	}
}
