package log

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/vfs"
)

// Options configures a Manager. Zero durations get Kafka's defaults.
type Options struct {
	// FS is vfs.OS{} when nil.
	FS vfs.FS
	// Dirs are the log directories, log.dirs.
	Dirs []string
	// Config returns the effective settings of a topic: broker defaults and topic overrides. DefaultConfig when nil.
	Config    func(topic string) Config
	BrokerID  int32
	ClusterID string
	// RecoveryThreads is per directory. num.recovery.threads.per.data.dir
	RecoveryThreads int
	Logger          *slog.Logger
	Metrics         prometheus.Registerer
	Now             func() time.Time
	// Intervals of the periodic work, and the delay before it first runs.
	RetentionInterval          time.Duration // log.retention.check.interval.ms, 5 min
	FlushInterval              time.Duration // log.flush.scheduler.interval.ms, none
	RecoveryCheckpointInterval time.Duration // log.flush.offset.checkpoint.interval.ms, 1 min
	StartCheckpointInterval    time.Duration // log.flush.start.offset.checkpoint.interval.ms, 1 min
	ProducerExpiryInterval     time.Duration // producer.id.expiration.check.interval.ms, 10 min
	InitialDelay               time.Duration // log.initial.task.delay.ms, 30 s
	// ProducerExpiration forgets idle producer ids. producer.id.expiration.ms, 24 h
	ProducerExpiration time.Duration
	// OnDirFailure is called once per directory that failed, from Run, never under a lock.
	OnDirFailure func(dir string, err error)
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Config == nil {
		o.Config = func(string) Config { return DefaultConfig() }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.RecoveryThreads = max(o.RecoveryThreads, 1)
	for _, d := range []struct {
		p   *time.Duration
		def time.Duration
	}{
		{&o.RetentionInterval, 5 * time.Minute},
		{&o.FlushInterval, Unlimited},
		{&o.RecoveryCheckpointInterval, time.Minute},
		{&o.StartCheckpointInterval, time.Minute},
		{&o.ProducerExpiryInterval, 10 * time.Minute},
		{&o.InitialDelay, 30 * time.Second},
		{&o.ProducerExpiration, 24 * time.Hour},
	} {
		if *d.p <= 0 {
			*d.p = d.def
		}
	}
	return o
}
