package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Kind says what a broker process is.
type Kind string

// The two brokers that the tests know.
const (
	Jackdaw Kind = "jackdaw"
	Apache  Kind = "apache" // Apache Kafka 3.9.2 in ZooKeeper mode
)

// Target is the kind of broker under test: COMPAT_TARGET, default Jackdaw.
func Target() Kind {
	if Kind(os.Getenv("COMPAT_TARGET")) == Apache {
		return Apache
	}
	return Jackdaw
}

// CI says that a missing tool is a failure, never a skip.
func CI() bool { return os.Getenv("CI") == "true" }

// Need skips the test when a tool is missing, and fails it under CI=true.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case CI():
		t.Fatalf("missing tool (compat-tests/setup.sh installs it): %v", err)
	default:
		t.Skipf("missing tool (compat-tests/setup.sh installs it): %v", err)
	}
}

// CacheDir is where setup.sh puts what it fetches.
func CacheDir() string {
	if dir := os.Getenv("JACKDAW_CACHE"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "jackdaw")
}

// Jars returns the directory with the jars of Apache Kafka 3.9.2 and ZooKeeper: JACKDAW_KAFKA_LIBS, or where setup.sh puts them.
func Jars() (string, error) { return libs("JACKDAW_KAFKA_LIBS", "kafka-3.9.2") }

// Jars4 returns the directory with the jars of the clients and tools of Apache Kafka 4.4.0: JACKDAW_KAFKA4_LIBS, or where setup.sh
// puts them.
func Jars4() (string, error) { return libs("JACKDAW_KAFKA4_LIBS", "kafka-4.4.0") }

func libs(env, name string) (string, error) {
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join(CacheDir(), name, "libs")
	}
	found, err := filepath.Glob(filepath.Join(dir, "kafka_2.13-*.jar"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no kafka_2.13 jar in %s", dir)
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("java: %w", err)
	}
	return dir, nil
}

// binary builds jackdaw once for a test binary, unless JACKDAW_BIN names one.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("JACKDAW_BIN"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("JACKDAW_BIN: %w", err)
		}
		return filepath.Abs(path)
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "jackdaw")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", out, "jackdaw/cmd/jackdaw")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return out, nil
})

// Binary returns the path of the jackdaw binary under test.
func Binary() (string, error) { return binary() }

// scratch is a directory of this test binary, removed by CloseShared.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "jackdaw-compat-") })

// Scratch makes a directory that is removed by CloseShared.
func Scratch(name string) (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, name)
	return dir, os.MkdirAll(dir, 0o755)
}

// java returns a command line for a main class of the 3.9.2 jars.
func java(log4j string, options []string, class string, args ...string) (string, []string, error) {
	jars, err := Jars()
	if err != nil {
		return "", nil, err
	}
	if log4j != "" {
		options = append(slices.Clip(options), "-Dlog4j.configuration=file:"+log4j)
	}
	return javaOf(jars, options, class, args...)
}

// javaOf returns a command line for a main class of the jars in a directory.
func javaOf(jars string, options []string, class string, args ...string) (string, []string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", nil, fmt.Errorf("java: %w", err)
	}
	line := append([]string{
		"-cp", filepath.Join(jars, "*"), "-Djava.awt.headless=true",
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
	}, options...)
	return path, append(append(line, class), args...), nil
}

// writeLog4j writes a log4j 1 configuration with Kafka's usual line format.
func writeLog4j(path, level string) error {
	text := strings.Join([]string{
		"log4j.rootLogger=" + level + ", out",
		"log4j.appender.out=org.apache.log4j.ConsoleAppender",
		"log4j.appender.out.layout=org.apache.log4j.PatternLayout",
		"log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n", "",
	}, "\n")
	return os.WriteFile(path, []byte(text), 0o644)
}

// Tool runs a main class of Apache's tools to its end and returns what it printed (stdout and stderr). stdin may be empty.
func Tool(stdin, class string, args ...string) (string, error) {
	path, line, err := ToolLine(class, args...)
	if err != nil {
		return "", err
	}
	return runTool(stdin, class, path, line)
}

// ToolLine returns the command that Tool runs.
func ToolLine(class string, args ...string) (path string, line []string, err error) {
	dir, err := scratch()
	if err != nil {
		return "", nil, err
	}
	log4j := filepath.Join(dir, "tool.log4j")
	if err := writeLog4j(log4j, "WARN"); err != nil {
		return "", nil, err
	}
	return java(log4j, []string{"-Xmx256m"}, class, args...)
}

// quietLog4j2 are the options with which log4j 2, which Kafka 4 has, and slf4j's own logger print warnings and nothing more.
var quietLog4j2 = []string{
	"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
	"-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory",
}

// Tool4 is Tool with the tools of Apache Kafka 4.4.0.
func Tool4(stdin, class string, args ...string) (string, error) {
	jars, err := Jars4()
	if err != nil {
		return "", err
	}
	path, line, err := javaOf(jars, append([]string{"-Xmx256m"}, quietLog4j2...), class, args...)
	if err != nil {
		return "", err
	}
	return runTool(stdin, class, path, line)
}

func runTool(stdin, class, path string, line []string) (string, error) {
	cmd := exec.CommandContext(context.Background(), path, line...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), fmt.Errorf("%s: %w", class, err)
	}
	return string(out), err
}

// StartTool starts a main class of Apache's tools that runs until it is killed. Its output goes to a file below dir.
func StartTool(dir, name, class string, args ...string) (*Process, error) {
	log4j := filepath.Join(dir, "log4j")
	if err := writeLog4j(log4j, "WARN"); err != nil {
		return nil, err
	}
	path, line, err := java(log4j, []string{"-Xmx128m"}, class, args...)
	if err != nil {
		return nil, err
	}
	p := newProcess(name, dir, path, line...)
	return p, p.Start()
}

// StartTool4 is StartTool with the tools of Apache Kafka 4.4.0.
func StartTool4(dir, name, class string, args ...string) (*Process, error) {
	jars, err := Jars4()
	if err != nil {
		return nil, err
	}
	path, line, err := javaOf(jars, append([]string{"-Xmx128m"}, quietLog4j2...), class, args...)
	if err != nil {
		return nil, err
	}
	p := newProcess(name, dir, path, line...)
	return p, p.Start()
}
