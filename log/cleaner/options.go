package cleaner

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/log"
)

// Options configures a Cleaner. Zero values get Kafka's defaults.
type Options struct {
	// Logs holds the logs and their directories.
	Logs *log.Manager
	// Threads is the number of workers. log.cleaner.threads, 1
	Threads int
	// DedupeBytes is the memory of all key maps together; LoadFactor how far they are filled.
	// log.cleaner.dedupe.buffer.size, 128 MiB; log.cleaner.io.buffer.load.factor, 0.9
	DedupeBytes int
	LoadFactor  float64
	// IOBytes is the read buffer of all workers together. log.cleaner.io.buffer.size, 512 KiB
	IOBytes int
	// BytesPerSecond bounds reading and writing of all workers; 0 is without bound.
	// log.cleaner.io.max.bytes.per.second
	BytesPerSecond float64
	// Backoff is the pause when there is nothing to do. log.cleaner.backoff.ms, 15 s
	Backoff time.Duration
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time
}

func (o Options) withDefaults() Options {
	o.Threads = max(o.Threads, 1)
	if o.DedupeBytes == 0 {
		o.DedupeBytes = 128 << 20
	}
	if o.LoadFactor == 0 {
		o.LoadFactor = 0.9
	}
	if o.IOBytes == 0 {
		o.IOBytes = 512 << 10
	}
	if o.Backoff == 0 {
		o.Backoff = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
