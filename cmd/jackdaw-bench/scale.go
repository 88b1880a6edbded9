package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"jackdaw/bench"
	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

const (
	sectionScale = "Scale"
	restFor      = 5 * time.Second
	metadataRuns = 200
	most         = 2000 // partitions
)

// scale compares brokers that hold much and do little.
func (c *comparison) scale(ctx context.Context) error {
	for _, n := range []int{100, 500, 1000, most} {
		if err := c.manyPartitions(ctx, n); err != nil {
			return err
		}
	}
	return c.manyClients(ctx)
}

// manyPartitions measures starts with n partitions, and what they cost then.
func (c *comparison) manyPartitions(ctx context.Context, n int) error {
	name := fmt.Sprintf("%d partitions", n)
	first := report.Row{Section: sectionScale, Load: name, Metric: "clean start to the first acknowledged produce", Unit: "ms"}
	if n == most {
		first.Goal = 0.3
	}
	idle := report.Row{Section: sectionScale, Load: name, Metric: "memory", Unit: "MiB"}
	if err := c.restarts(ctx, n, min(c.rounds, 2), &first, &idle); err != nil {
		return err
	}
	c.add(first)
	c.add(idle)
	return nil
}

// rest is what a broker costs that is left alone.
type rest struct{ cpu, rss, metadata float64 }

// manyClients piles up partitions, groups and connections on a running broker.
func (c *comparison) manyClients(ctx context.Context) error {
	clusters, err := c.start(ctx, 1, map[string]string{"max.connections.per.ip": "100000"})
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		add  func(addr string) (io.Closer, error)
	}{
		{"2000 partitions", func(addr string) (io.Closer, error) {
			return nil, bench.Create(ctx, addr, bench.Topic{Name: "many", Partitions: most, Replication: 1})
		}},
		{"and 1000 groups", func(addr string) (io.Closer, error) { return nil, bench.Groups(ctx, addr, 1000) }},
		{"and 5000 idle connections", func(addr string) (io.Closer, error) { return bench.IdleConnections(ctx, addr, 5000) }},
	}
	for _, s := range steps {
		got := map[rig.Kind]rest{}
		for _, k := range kinds {
			open, err := s.add(clusters[k].Bootstrap())
			if err != nil {
				return fmt.Errorf("%s with %s: %w", k, s.name, err)
			}
			if got[k], err = atRest(ctx, clusters[k]); err != nil {
				return err
			}
			if open != nil {
				_ = open.Close() // they have served
			}
		}
		c.addRest(s.name, got)
	}
	return stop(clusters)
}

func (c *comparison) addRest(name string, got map[rig.Kind]rest) {
	for _, f := range []struct {
		metric, unit string
		of           func(rest) float64
	}{
		{"memory at rest", "MiB", func(r rest) float64 { return r.rss }},
		{"CPU at rest", "ms per second", func(r rest) float64 { return r.cpu }},
		{"metadata of all topics, p50", "ms", func(r rest) float64 { return r.metadata }},
	} {
		c.add(report.Row{
			Section: sectionScale, Load: name, Metric: f.metric, Unit: f.unit,
			Apache: []float64{f.of(got[rig.Apache])}, Jackdaw: []float64{f.of(got[rig.Jackdaw])},
		})
	}
}

// atRest looks at a cluster for a while.
func atRest(ctx context.Context, cl *rig.Cluster) (rest, error) {
	h, err := bench.MetadataLatency(ctx, cl.Bootstrap(), metadataRuns)
	if err != nil {
		return rest{}, err
	}
	time.Sleep(idleFor)
	before, err := bench.UsageOf(cl.PIDs())
	if err != nil {
		return rest{}, err
	}
	time.Sleep(restFor)
	after, err := bench.UsageOf(cl.PIDs())
	return rest{
		cpu:      float64((after.CPU - before.CPU).Milliseconds()) / restFor.Seconds(),
		rss:      float64(after.RSS) / (1 << 20),
		metadata: float64(h.ValueAtQuantile(50)) / 1000,
	}, err
}
