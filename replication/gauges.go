package replication

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	km "jackdaw/internal/metrics"
)

// gauges are counted over all partitions when somebody asks. It implements prometheus.Collector.
type gauges struct {
	m *ReplicaManager
	// totals are in the order of totalNames, perPartition in that of partitionNames.
	totals, perPartition []*prometheus.Desc
}

// gaugeName is a value of an MBean that has one more property.
type gaugeName struct {
	bean, name, help string
	labels           prometheus.Labels
}

// totalNames are in the order of gauges.count.
var totalNames = [...]gaugeName{
	{bean: "ReplicaManager", name: "LeaderCount", help: "Partitions that this broker leads."},
	{bean: "ReplicaManager", name: "PartitionCount", help: "Replicas on this broker."},
	{bean: "ReplicaManager", name: "OfflineReplicaCount", help: "Replicas in failed log directories."},
	{bean: "ReplicaManager", name: "UnderReplicatedPartitions", help: "Partitions led here whose ISR lacks replicas."},
	{bean: "ReplicaManager", name: "UnderMinIsrPartitionCount", help: "Partitions led here whose ISR is below min.insync.replicas."},
	{bean: "ReplicaManager", name: "AtMinIsrPartitionCount", help: "Partitions led here whose ISR is at min.insync.replicas."},
	{bean: "ReplicaManager", name: "ReassigningPartitions", help: "Partitions led here that are being reassigned."},
	{bean: "ReplicaFetcherManager", name: "MaxLag", help: "Records that the worst follower on this broker is behind.", labels: replicaClient},
	{bean: "ReplicaFetcherManager", name: "FailedPartitionsCount", help: "Partitions no longer fetched after an error.", labels: replicaClient},
	{bean: "ReplicaAlterLogDirsManager", name: "MaxLag", help: "Records that the worst copy in another log directory is behind.", labels: moverClient},
	{bean: "ReplicaAlterLogDirsManager", name: "FailedPartitionsCount", help: "Partitions no longer copied after an error.", labels: moverClient},
	{bean: "DelayedOperationPurgatory", name: "PurgatorySize", help: "Requests that wait.", labels: prometheus.Labels{"delayedOperation": "Produce"}},
	{bean: "DelayedOperationPurgatory", name: "PurgatorySize", help: "Requests that wait.", labels: prometheus.Labels{"delayedOperation": "Fetch"}},
	{bean: "DelayedOperationPurgatory", name: "PurgatorySize", help: "Requests that wait.", labels: prometheus.Labels{"delayedOperation": "DeleteRecords"}},
}

var (
	replicaClient = prometheus.Labels{"clientId": "Replica"}
	moverClient   = prometheus.Labels{"clientId": "ReplicaAlterLogDirs"}
)

// partitionNames are in the order of Status.gauges. Kafka: kafka.cluster:type=Partition.
var partitionNames = [...]gaugeName{
	{name: "UnderReplicated", help: "1 if led here and the ISR lacks replicas."},
	{name: "UnderMinIsr", help: "1 if led here and the ISR is below min.insync.replicas."},
	{name: "AtMinIsr", help: "1 if led here and the ISR is at min.insync.replicas."},
	{name: "InSyncReplicasCount", help: "Members of the ISR if led here."},
	{name: "ReplicasCount", help: "Replicas if led here."},
}

func newGauges(m *ReplicaManager) *gauges {
	g := &gauges{m: m}
	for _, n := range totalNames {
		name := km.MBean{Domain: "kafka.server", Type: n.bean, Name: n.name}.Gauge()
		g.totals = append(g.totals, prometheus.NewDesc(name, n.help, nil, n.labels))
	}
	for _, n := range partitionNames {
		name := km.MBean{Domain: "kafka.cluster", Type: "Partition", Name: n.name}.Gauge()
		g.perPartition = append(g.perPartition, prometheus.NewDesc(name, n.help, []string{"topic", "partition"}, nil))
	}
	return g
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range g.totals {
		ch <- d
	}
	for _, d := range g.perPartition {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	var all []Status
	for _, p := range g.m.Partitions() {
		all = append(all, p.Status())
	}
	for i, n := range g.count(all) {
		ch <- prometheus.MustNewConstMetric(g.totals[i], prometheus.GaugeValue, float64(n))
	}
	for i := range all {
		s := &all[i]
		partition := strconv.Itoa(int(s.TP.Partition))
		for j, n := range s.gauges() {
			ch <- prometheus.MustNewConstMetric(g.perPartition[j], prometheus.GaugeValue, float64(n), s.TP.Topic, partition)
		}
	}
}

// gauges are the values of one partition.
func (s *Status) gauges() [len(partitionNames)]int64 {
	if !s.Leads {
		return [len(partitionNames)]int64{}
	}
	return [...]int64{
		one(s.UnderReplicated), one(s.UnderMinISR), one(s.AtMinISR), int64(len(s.State.ISR)), int64(len(s.State.Replicas)),
	}
}

func (g *gauges) count(all []Status) [len(totalNames)]int64 {
	var leaders, offline, underReplicated, underMin, atMin, reassigning int64
	for i := range all {
		s := &all[i]
		leaders += one(s.Leads)
		offline += one(s.Offline)
		underReplicated += one(s.UnderReplicated)
		underMin += one(s.UnderMinISR)
		atMin += one(s.AtMinISR)
		reassigning += one(s.Leads && len(s.State.Adding) > 0)
	}
	return [...]int64{
		leaders, int64(len(all)), offline, underReplicated, underMin, atMin, reassigning,
		g.m.fetchers.maxLag(), int64(g.m.fetchers.failed()), g.m.movers.maxLag(), int64(g.m.movers.failed()),
		int64(g.m.produce.Waiting()), int64(g.m.fetch.Waiting()), int64(g.m.deletes.Waiting()),
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
