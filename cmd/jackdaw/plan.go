package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newPlan() *cobra.Command {
	var s sizing
	var a assignment
	var racks string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Size a cluster, or show how partitions would be placed",
		Long: "How many brokers does it take?\n\n" +
			"  jackdaw plan --data 10TB --disk 2TB [--replicas 3] [--headroom 20] [--growth 50]\n" +
			"  jackdaw plan --throughput 40MB/s --retention 7d --disk 2TB --network 120MB/s\n\n" +
			"Where would the partitions of a topic go?\n\n" +
			"  jackdaw plan --brokers 6 --partitions 10 --replicas 3 [--racks a,b,c] [--topics 1]",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			switch {
			case a.partitions > 0 && a.brokers > 0:
				a.replicas, a.racks = s.replicas, splitNames(racks)
				return a.print(out)
			case a.partitions > 0:
				return &usageError{errors.New("--partitions needs --brokers")}
			case s.disk > 0 && (s.data > 0 || s.throughput > 0):
				return s.print(out)
			default:
				return &usageError{fmt.Errorf("nothing to plan: give --data and --disk, or --brokers and --partitions; see jackdaw plan --help")}
			}
		},
	}
	f := cmd.Flags()
	f.Var(&s.data, "data", "records to keep, once, as they are stored (after compression)")
	f.Var(&s.disk, "disk", "disk of one broker")
	f.IntVar(&s.replicas, "replicas", 1, "replicas of each partition")
	f.Float64Var(&s.headroom, "headroom", 0, "part of each disk that stays free, in per cent")
	f.Float64Var(&s.growth, "growth", 0, "how much more data to prepare for, in per cent")
	f.Var(&s.throughput, "throughput", "what producers write")
	f.Var(&s.retention, "retention", "with --throughput and without --data: how long records are kept")
	f.IntVar(&s.consumers, "consumers", 1, "with --throughput: how many consumer groups read everything")
	f.Var(&s.network, "network", "with --throughput: what one broker can receive, and send")
	f.IntVar(&a.brokers, "brokers", 0, "brokers to place partitions on")
	f.IntVar(&a.partitions, "partitions", 0, "partitions of a topic")
	f.IntVar(&a.topics, "topics", 1, "topics of that size, created one after another")
	f.StringVar(&racks, "racks", "", "racks that the brokers are in, in turn: a,b,c")
	return cmd
}
