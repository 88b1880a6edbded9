package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Java is where Apache's code is.
type Java struct {
	// Jars is the directory with the jars of Apache Kafka 3.9.2 and ZooKeeper.
	Jars string
	// Heap is the brokers' option, such as -Xmx512m.
	Heap string
}

// FindJava looks where compat-tests/setup.sh puts the jars, or in JACKDAW_KAFKA_LIBS.
func FindJava(heap string) (Java, error) {
	dir := os.Getenv("JACKDAW_KAFKA_LIBS")
	if dir == "" {
		dir = filepath.Join(os.Getenv("HOME"), ".cache", "jackdaw", "kafka-3.9.2", "libs")
	}
	if found, err := filepath.Glob(filepath.Join(dir, "kafka_2.13-*.jar")); err != nil || len(found) == 0 {
		return Java{}, errors.Join(fmt.Errorf("no kafka_2.13 jar in %s: run compat-tests/setup.sh", dir), err)
	}
	if _, err := exec.LookPath("java"); err != nil {
		return Java{}, err
	}
	return Java{Jars: dir, Heap: heap}, nil
}

// brokerOptions are those of Apache's kafka-server-start.sh and kafka-run-class.sh, but for the heap.
func (j Java) brokerOptions() []string {
	return []string{
		j.Heap, "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
		"-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15",
	}
}

// start runs a main class.
func (j Java) start(ctx context.Context, dir, name string, options []string, class string, args ...string) (*Process, error) {
	line, err := j.line(dir, "INFO", options, class, args...)
	if err != nil {
		return nil, err
	}
	return start(ctx, dir, name, "java", line...)
}

// Tool runs a main class to its end, and returns what it printed.
func (j Java) Tool(ctx context.Context, dir, class string, args ...string) (string, error) {
	line, err := j.line(dir, "ERROR", []string{"-Xmx256m", "-XX:+UseSerialGC"}, class, args...)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "java", line...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", class, err, tail(out))
	}
	return string(out), nil
}

// line is the command line of a main class, with a log4j configuration in dir.
func (j Java) line(dir, level string, options []string, class string, args ...string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, class[strings.LastIndexByte(class, '.')+1:]+".log4j")
	text := "log4j.rootLogger=" + level + ", out\n" +
		"log4j.appender.out=org.apache.log4j.ConsoleAppender\n" +
		"log4j.appender.out.layout=org.apache.log4j.PatternLayout\n" +
		"log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	out := append([]string{"-cp", filepath.Join(j.Jars, "*"), "-Djava.awt.headless=true", "-Dlog4j.configuration=file:" + path}, options...)
	return append(append(out, class), args...), nil
}
