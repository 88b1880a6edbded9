package broker

import (
	"jackdaw/config"
	"jackdaw/log/cleaner"
)

// openCleaner makes the cleaner of compacted topics, unless log.cleaner.enable is off.
func (b *Broker) openCleaner() {
	c := b.topics.broker.Load().Log.Cleaner
	if !c.Enable {
		return
	}
	b.cleaner = cleaner.New(cleaner.Options{
		Tuning: cleanerTuning(c), Logs: b.logs, Logger: b.log, Metrics: b.registry,
	})
}

// retuneCleaner puts changed settings to work. Kafka: LogCleaner.reconfigure.
func (b *Broker) retuneCleaner(was, now config.Cleaner) {
	if b.cleaner != nil && was != now {
		b.cleaner.Retune(cleanerTuning(now))
	}
}

// maxBytesPerSecond is far above what any disk does: from there on the throttle is left out. Kafka's default is the
// largest double.
const maxBytesPerSecond = 1e15

func cleanerTuning(c config.Cleaner) cleaner.Tuning {
	t := cleaner.Tuning{
		Threads: c.Threads, DedupeBytes: int(c.DedupeBufferSize), LoadFactor: c.LoadFactor, IOBytes: c.IOBufferSize,
		BytesPerSecond: c.BytesPerSecond, Backoff: c.Backoff,
	}
	if t.BytesPerSecond >= maxBytesPerSecond {
		t.BytesPerSecond = 0
	}
	return t
}
