package main

import (
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"jackdaw/zkstore/zkserver"
)

func newZooKeeper() *cobra.Command {
	var host, data, format, level string
	var port uint16
	cmd := &cobra.Command{
		Use:   "zookeeper",
		Short: "Run the embedded coordination server alone",
		Long: "Run the server that zookeeper.connect=embedded starts, alone, so that several brokers of one machine can share\n" +
			"it. It speaks ZooKeeper's client protocol and keeps its data on disk. It is one server and no ensemble: a cluster\n" +
			"that must survive the loss of a machine needs a real ZooKeeper.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			lg := newLogger(os.Stdout, format, level)
			addr := net.JoinHostPort(host, strconv.Itoa(int(port)))
			server, err := zkserver.Open(zkserver.Options{Addr: addr, Dir: data, Logger: lg, MaxClientConns: -1})
			if err != nil {
				return err
			}
			lg.Info("started", loggerKey, "zookeeper", "addr", server.Addr(), "data", data)
			return server.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&host, "host", "127.0.0.1", "address to listen on; there is no authentication")
	f.Uint16Var(&port, "port", 2181, "port to listen on; 0 takes a free one")
	f.StringVar(&data, "data", "data/zookeeper", "data directory")
	f.StringVar(&format, "log-format", formatKafka, "form of log lines: kafka or json")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}
