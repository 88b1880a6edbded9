package replication

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	km "jackdaw/internal/metrics"
	"jackdaw/log"
	"jackdaw/metadata"
)

// metrics are the instruments of a ReplicaManager. Kafka: ReplicaManager, BrokerTopicStats.
type metrics struct {
	isrShrinks, isrExpands, isrUpdateFailures prometheus.Counter
	replicationBytesIn, replicationBytesOut   prometheus.Counter

	bytesIn, bytesOut, messagesIn, produces, fetches, failedProduce, failedFetch, conversions, fetchConversions *prometheus.CounterVec

	mu struct {
		sync.Mutex
		topics map[string]*topicStats
	}
}

func replicaManagerBean(name string) km.MBean {
	return km.MBean{Domain: "kafka.server", Type: "ReplicaManager", Name: name}
}

func topicBean(name string) km.MBean {
	return km.MBean{Domain: "kafka.server", Type: "BrokerTopicMetrics", Name: name}
}

func newMetrics(reg prometheus.Registerer, m *ReplicaManager) *metrics {
	counter := func(b km.MBean, help string) prometheus.Counter { return km.NewCounter(reg, b, help).WithLabelValues() }
	perTopic := func(name, help string) *prometheus.CounterVec {
		return km.NewCounter(reg, topicBean(name), help, "topic")
	}
	x := &metrics{
		isrShrinks:          counter(replicaManagerBean("IsrShrinksPerSec"), "Replicas that left an ISR led by this broker."),
		isrExpands:          counter(replicaManagerBean("IsrExpandsPerSec"), "Replicas that joined an ISR led by this broker."),
		isrUpdateFailures:   counter(replicaManagerBean("FailedIsrUpdatesPerSec"), "ISR changes that were not confirmed."),
		replicationBytesIn:  counter(topicBean("ReplicationBytesInPerSec"), "Bytes that followers on this broker took."),
		replicationBytesOut: counter(topicBean("ReplicationBytesOutPerSec"), "Bytes that followers took from this broker."),
		bytesIn:             perTopic("BytesInPerSec", "Bytes produced."),
		bytesOut:            perTopic("BytesOutPerSec", "Bytes consumed."),
		messagesIn:          perTopic("MessagesInPerSec", "Records produced."),
		produces:            perTopic("TotalProduceRequestsPerSec", "Partitions of Produce requests."),
		fetches:             perTopic("TotalFetchRequestsPerSec", "Partitions of Fetch requests, those that waited twice."),
		failedProduce:       perTopic("FailedProduceRequestsPerSec", "Partitions of Produce requests that failed."),
		failedFetch:         perTopic("FailedFetchRequestsPerSec", "Partitions of Fetch requests that failed."),
	}
	x.conversions = perTopic("ProduceMessageConversionsPerSec", "Records produced in message formats 0 and 1.")
	x.fetchConversions = perTopic("FetchMessageConversionsPerSec", "Records fetched in message formats 0 and 1.")
	x.mu.topics = map[string]*topicStats{}
	if reg != nil {
		reg.MustRegister(newGauges(m))
	}
	return x
}

func (x *metrics) isrChanged(joined, left int) {
	if joined+left == 0 {
		return
	}
	x.isrExpands.Add(float64(joined))
	x.isrShrinks.Add(float64(left))
}

// topicStats are the counters of one topic, and with it those of all topics, which have an empty topic label. Partitions
// keep it, so that no label is looked up on the way of a record.
type topicStats struct {
	bytesIn, bytesOut, messagesIn, produces, fetches, failedProduce, failedFetch, conversions, fetchConversions pair
	// partitions counts the hosted ones; guarded by metrics.mu.
	partitions int
}

// pair counts for a topic and for all.
type pair struct{ one, all prometheus.Counter }

func newPair(v *prometheus.CounterVec, topic string) pair {
	return pair{v.WithLabelValues(topic), v.WithLabelValues("")}
}

// Add counts n.
func (p pair) Add(n float64) { p.one.Add(n); p.all.Add(n) }

// Inc counts 1.
func (p pair) Inc() { p.Add(1) }

// acquire returns the counters of a topic for one more partition.
func (x *metrics) acquire(name string) *topicStats {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.mu.topics[name]
	if t == nil {
		t = &topicStats{
			bytesIn: newPair(x.bytesIn, name), bytesOut: newPair(x.bytesOut, name), messagesIn: newPair(x.messagesIn, name),
			produces: newPair(x.produces, name), fetches: newPair(x.fetches, name), failedProduce: newPair(x.failedProduce, name), failedFetch: newPair(x.failedFetch, name),
			conversions: newPair(x.conversions, name), fetchConversions: newPair(x.fetchConversions, name),
		}
		x.mu.topics[name] = t
	}
	t.partitions++
	return t
}

// release gives the counters of a topic back for one partition; with the last of them they go.
// Kafka: BrokerTopicStats.removeMetrics.
func (x *metrics) release(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.mu.topics[name]
	if t == nil {
		return
	}
	if t.partitions--; t.partitions > 0 {
		return
	}
	delete(x.mu.topics, name)
	for _, v := range []*prometheus.CounterVec{x.bytesIn, x.bytesOut, x.messagesIn, x.produces, x.fetches, x.failedProduce, x.failedFetch, x.conversions, x.fetchConversions} {
		v.DeleteLabelValues(name)
	}
}

// appended counts what a client produced.
func (t *topicStats) appended(info log.AppendInfo) {
	if info.Duplicate {
		return
	}
	t.bytesIn.Add(float64(info.Bytes))
	t.messagesIn.Add(float64(info.NumRecords))
	if info.Converted {
		t.conversions.Add(float64(info.NumRecords))
	}
}

// FetchConverted counts records of a partition that were answered in an old message format.
func (m *ReplicaManager) FetchConverted(tp metadata.TopicPartition, records int64) {
	if p, err := m.Partition(tp); err == nil {
		p.stats.fetchConversions.Add(float64(records))
	}
}

// sessionMetrics are the instruments of a SessionCache.
type sessionMetrics struct{ evictions prometheus.Counter }

func newSessionMetrics(reg prometheus.Registerer, c *SessionCache) *sessionMetrics {
	bean := func(name string) km.MBean {
		return km.MBean{Domain: "kafka.server", Type: "FetchSessionCache", Name: name}
	}
	km.NewGaugeFunc(reg, bean("NumIncrementalFetchSessions"), "Fetch sessions.", func() float64 {
		n, _ := c.counts()
		return float64(n)
	})
	km.NewGaugeFunc(reg, bean("NumIncrementalFetchPartitionsCached"), "Partitions in fetch sessions.", func() float64 {
		_, n := c.counts()
		return float64(n)
	})
	return &sessionMetrics{
		evictions: km.NewCounter(reg, bean("IncrementalFetchSessionEvictionsPerSec"), "Sessions that made room for others.").WithLabelValues(),
	}
}
