package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"jackdaw/bench"
	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

const (
	sectionTools = "Apache's own tools"
	toolRecords  = 500_000
	toolBytes    = 1024
)

// tools compares with kafka-producer-perf-test and kafka-consumer-perf-test. The JVM of the client takes most of the
// machine, so only the brokers' CPU time says something about them.
func (c *comparison) tools(ctx context.Context) error {
	clusters, err := c.start(ctx, 1, settings)
	if err != nil {
		return err
	}
	produce := task{load: bench.Load{Verb: bench.Produce, Acks: 1}, topic: bench.Topic{Name: "warm", Partitions: 6, Replication: 1}}
	if err := c.warmUp(ctx, clusters, produce, c.warm/2); err != nil {
		return err
	}
	in := report.Row{Section: sectionTools, Load: "kafka-producer-perf-test, 1 KiB records, batches of 64 KiB", Metric: "broker CPU", Unit: "s/GiB"}
	out := report.Row{Section: sectionTools, Load: "kafka-consumer-perf-test", Metric: "broker CPU", Unit: "s/GiB"}
	for round := range c.rounds {
		for _, k := range kinds {
			p, f, err := c.tool(ctx, clusters[k], round)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			if k == rig.Apache {
				in.Apache, out.Apache = append(in.Apache, p), append(out.Apache, f)
			} else {
				in.Jackdaw, out.Jackdaw = append(in.Jackdaw, p), append(out.Jackdaw, f)
			}
		}
	}
	c.add(in)
	c.add(out)
	return stop(clusters)
}

// tool runs both tools once, and returns the broker's CPU seconds per GiB in each.
func (c *comparison) tool(ctx context.Context, cl *rig.Cluster, round int) (produce, fetch float64, err error) {
	t := bench.Topic{Name: "tools-" + strconv.Itoa(round), Partitions: 6, Replication: 1}
	if err := bench.Create(ctx, cl.Bootstrap(), t); err != nil {
		return 0, 0, err
	}
	produce, err = c.costOf(ctx, cl, "org.apache.kafka.tools.ProducerPerformance", "--topic", t.Name,
		"--num-records", strconv.Itoa(toolRecords), "--record-size", strconv.Itoa(toolBytes), "--throughput", "-1",
		"--producer-props", "bootstrap.servers="+cl.Bootstrap(), "acks=1", "batch.size=65536", "linger.ms=5")
	if err != nil {
		return 0, 0, err
	}
	fetch, err = c.costOf(ctx, cl, "org.apache.kafka.tools.ConsumerPerformance", "--topic", t.Name,
		"--messages", strconv.Itoa(toolRecords), "--bootstrap-server", cl.Bootstrap())
	if err != nil {
		return 0, 0, err
	}
	return produce, fetch, bench.Delete(ctx, cl.Bootstrap(), t.Name)
}

// costOf runs a tool and returns the brokers' CPU seconds per GiB of records.
func (c *comparison) costOf(ctx context.Context, cl *rig.Cluster, class string, args ...string) (float64, error) {
	before, err := bench.UsageOf(cl.PIDs())
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(c.rig.Dir, "tools")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if _, err := c.rig.Java.Tool(ctx, dir, class, args...); err != nil {
		return 0, err
	}
	after, err := bench.UsageOf(cl.PIDs())
	return (after.CPU - before.CPU).Seconds() / (float64(toolRecords*toolBytes) / (1 << 30)), err
}
