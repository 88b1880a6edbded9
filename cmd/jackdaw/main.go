package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker, see the Makefile.
var version = "unknown"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "start" {
		coarsenTimers()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr}))
}

// streams are where a command prints.
type streams struct {
	out, err io.Writer
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, std streams) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(std.err, "jackdaw:", err)
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "jackdaw",
		Short:         "A Kafka broker: what Apache Kafka 3.9 speaks in ZooKeeper mode, as one static binary",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unknown command %q; jackdaw --help lists them", args[0])}
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newStart(), newZooKeeper(), newPlan(), newDumpLog(), newHealth(), newVersion())
	return root
}

// arguments turns cobra's complaint about the number of arguments into a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}
