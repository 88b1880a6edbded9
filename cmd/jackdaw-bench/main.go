package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "jackdaw-bench:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "jackdaw-bench", Short: "Measure brokers", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newCompare(), newLimit(), newBare())
	root.AddCommand(newLoads()...)
	return root.ExecuteContext(ctx)
}
