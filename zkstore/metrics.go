package zkstore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/metrics"
)

// clientMetrics are Kafka's about ZooKeeper. Kafka: ZooKeeperClient, SessionExpireListener.
type clientMetrics struct {
	syncConnects, disconnects, expires prometheus.Counter
	latencyMs                          prometheus.Observer
}

func newMetrics(reg prometheus.Registerer) clientMetrics {
	meter := func(name, help string) prometheus.Counter {
		return metrics.NewCounter(reg, metrics.MBean{Domain: "kafka.server", Type: "SessionExpireListener", Name: name}, help).WithLabelValues()
	}
	latency := metrics.MBean{Domain: "kafka.server", Type: "ZooKeeperClientMetrics", Name: "ZooKeeperRequestLatencyMs"}
	return clientMetrics{
		syncConnects: meter("ZooKeeperSyncConnectsPerSec", "Connections to ZooKeeper that carried a session."),
		disconnects:  meter("ZooKeeperDisconnectsPerSec", "Connections to ZooKeeper that were lost."),
		expires:      meter("ZooKeeperExpiresPerSec", "ZooKeeper sessions that expired."),
		latencyMs:    metrics.NewQuantiles(reg, latency, "Time from a request to ZooKeeper to its answer.").WithLabelValues(),
	}
}

// observe adds the latency of one request.
func (m clientMetrics) observe(begin time.Time) {
	m.latencyMs.Observe(float64(time.Since(begin)) / float64(time.Millisecond))
}
