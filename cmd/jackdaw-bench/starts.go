package main

import (
	"context"
	"fmt"
	"time"

	"jackdaw/bench"
	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

const (
	sectionStart = "Start and memory"
	// idleFor is how long a started broker is left alone before its memory is read.
	idleFor = 2 * time.Second
)

// starts compares the time from the start of the process to the first acknowledged produce, after a clean stop, and the
// memory of a broker that has nothing to do.
func (c *comparison) starts(ctx context.Context) error {
	first := report.Row{Section: sectionStart, Load: "start to the first acknowledged produce", Metric: "time", Unit: "ms", Goal: 0.05, Absolute: 150}
	idle := report.Row{Section: sectionStart, Load: "idle", Metric: "memory", Unit: "MiB", Absolute: 40}
	if err := c.restarts(ctx, 1, c.rounds, &first, &idle); err != nil {
		return err
	}
	c.add(first)
	c.add(idle)
	return nil
}

// restarts starts brokers with a topic of some partitions, round by round, and notes time and memory.
func (c *comparison) restarts(ctx context.Context, partitions, rounds int, first, idle *report.Row) error {
	clusters, err := c.start(ctx, 1, settings)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		t := bench.Topic{Name: "start", Partitions: partitions, Replication: 1}
		if err := bench.Create(ctx, clusters[k].Bootstrap(), t); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	if err := stop(clusters); err != nil {
		return err
	}
	for range rounds {
		for _, k := range kinds {
			took, rss, err := c.restart(ctx, clusters[k], partitions-1)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			if k == rig.Apache {
				first.Apache, idle.Apache = append(first.Apache, took), append(idle.Apache, rss)
			} else {
				first.Jackdaw, idle.Jackdaw = append(first.Jackdaw, took), append(idle.Jackdaw, rss)
			}
		}
	}
	return nil
}

// restart runs a broker once; the time is in milliseconds, the memory in MiB.
func (c *comparison) restart(ctx context.Context, cl *rig.Cluster, partition int) (took, rss float64, err error) {
	began := time.Now()
	if err := cl.Brokers[0].Launch(ctx); err != nil {
		return 0, 0, err
	}
	at, err := bench.FirstProduce(ctx, cl.Bootstrap(), "start", partition)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(idleFor)
	u, err := bench.UsageOf(cl.PIDs())
	if err != nil {
		return 0, 0, err
	}
	return float64(at.Sub(began)) / float64(time.Millisecond), float64(u.RSS) / (1 << 20), cl.Stop()
}
