package main

import (
	"context"
	"errors"
	"fmt"

	"jackdaw/bench"
	"jackdaw/bench/report"
	"jackdaw/bench/rig"
)

// figure is one row of a load: what to look at.
type figure struct {
	metric, unit string
	of           func(measured) float64
	goal         float64
	atLeast      bool
}

// task is one load that is compared.
type task struct {
	name    string
	load    bench.Load
	topic   bench.Topic
	figures []figure
	// keep: the topic is there already and stays.
	keep bool
}

func throughput(goal float64) figure {
	return figure{"throughput", "MiB/s", measured.MiBPerSecond, goal, true}
}

func cpuPerGiB(goal float64) figure {
	return figure{"CPU", "s/GiB", measured.cpuPerGiB, goal, false}
}

// generator is what making the load takes of the machine that the brokers run on.
func generator() figure {
	return figure{"CPU of the load generator", "s/GiB", measured.ownPerGiB, 0, false}
}

func perCPUSecond(goal float64) figure {
	return figure{"requests per CPU second", "", measured.perCPUSecond, goal, true}
}

func peak(goal float64) figure {
	return figure{"peak memory", "MiB", measured.peakMiB, goal, false}
}

func latency(percent, goal float64) figure {
	return figure{fmt.Sprintf("p%g", percent), "ms", func(m measured) float64 { return m.quantile(percent) }, goal, false}
}

// start starts a cluster of each kind.
func (c *comparison) start(ctx context.Context, brokers int, extra map[string]string) (map[rig.Kind]*rig.Cluster, error) {
	out := map[rig.Kind]*rig.Cluster{}
	for _, k := range kinds {
		cl, err := c.rig.Start(ctx, k, brokers, extra)
		if err != nil {
			return nil, err
		}
		out[k] = cl
	}
	return out, nil
}

func stop(clusters map[rig.Kind]*rig.Cluster) error {
	var err error
	for _, cl := range clusters {
		err = errors.Join(err, cl.Stop())
	}
	return err
}

// compare runs a task on both clusters, round by round, and adds its rows.
func (c *comparison) compare(ctx context.Context, section string, clusters map[rig.Kind]*rig.Cluster, t task, rounds int) error {
	got := map[rig.Kind][]measured{}
	for round := range rounds {
		for _, k := range kinds {
			m, err := c.perform(ctx, clusters[k], t, round)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", t.name, k, err)
			}
			got[k] = append(got[k], m)
		}
	}
	for _, f := range t.figures {
		row := report.Row{Section: section, Load: t.name, Metric: f.metric, Unit: f.unit, Goal: f.goal, AtLeast: f.atLeast}
		for i := range rounds {
			row.Apache = append(row.Apache, f.of(got[rig.Apache][i]))
			row.Jackdaw = append(row.Jackdaw, f.of(got[rig.Jackdaw][i]))
		}
		c.add(row)
	}
	return nil
}

// add keeps a row and tells it.
func (c *comparison) add(row report.Row) {
	c.report.Rows = append(c.report.Rows, row)
	say("%s, %s: Apache %.3f, Jackdaw %.3f, ratio %.3f", row.Load, row.Metric,
		report.Median(row.Apache), report.Median(row.Jackdaw), report.Median(row.Ratios()))
}

// perform runs a task once, with a topic of its own unless there is one to keep.
func (c *comparison) perform(ctx context.Context, cl *rig.Cluster, t task, round int) (measured, error) {
	l := t.load
	l.Bootstrap, l.For = cl.Bootstrap(), c.each
	if t.keep {
		l.Topic = t.topic.Name
		return measure(ctx, l, cl.PIDs())
	}
	topic := t.topic
	topic.Name = fmt.Sprintf("%s-%d", t.topic.Name, round)
	l.Topic = topic.Name
	if err := bench.Create(ctx, cl.Bootstrap(), topic); err != nil {
		return measured{}, err
	}
	if l.Verb == bench.Latency {
		if err := c.settle(ctx, l); err != nil {
			return measured{}, err
		}
	}
	m, err := measure(ctx, l, cl.PIDs())
	return m, errors.Join(err, bench.Delete(ctx, cl.Bootstrap(), topic.Name))
}

// settle lets the first batches of a new topic pass, before which both brokers sync the start of its leader epoch.
func (c *comparison) settle(ctx context.Context, l bench.Load) error {
	l.For = c.each / 5
	_, err := bench.Run(ctx, l)
	return err
}
