package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// NewRegistry returns a registry that already has the metrics of the Go runtime and of the process.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// MBean names one Kafka metric: kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions is
// MBean{"kafka.server", "ReplicaManager", "UnderReplicatedPartitions"}.
type MBean struct {
	// Domain is the JMX domain, such as kafka.server.
	Domain string
	// Type is the MBean's type, such as ReplicaManager.
	Type string
	// Name is the MBean's name in Kafka's spelling, with PerSec where Kafka has a meter.
	Name string
}

// Gauge returns the name of a value: kafka_server_replicamanager_underreplicatedpartitions.
func (m MBean) Gauge() string {
	return strings.ToLower(strings.ReplaceAll(m.Domain, ".", "_") + "_" + m.Type + "_" + m.Name)
}

// Counter returns the name of a Kafka meter: PerSec becomes _total, as in
// kafka_server_brokertopicmetrics_messagesin_total. A meter becomes its count; rates are the reader's business.
func (m MBean) Counter() string {
	m.Name = strings.TrimSuffix(m.Name, "PerSec")
	return m.Gauge() + "_total"
}

// NewCounter makes a meter. help is a sentence; labels are MBean properties in lower case, such as topic.
// reg may be nil.
func NewCounter(reg prometheus.Registerer, m MBean, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: m.Counter(), Help: help}, labels)
}

// NewGauge makes a value that its owner sets. reg may be nil.
func NewGauge(reg prometheus.Registerer, m MBean, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(reg).NewGaugeVec(prometheus.GaugeOpts{Name: m.Gauge(), Help: help}, labels)
}

// NewGaugeFunc makes a value that is asked for when metrics are read. f is called from any goroutine and must not
// block. reg may be nil.
func NewGaugeFunc(reg prometheus.Registerer, m MBean, help string, f func() float64) prometheus.GaugeFunc {
	return promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{Name: m.Gauge(), Help: help}, f)
}
