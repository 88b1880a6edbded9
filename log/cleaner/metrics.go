package cleaner

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	kmetrics "jackdaw/internal/metrics"
	"jackdaw/log/cleaner/plan"
)

// metrics are Kafka's log cleaner metrics.
type metrics struct {
	maxDirty, recopy, maxTime prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, uncleanable func() float64) *metrics {
	gauge := func(typ, name, help string) prometheus.Gauge {
		return kmetrics.NewGauge(reg, kmetrics.MBean{Domain: "kafka.log", Type: typ, Name: name}, help).WithLabelValues()
	}
	kmetrics.NewGaugeFunc(reg, kmetrics.MBean{Domain: "kafka.log", Type: "LogCleanerManager", Name: "uncleanable_partitions_count"},
		"Logs that could not be cleaned.", uncleanable)
	return &metrics{
		maxDirty: gauge("LogCleanerManager", "max_dirty_percent", "Dirty share of the dirtiest log in percent."),
		recopy:   gauge("LogCleaner", "cleaner_recopy_percent", "Bytes written by the last pass, in percent of those read."),
		maxTime:  gauge("LogCleaner", "max_clean_time_secs", "Duration of the last pass in seconds."),
	}
}

// dirty notes the dirtiest log.
func (m *metrics) dirty(logs []plan.Log, nowMs int64) {
	most := 0.0
	for _, l := range logs {
		most = max(most, plan.Cleanable(l, nowMs).Ratio)
	}
	m.maxDirty.Set(100 * most)
}

// passed notes one pass.
func (m *metrics) passed(read, written int64, took time.Duration) {
	if read > 0 {
		m.recopy.Set(100 * float64(written) / float64(read))
	}
	m.maxTime.Set(took.Seconds())
}
