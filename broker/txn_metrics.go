package broker

import (
	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/metrics"
)

// verifierMetrics are those of Kafka's AddPartitionsToTxnManager.
type verifierMetrics struct {
	failures prometheus.Counter
	// took is in ms.
	took *metrics.Distribution
}

func newVerifierMetrics(reg prometheus.Registerer) *verifierMetrics {
	bean := metrics.MBean{Domain: "kafka.server", Type: "AddPartitionsToTxnManager", Name: "VerificationFailureRate"}
	m := &verifierMetrics{
		failures: metrics.NewCounter(reg, bean, "Partitions of transactions that could not be verified.").WithLabelValues(),
	}
	bean.Name = "VerificationTimeMs"
	m.took = metrics.NewQuantiles(reg, bean, "Time that producers waited for a verification.").WithLabelValues()
	return m
}
