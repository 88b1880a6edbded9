package main

import (
	"context"
	"time"

	"jackdaw/bench"
	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

const (
	sectionOne = "One broker"
	// cachedFor is how long data for the fetches is produced; it fits the page cache.
	cachedFor = 2 * time.Second
	// bareCPU bounds our CPU time in parts of bare loops': 1/0.7.
	bareCPU = 1.43
)

// settings of all brokers that differ from Kafka's defaults: deleted topics free the disk at once, so that a round does
// not write against the last one's.
var settings = map[string]string{"log.segment.delete.delay.ms": "100"}

// one compares loads on one broker. The first load meets both brokers cold.
func (c *comparison) one(ctx context.Context) error {
	clusters, err := c.start(ctx, 1, settings)
	if err != nil {
		return err
	}
	produce := task{
		name: "produce 64 KiB batches, acks=1", load: bench.Load{Verb: bench.Produce, Acks: 1}, topic: bench.Topic{Name: "one", Partitions: 6, Replication: 1},
	}
	cold := produce
	cold.name, cold.topic.Name, cold.figures = "the same, cold", "cold", []figure{cpuPerGiB(0), throughput(0)}
	if err := c.compare(ctx, sectionOne, clusters, cold, 1); err != nil {
		return err
	}
	if err := c.warmUp(ctx, clusters, produce, c.warm); err != nil {
		return err
	}
	produce.figures = []figure{cpuPerGiB(0.3), throughput(3), generator(), peak(0.2)}
	lz4, zstd, small, fetch := produce, produce, produce, produce
	lz4.name, lz4.topic.Name, lz4.load.Codec, lz4.figures = "the same, lz4", "lz4", "lz4", []figure{cpuPerGiB(0.4), throughput(0)}
	zstd.name, zstd.topic.Name, zstd.load.Codec, zstd.figures = "the same, zstd", "zstd", "zstd", []figure{cpuPerGiB(0.4), throughput(0)}
	small.name, small.topic.Name, small.figures = "produce one record of 100 bytes a request, acks=1, pipelined", "small", []figure{perCPUSecond(4)}
	small.load.Records, small.load.ValueBytes = 1, 100
	fetch.name, fetch.topic.Name, fetch.keep, fetch.load.Verb = "fetch of cached data", "cached", true, bench.Fetch
	fetch.figures = []figure{cpuPerGiB(0.8), throughput(1.2)}
	for _, t := range []task{produce, lz4, zstd, small} {
		if err := c.compare(ctx, sectionOne, clusters, t, c.rounds); err != nil {
			return err
		}
	}
	produce.figures = besideBare()
	if err := c.bareServers(ctx, sectionOne, clusters[rig.Jackdaw], produce, 1); err != nil {
		return err
	}
	if err := c.fillCache(ctx, clusters, fetch); err != nil {
		return err
	}
	if err := c.compare(ctx, sectionOne, clusters, fetch, c.rounds); err != nil {
		return err
	}
	if err := c.bareLoop(ctx, clusters[rig.Jackdaw], fetch); err != nil {
		return err
	}
	return stop(clusters)
}

// warmUp runs a load until the JVM has compiled what it needs. Jackdaw gets a second, for its pools.
func (c *comparison) warmUp(ctx context.Context, clusters map[rig.Kind]*rig.Cluster, t task, apache time.Duration) error {
	w := *c
	for _, k := range kinds {
		if w.each = time.Second; k == rig.Apache {
			w.each = apache
		}
		t.topic.Name = "warm"
		// In pieces, so that the disk does not fill.
		for round, left := 0, w.each; left > 0; round, left = round+1, left-w.each {
			w.each = min(left, 10*time.Second)
			if _, err := w.perform(ctx, clusters[k], t, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillCache produces what the fetches read, the same to both.
func (c *comparison) fillCache(ctx context.Context, clusters map[rig.Kind]*rig.Cluster, t task) error {
	for _, k := range kinds {
		cl := clusters[k]
		if err := bench.Create(ctx, cl.Bootstrap(), t.topic); err != nil {
			return err
		}
		l := bench.Load{Verb: bench.Produce, Acks: 1, Bootstrap: cl.Bootstrap(), Topic: t.topic.Name, For: cachedFor}
		if _, err := bench.Run(ctx, l); err != nil {
			return err
		}
		warm := t.load
		warm.Bootstrap, warm.Topic, warm.For = cl.Bootstrap(), t.topic.Name, c.warm/4
		if k == rig.Jackdaw {
			warm.For = time.Second
		}
		if _, err := bench.Run(ctx, warm); err != nil {
			return err
		}
	}
	return nil
}

// besideBare are the figures of a produce load that are set beside bare servers'.
func besideBare() []figure { return []figure{cpuPerGiB(bareCPU), throughput(0.7)} }

// bareServers compares a load with servers that do the least that brokers could: they stand in the column of Apache.
func (c *comparison) bareServers(ctx context.Context, section string, cl *rig.Cluster, t task, servers int) error {
	rows := make([]report.Row, len(t.figures))
	for i, f := range t.figures {
		rows[i] = report.Row{
			Section: section, Load: t.name, Metric: f.metric + ", beside bare loops that receive, sum up, write and answer, in place of Apache",
			Unit: f.unit, Goal: f.goal, AtLeast: f.atLeast,
		}
	}
	for round := range c.rounds {
		l := t.load
		l.For = c.each
		b, err := limitProduce(ctx, l, servers)
		if err != nil {
			return err
		}
		m, err := c.perform(ctx, cl, t, round)
		if err != nil {
			return err
		}
		for i, f := range t.figures {
			rows[i].Apache, rows[i].Jackdaw = append(rows[i].Apache, f.of(b)), append(rows[i].Jackdaw, f.of(m))
		}
	}
	for _, r := range rows {
		c.add(r)
	}
	return nil
}

// bareLoop compares fetches with a loop that only sends a file: in the column of Apache stands the loop.
func (c *comparison) bareLoop(ctx context.Context, cl *rig.Cluster, fetch task) error {
	row := report.Row{
		Section: sectionOne, Load: fetch.name, Metric: "throughput, beside a bare sendfile loop in place of Apache", Unit: "MiB/s",
		Goal: 0.7, AtLeast: true,
	}
	for round := range c.rounds {
		r, err := bench.LimitFetch(ctx, 6, c.each)
		if err != nil {
			return err
		}
		m, err := c.perform(ctx, cl, fetch, round)
		if err != nil {
			return err
		}
		row.Apache, row.Jackdaw = append(row.Apache, r.MiBPerSecond()), append(row.Jackdaw, m.MiBPerSecond())
	}
	c.add(row)
	return nil
}
