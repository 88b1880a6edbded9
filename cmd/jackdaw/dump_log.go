package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"jackdaw/internal/vfs"
	"jackdaw/log"
)

func newDumpLog() *cobra.Command {
	var o log.DumpOptions
	cmd := &cobra.Command{
		Use:   "dump-log FILE...",
		Short: "Print segments, indexes, producer snapshots and checkpoints",
		Long:  "Print files of a log directory, in the manner of Kafka's DumpLogSegments. The kind of a file is told by its name.",
		Args:  arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error {
			for _, path := range paths {
				if err := log.Dump(cmd.OutOrStdout(), vfs.OS{}, path, o); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.DeepIteration, "deep-iteration", false, "print the records of each batch")
	f.BoolVar(&o.PrintData, "print-data-log", false, "print keys and values too")
	f.BoolVar(&o.IndexSanityCheck, "index-sanity-check", false, "check an index instead of printing it")
	f.BoolVar(&o.VerifyIndexOnly, "verify-index-only", false, "check an index against its segment instead of printing it")
	return cmd
}
