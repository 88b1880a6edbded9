package main

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"jackdaw/bench"
)

// line is what a single load prints.
type line struct {
	Load         string  `json:"load"`
	Requests     int64   `json:"requests,omitempty"`
	MiBPerSecond float64 `json:"mib_per_s"`
	CPU          float64 `json:"cpu_s,omitempty"`
	CPUPerGiB    float64 `json:"cpu_s_per_gib,omitempty"`
	Generator    float64 `json:"generator_cpu_s_per_gib,omitempty"`
	PerCPUSecond float64 `json:"requests_per_cpu_s,omitempty"`
	PeakMiB      float64 `json:"peak_rss_mib,omitempty"`
	P50          float64 `json:"p50_ms,omitempty"`
	P99          float64 `json:"p99_ms,omitempty"`
	P999         float64 `json:"p999_ms,omitempty"`
}

// newLoads makes a command for each kind of load.
func newLoads() []*cobra.Command {
	var out []*cobra.Command
	for _, verb := range []bench.Verb{bench.Produce, bench.Latency, bench.Fetch} {
		l := bench.Load{Verb: verb}
		var pids []int
		var t bench.Topic
		cmd := &cobra.Command{
			Use: string(verb), Short: "Run the load " + string(verb) + " against a running broker", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				t.Name = l.Topic
				if err := bench.Create(cmd.Context(), l.Bootstrap, t); err != nil {
					return err
				}
				m, err := measure(cmd.Context(), l, pids)
				if err != nil {
					return err
				}
				return json.NewEncoder(os.Stdout).Encode(m.line(string(verb)))
			},
		}
		f := cmd.Flags()
		f.StringVar(&l.Bootstrap, "bootstrap", "127.0.0.1:9092", "a broker")
		f.StringVar(&l.Topic, "topic", "bench", "topic, created when missing")
		f.IntVar(&t.Partitions, "partitions", 6, "partitions of a new topic")
		f.IntVar(&t.Replication, "rf", 1, "replication factor of a new topic")
		f.IntVar(&l.Acks, "acks", 1, "0, 1 or -1")
		f.StringVar(&l.Codec, "codec", "none", "none, lz4 or zstd")
		f.IntVar(&l.Records, "records", 0, "records of a batch (64)")
		f.IntVar(&l.ValueBytes, "value", 0, "bytes of a record (1024)")
		f.IntVar(&l.Conns, "conns", 0, "connections (6)")
		f.IntVar(&l.InFlight, "inflight", 0, "requests in work on each (5)")
		f.IntVar(&l.MaxBytes, "max-bytes", 0, "bytes of one fetch (8 MiB)")
		f.Float64Var(&l.Rate, "rate", 0, "batches per second (300)")
		f.DurationVar(&l.For, "for", 0, "how long (10s)")
		f.IntSliceVar(&pids, "pids", nil, "broker processes whose CPU and memory to tell")
		out = append(out, cmd)
	}
	return out
}
