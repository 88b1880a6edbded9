package main

import (
	"context"

	"jackdaw/bench"
	"jackdaw/bench/rig"
)

const (
	sectionThree = "Three brokers"
	brokers3     = 3
)

// three compares replication: three brokers on this machine, acks=all.
func (c *comparison) three(ctx context.Context) error {
	clusters, err := c.start(ctx, brokers3, settings)
	if err != nil {
		return err
	}
	produce := task{
		name: "produce 64 KiB batches, RF 3, acks=all", load: bench.Load{Verb: bench.Produce, Acks: -1},
		topic: bench.Topic{Name: "three", Partitions: 6, Replication: 3, Configs: map[string]string{"min.insync.replicas": "2"}},
	}
	cold := produce
	cold.name, cold.topic.Name, cold.figures = "the same, cold", "cold", []figure{cpuPerGiB(0), throughput(0)}
	if err := c.compare(ctx, sectionThree, clusters, cold, 1); err != nil {
		return err
	}
	if err := c.warmUp(ctx, clusters, produce, c.warm3); err != nil {
		return err
	}
	produce.figures = []figure{throughput(4), cpuPerGiB(0.25), generator(), peak(0)}
	slow := produce
	slow.name, slow.topic.Name = "300 batches/s of 10 KiB, RF 3, acks=all", "slow"
	slow.load.Verb, slow.load.Records, slow.load.Rate = bench.Latency, 10, 300
	slow.figures = []figure{latency(50, 0.7), latency(99, 0.5), latency(99.9, 0.5), cpuPerGiB(0)}
	for _, t := range []task{produce, slow} {
		if err := c.compare(ctx, sectionThree, clusters, t, c.rounds); err != nil {
			return err
		}
	}
	produce.figures, slow.figures = besideBare(), []figure{latency(50, 0), latency(99, 0), latency(99.9, 0)}
	for _, t := range []task{produce, slow} {
		if err := c.bareServers(ctx, sectionThree, clusters[rig.Jackdaw], t, brokers3); err != nil {
			return err
		}
	}
	return stop(clusters)
}
