package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

// comparison is one run of compare. Its parts add rows to the report.
type comparison struct {
	rig    *rig.Rig
	report report.Report

	rounds int
	each   time.Duration // of one load in one round
	warm   time.Duration // of one Apache broker; three take warm3
	warm3  time.Duration
	parts  []string
	// binary, heap, doc and out are paths and the JVM's option, as given.
	binary, heap, doc, out string
}

// part is a piece of the comparison that can be left out.
type part struct {
	name string
	run  func(*comparison, context.Context) error
}

// kinds in the order of a round.
var kinds = []rig.Kind{rig.Apache, rig.Jackdaw}

var parts = []part{
	{"start", (*comparison).starts},
	{"one", (*comparison).one},
	{"tools", (*comparison).tools},
	{"three", (*comparison).three},
	{"scale", (*comparison).scale},
}

func newCompare() *cobra.Command {
	c := &comparison{}
	cmd := &cobra.Command{
		Use: "compare", Short: "Run the same loads on Apache Kafka and Jackdaw by turns", Args: cobra.NoArgs,
		Long: "Starts both brokers, runs the same loads on them by turns, and prints the ratios: medians over the rounds,\n" +
			"with the lowest and the highest. Needs what compat-tests/setup.sh installs.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	f := cmd.Flags()
	f.IntVar(&c.rounds, "rounds", 5, "rounds of each load")
	f.DurationVar(&c.each, "each", 3*time.Second, "length of a load in one round")
	f.DurationVar(&c.warm, "warm", 45*time.Second, "warm-up of one Apache broker")
	f.DurationVar(&c.warm3, "warm3", 3*time.Minute, "warm-up of three Apache brokers")
	f.StringSliceVar(&c.parts, "parts", names, "what to measure")
	f.StringVar(&c.binary, "binary", "bin/jackdaw", "Jackdaw's binary")
	f.StringVar(&c.heap, "heap", "-Xmx512m", "heap of an Apache broker")
	f.StringVar(&c.doc, "doc", "", "document to put the figures into; pictures go beside it")
	f.StringVar(&c.out, "out", "", "file for the figures as JSON; those of parts that are left out stay")
	return cmd
}

func (c *comparison) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "jackdaw-bench-")
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		err = errors.Join(err, c.rig.ZooKeeper.Stop(), os.RemoveAll(dir))
	}()
	for _, p := range parts {
		if !slices.Contains(c.parts, p.name) {
			continue
		}
		say("-- %s", p.name)
		if err := p.run(c, ctx); err != nil {
			return fmt.Errorf("part %s: %w", p.name, err)
		}
	}
	return c.finish()
}

func (c *comparison) prepare(ctx context.Context, dir string) error {
	java, err := rig.FindJava(c.heap)
	if err != nil {
		return err
	}
	binary, err := filepath.Abs(c.binary)
	if err != nil {
		return err
	}
	zk, err := java.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper"))
	if err != nil {
		return err
	}
	c.rig = &rig.Rig{Java: java, Binary: binary, Dir: dir, ZooKeeper: zk}
	c.report.Machine = fmt.Sprintf("%d cores, %s, %s", runtime.NumCPU(), processor(), time.Now().UTC().Format(time.DateOnly))
	c.report.Versions = "Apache Kafka 3.9.2 (" + c.heap + "), Jackdaw built by " + runtime.Version()
	c.report.Settings = fmt.Sprintf("%d rounds of %v; Apache warmed up for %v, three brokers for %v", c.rounds, c.each, c.warm, c.warm3)
	return nil
}

// processor names the CPU's model.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, _ := strings.Cut(string(text), "model name")
	name, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(name, " \t:")
}

// finish prints and writes what was found.
func (c *comparison) finish() error {
	if err := c.merge(); err != nil {
		return err
	}
	if err := c.report.Text(os.Stdout); err != nil {
		return err
	}
	if c.doc == "" {
		return nil
	}
	stem := strings.TrimSuffix(c.doc, filepath.Ext(c.doc))
	err := errors.Join(os.WriteFile(stem+".svg", []byte(c.report.SVG()), 0o644), c.report.Update(c.doc))
	if c.report.Grows() {
		err = errors.Join(err, os.WriteFile(report.GrowthPath(c.doc), []byte(c.report.Growth()), 0o644))
	}
	return err
}

// merge keeps the sections of an earlier run that this one has not measured.
func (c *comparison) merge() error {
	if c.out == "" {
		return nil
	}
	var old report.Report
	if text, err := os.ReadFile(c.out); err == nil {
		if err := json.Unmarshal(text, &old); err != nil {
			return fmt.Errorf("%s: %w", c.out, err)
		}
	}
	c.report.Merge(old)
	text, err := json.MarshalIndent(c.report, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.out, text, 0o644)
}

// say tells on the terminal how far things are.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
