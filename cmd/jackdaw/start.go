package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"jackdaw/broker"
	"jackdaw/config"
)

// defaultFile is read by start and health when no file is named.
const defaultFile = "server.properties"

func newStart() *cobra.Command {
	var overrides []string
	cmd := &cobra.Command{
		Use:   "start [FILE]",
		Short: "Run a broker in the foreground",
		Long: "Run a broker in the foreground. FILE is a Kafka server.properties, by default " + defaultFile + ".\n" +
			"Environment variables KAFKA_X_Y set x.y and beat the file (__ is _ and ___ is -); --override beats both.\n" +
			"SIGTERM and SIGINT move the leaders away, then stop; the exit code is 0 after that.",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := config.Load(fileArgument(args), os.Environ(), overrides)
			if err != nil {
				return err
			}
			admin := loaded.Broker().Admin
			lg, levels := newLeveledLogger(os.Stdout, admin.LogFormat, admin.LogLevel)
			slog.SetDefault(lg) // for internal/assert, which has no logger of its own
			reportIgnored(lg, loaded)
			return broker.New(loaded, lg).WithLogLevels(levels).Run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVar(&overrides, "override", nil, "`key=value` that beats the file and the environment; may be repeated")
	return cmd
}

func fileArgument(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return defaultFile
}

// reportIgnored names each setting that has no effect, once.
func reportIgnored(lg *slog.Logger, loaded *config.Loaded) {
	lg = lg.With(loggerKey, "kafka.server.KafkaConfig")
	for _, line := range loaded.Report() {
		lg.Warn("configuration", "note", line)
	}
}
