package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"jackdaw/bench"
	"jackdaw/bench/rig"
)

// newBare is a server that does the least that a broker could, see bench.Bare.
func newBare() *cobra.Command {
	var b bench.Bare
	var addr string
	cmd := &cobra.Command{
		Use: "bare", Short: "Serve requests in the barest way: receive, sum up, write, answer", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var lc net.ListenConfig
			ln, err := lc.Listen(cmd.Context(), "tcp", addr)
			if err != nil {
				return err
			}
			fmt.Println("listening")
			return b.Serve(cmd.Context(), ln)
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "listen", "127.0.0.1:0", "address")
	f.StringVar(&b.Dir, "dir", "", "directory of the files")
	f.StringSliceVar(&b.Followers, "followers", nil, "addresses of others that are to write it, too")
	f.IntVar(&b.Buffer, "buffer", 0, "bytes that one connection reads at a time (512 KiB)")
	return cmd
}

// newLimit measures the bare loops. The CPU time of the fetch is that of both ends, and is not told.
func newLimit() *cobra.Command {
	l := bench.Load{Verb: bench.Produce, Acks: 1}
	cmd := &cobra.Command{
		Use: "limit", Short: "Measure what bare loops reach on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			enc := json.NewEncoder(os.Stdout)
			for servers, name := range map[int]string{1: "limit-produce", 3: "limit-produce-rf3"} {
				m, err := limitProduce(cmd.Context(), l, servers)
				if err != nil {
					return err
				}
				if err := enc.Encode(m.line(name)); err != nil {
					return err
				}
			}
			slow := l
			slow.Verb, slow.Records, slow.Acks = bench.Latency, 10, -1
			m, err := limitProduce(cmd.Context(), slow, 3)
			if err != nil {
				return err
			}
			if err := enc.Encode(m.line("limit-latency-rf3")); err != nil {
				return err
			}
			r, err := bench.LimitFetch(cmd.Context(), l.Conns, l.For)
			if err != nil {
				return err
			}
			return enc.Encode(measured{Result: r}.line("limit-fetch"))
		},
	}
	cmd.Flags().IntVar(&l.Conns, "conns", 6, "connections")
	cmd.Flags().DurationVar(&l.For, "for", 5*time.Second, "how long each")
	return cmd
}

// limitProduce runs a load on bare servers of its own.
func limitProduce(ctx context.Context, l bench.Load, servers int) (m measured, err error) {
	dir, err := os.MkdirTemp("", "jackdaw-bench-bare-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := rig.StartBare(ctx, dir, servers)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	l.Bootstrap, l.Direct, l.Topic = c.Bootstrap(), true, "bare"
	return measure(ctx, l, c.PIDs())
}
