package log

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	kmetrics "jackdaw/internal/metrics"
)

// metrics are Kafka's log metrics.
type metrics struct {
	flush prometheus.Observer
}

// newMetrics registers the metrics; logs are asked for their sizes when metrics are read.
func newMetrics(reg prometheus.Registerer, all func() []*Log, offlineDirs func() float64) *metrics {
	m := &metrics{
		flush: kmetrics.NewQuantiles(reg, kmetrics.MBean{Domain: "kafka.log", Type: "LogFlushStats", Name: "LogFlushRateAndTimeMs"},
			"Time of log flushes in ms.").WithLabelValues(),
	}
	kmetrics.NewGaugeFunc(reg, kmetrics.MBean{Domain: "kafka.log", Type: "LogManager", Name: "OfflineLogDirectoryCount"},
		"Log directories that have failed.", offlineDirs)
	if reg != nil {
		reg.MustRegister(newLogCollector(all))
	}
	return m
}

// flushed notes one flush.
func (m *metrics) flushed(d time.Duration) {
	m.flush.Observe(float64(d) / float64(time.Millisecond))
}

// logCollector shows sizes and offsets of every log.
type logCollector struct {
	all                        func() []*Log
	end, start, size, segments *prometheus.Desc
}

func newLogCollector(all func() []*Log) *logCollector {
	desc := func(name, help string) *prometheus.Desc {
		b := kmetrics.MBean{Domain: "kafka.log", Type: "Log", Name: name}
		return prometheus.NewDesc(b.Gauge(), help, []string{"topic", "partition"}, nil)
	}
	return &logCollector{
		all:      all,
		end:      desc("LogEndOffset", "Offset of the next record."),
		start:    desc("LogStartOffset", "First offset that may be read."),
		size:     desc("Size", "Bytes in all segments."),
		segments: desc("NumLogSegments", "Segments."),
	}
}

// Describe implements prometheus.Collector.
func (c *logCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.end, c.start, c.size, c.segments} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *logCollector) Collect(ch chan<- prometheus.Metric) {
	for _, l := range c.all() {
		partition := strconv.Itoa(int(l.tp.Partition))
		gauge := func(d *prometheus.Desc, v int64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), l.tp.Topic, partition)
		}
		gauge(c.end, l.EndOffset())
		gauge(c.start, l.StartOffset())
		gauge(c.size, l.Size())
		gauge(c.segments, int64(l.NumSegments()))
	}
}
