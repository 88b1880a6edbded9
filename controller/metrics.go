package controller

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/controller/state"
	"jackdaw/internal/metrics"
)

// controllerMetrics are Kafka's metrics of the controller.
type controllerMetrics struct {
	offline, imbalanced, topics, partitions prometheus.Gauge
	dying, blocked, dyingReplicas, brokers  prometheus.Gauge
	queueSize                               *prometheus.GaugeVec
	queueTime                               prometheus.Observer
	processing                              *metrics.Quantiles
	totalQueueSize                          prometheus.Gauge
	// elections has the time of the work in which leaders changed.
	elections prometheus.Observer
	unclean   prometheus.Counter
	// suspected counts brokers that were treated as dead before their session expired.
	suspected prometheus.Counter
	// busy is the time in seconds that the loop has worked; its rate is the saturation.
	busy prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *Controller) *controllerMetrics {
	const domain = "kafka.controller"
	gauge := func(name, help string) prometheus.Gauge {
		return metrics.NewGauge(reg, metrics.MBean{Domain: domain, Type: "KafkaController", Name: name}, help).WithLabelValues()
	}
	m := &controllerMetrics{
		offline:       gauge("OfflinePartitionsCount", "Partitions without a live leader."),
		imbalanced:    gauge("PreferredReplicaImbalanceCount", "Partitions not led by their preferred replica."),
		topics:        gauge("GlobalTopicCount", "Topics of the cluster."),
		partitions:    gauge("GlobalPartitionCount", "Partitions of the cluster."),
		dying:         gauge("TopicsToDeleteCount", "Topics to be deleted."),
		blocked:       gauge("TopicsIneligibleToDeleteCount", "Topics to be deleted that wait for a broker or a reassignment."),
		dyingReplicas: gauge("ReplicasToDeleteCount", "Replicas of topics to be deleted."),
		brokers:       gauge("ActiveBrokerCount", "Registered brokers."),
		queueSize: metrics.NewGauge(reg, metrics.MBean{Domain: domain, Type: "ControllerChannelManager", Name: "QueueSize"},
			"Control requests that wait for a broker.", "broker_id"),
		queueTime: metrics.NewQuantiles(reg, metrics.MBean{Domain: domain, Type: "ControllerEventManager", Name: "EventQueueTimeMs"},
			"Time that events wait for the controller's loop.").WithLabelValues(),
		processing: metrics.NewQuantiles(reg, metrics.MBean{Domain: domain, Type: "ControllerEventManager", Name: "EventProcessingTimeMs"},
			"Time that the controller's loop works on an event.", "event"),
		totalQueueSize: metrics.NewGauge(reg, metrics.MBean{Domain: domain, Type: "ControllerChannelManager", Name: "TotalQueueSize"},
			"Control requests that wait for all brokers.").WithLabelValues(),
		elections: metrics.NewQuantiles(reg, metrics.MBean{Domain: domain, Type: "ControllerStats", Name: "LeaderElectionRateAndTimeMs"},
			"Time that the controller works on an event by which leaders change.").WithLabelValues(),
		unclean: metrics.NewCounter(reg, metrics.MBean{Domain: domain, Type: "ControllerStats", Name: "UncleanLeaderElectionsPerSec"},
			"Leaders elected outside of the ISR.").WithLabelValues(),
		suspected: metrics.NewCounter(reg, metrics.MBean{Domain: domain, Type: "ControllerStats", Name: "SuspectedBrokersPerSec"},
			"Brokers treated as dead before their session expired, because nobody listened at their address any more.").WithLabelValues(),
		busy: metrics.NewCounter(reg, metrics.MBean{Domain: domain, Type: "ControllerEventManager", Name: "BusySecondsPerSec"},
			"Seconds that the controller's loop has worked: its rate is the saturation.").WithLabelValues(),
	}
	metrics.NewGaugeFunc(reg, metrics.MBean{Domain: domain, Type: "KafkaController", Name: "ActiveControllerCount"},
		"1 on the broker that is the controller.", func() float64 {
			if c.Active() {
				return 1
			}
			return 0
		})
	return m
}

// publishStats brings the metrics up to date.
func (c *Controller) publishStats() {
	c.dirty = false
	m := c.metrics
	var st state.Stats
	var queued int64
	if o := c.office; o != nil {
		st = o.state.Stats()
		for id, s := range o.senders {
			n := s.length.Load()
			queued += n
			m.queueSize.WithLabelValues(strconv.Itoa(int(id))).Set(float64(n))
		}
	} else {
		m.queueSize.Reset()
	}
	m.totalQueueSize.Set(float64(queued))
	m.offline.Set(float64(st.Offline))
	m.imbalanced.Set(float64(st.Imbalanced))
	m.topics.Set(float64(st.Topics))
	m.partitions.Set(float64(st.Partitions))
	m.dying.Set(float64(st.Dying))
	m.blocked.Set(float64(st.Blocked))
	m.dyingReplicas.Set(float64(st.DyingReplicas))
	m.brokers.Set(float64(st.Brokers))
}
