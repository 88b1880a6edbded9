package cleaner

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/log"
)

// Options configures a Cleaner. Zero values get Kafka's defaults.
type Options struct {
	Tuning
	// Logs holds the logs and their directories.
	Logs    *log.Manager
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time
}

// Tuning is the part of Options that may change while a Cleaner runs.
type Tuning struct {
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
}

func (t Tuning) withDefaults() Tuning {
	t.Threads = max(t.Threads, 1)
	if t.DedupeBytes == 0 {
		t.DedupeBytes = 128 << 20
	}
	if t.LoadFactor == 0 {
		t.LoadFactor = 0.9
	}
	if t.IOBytes == 0 {
		t.IOBytes = 512 << 10
	}
	if t.Backoff == 0 {
		t.Backoff = 15 * time.Second
	}
	return t
}

func (o Options) withDefaults() Options {
	o.Tuning = o.Tuning.withDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
