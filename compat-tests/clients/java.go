package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"jackdaw/compat-tests/cluster"
)

// java is the driver of Apache's client, compiled once against the jars of one version.
func java(jars func() (string, error), version string) func(string, string) (*exec.Cmd, error) {
	program := sync.OnceValues(func() (*Java, error) {
		dir, err := jars()
		if err != nil {
			return nil, err
		}
		return Compile("Client", version, filepath.Join(dir, "*"))
	})
	return func(dir, bootstrap string) (*exec.Cmd, error) {
		p, err := program()
		if err != nil {
			return nil, err
		}
		line, err := p.line(dir, p.classpath, bootstrap)
		if err != nil {
			return nil, err
		}
		return command("java", line...), nil
	}
}

// Java is a compiled program of this directory.
type Java struct {
	class, out, classpath string
}

// Compile compiles a class against a class path. name tells it from the same class on another one.
func Compile(class, name, classpath string) (*Java, error) {
	path, err := exec.LookPath("javac")
	if err != nil {
		return nil, err
	}
	out, err := cluster.Scratch(class + "-" + name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), path, "-nowarn", "-d", out, "-cp", classpath, filepath.Join("clients", class+".java"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac %s: %w\n%s", class, err, text)
	}
	return &Java{class: class, out: out, classpath: classpath}, nil
}

// Run runs the program to its end, on the given class path or, when it is empty, on the one it was compiled for, and returns what it
// printed. dir is for its files.
func (j *Java) Run(ctx context.Context, dir, classpath string, args ...string) (stdout string, err error) {
	if classpath == "" {
		classpath = j.classpath
	}
	line, err := j.line(dir, classpath, args...)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "java", line...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), fmt.Errorf("%s: %w\n%s", j.class, err, exit.Stderr)
	}
	return string(out), err
}

// log4jToStderr is for the log4j of 3.9: standard output belongs to the protocol. 4.x has slf4j-simple, which knows that.
const log4jToStderr = `log4j.rootLogger=INFO, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=[%d] %p %m (%c)%n
`

// line are the arguments of java.
func (j *Java) line(dir, classpath string, args ...string) ([]string, error) {
	log4j := filepath.Join(dir, "log4j")
	if err := os.WriteFile(log4j, []byte(log4jToStderr), 0o600); err != nil {
		return nil, err
	}
	return append([]string{
		"-Dlog4j.configuration=file:" + log4j, "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", j.out + ":" + classpath, j.class,
	}, args...), nil
}
