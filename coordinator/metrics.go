package coordinator

import (
	"github.com/prometheus/client_golang/prometheus"

	km "jackdaw/internal/metrics"
)

// metrics of one runtime. Kafka: GroupMetadataManager's and TransactionStateManager's sensors.
type metrics struct {
	loadSeconds  prometheus.Observer
	loadFailures prometheus.Counter
	loaded       prometheus.Gauge
	rejected     prometheus.Counter
}

func newMetrics(name string, reg prometheus.Registerer) *metrics {
	bean := func(n string) km.MBean {
		return km.MBean{Domain: "kafka.server", Type: name + "_coordinator_metrics", Name: n}
	}
	return &metrics{
		loadSeconds: km.NewQuantiles(reg, bean("partition_load_time_seconds"),
			"Time to load a partition of the internal topic.").WithLabelValues(),
		loadFailures: km.NewCounter(reg, bean("partition_load_failures"),
			"Loads that failed and were begun again.").WithLabelValues(),
		loaded:   km.NewGauge(reg, bean("num_partitions"), "Partitions that are loaded here.").WithLabelValues(),
		rejected: km.NewCounter(reg, bean("append_failures"), "Batches that the log refused.").WithLabelValues(),
	}
}
