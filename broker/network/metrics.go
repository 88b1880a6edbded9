package network

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/internal/metrics"
	"jackdaw/protocol"
)

// serverMetrics are Kafka's RequestMetrics and SocketServer metrics. The instruments of an API are looked up once, so that counting a
// request allocates nothing.
type serverMetrics struct {
	connections *prometheus.GaugeVec
	rejected    prometheus.Counter
	// authenticated and failed count by listener who has proven who it is, and who has not.
	authenticated, failed *prometheus.CounterVec
	byAPI                 map[int16]*apiMetrics
}

type apiMetrics struct {
	requests  []prometheus.Counter // by version, from min on
	min       int16
	other     prometheus.Counter // versions that are not served: ApiVersions of newer clients
	totalTime prometheus.Observer
	throttle  prometheus.Observer
}

func newServerMetrics(reg prometheus.Registerer) *serverMetrics {
	bean := func(name string) metrics.MBean {
		return metrics.MBean{Domain: "kafka.network", Type: "RequestMetrics", Name: name}
	}
	requests := metrics.NewCounter(reg, bean("RequestsPerSec"), "Requests, by API and version.", "request", "version")
	total := metrics.NewQuantiles(reg, bean("TotalTimeMs"), "Milliseconds from the arrival of a request to its answer's last byte.", "request")
	throttle := metrics.NewQuantiles(reg, bean("ThrottleTimeMs"), "Milliseconds for which clients were held up by quotas, of those requests that were.", "request")
	m := &serverMetrics{
		connections: metrics.NewGauge(reg, metrics.MBean{Domain: "kafka.network", Type: "SocketServer", Name: "ConnectionCount"},
			"Open connections.", "listener"),
		rejected: metrics.NewCounter(reg, metrics.MBean{Domain: "kafka.network", Type: "SocketServer", Name: "ConnectionsRejectedPerSec"},
			"Connections closed because their address had too many.").WithLabelValues(),
		authenticated: metrics.NewCounter(reg, metrics.MBean{Domain: "kafka.server", Type: "socket-server-metrics", Name: "successful-authentication-total"},
			"Connections that were authenticated, by TLS or SASL.", "listener"),
		failed: metrics.NewCounter(reg, metrics.MBean{Domain: "kafka.server", Type: "socket-server-metrics", Name: "failed-authentication-total"},
			"Connections closed because they were not authenticated.", "listener"),
		byAPI: make(map[int16]*apiMetrics),
	}
	for _, api := range protocol.Table() {
		a := &apiMetrics{
			min: api.Min, other: requests.WithLabelValues(api.Name, "other"),
			totalTime: total.WithLabelValues(api.Name), throttle: throttle.WithLabelValues(api.Name),
		}
		for v := api.Min; v <= api.Max; v++ {
			a.requests = append(a.requests, requests.WithLabelValues(api.Name, strconv.Itoa(int(v))))
		}
		m.byAPI[api.Key] = a
	}
	return m
}

// observe counts a request whose answer was sent.
func (m *serverMetrics) observe(r *Request, now time.Time) {
	a := m.byAPI[r.Key]
	if a == nil {
		return
	}
	if i := int(r.Version) - int(a.min); i >= 0 && i < len(a.requests) {
		a.requests[i].Inc()
	} else {
		a.other.Inc()
	}
	a.totalTime.Observe(float64(now.Sub(r.Received)) / float64(time.Millisecond))
	if r.throttle > 0 {
		a.throttle.Observe(float64(r.throttle) / float64(time.Millisecond))
	}
}
