package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMBean_Names_AreThoseOfTheJMXExporter(t *testing.T) {
	if got, want := (MBean{"kafka.server", "BrokerTopicMetrics", "MessagesInPerSec"}).Counter(), "kafka_server_brokertopicmetrics_messagesin_total"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (MBean{"kafka.server", "ReplicaManager", "UnderReplicatedPartitions"}).Gauge(), "kafka_server_replicamanager_underreplicatedpartitions"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (MBean{"kafka.network", "RequestMetrics", "TotalTimeMs"}).Gauge(), "kafka_network_requestmetrics_totaltimems"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInstruments_NilRegisterer_Count(t *testing.T) {
	m := MBean{"kafka.server", "ReplicaManager", "IsrShrinksPerSec"}
	c := NewCounter(nil, m, "Replicas that left an ISR.")
	c.WithLabelValues().Add(2)
	if got := testutil.ToFloat64(c.WithLabelValues()); got != 2 {
		t.Fatalf("got %v, want 2", got)
	}
}

func TestInstruments_Registered_AreGathered(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewGaugeFunc(reg, MBean{"kafka.controller", "KafkaController", "ActiveControllerCount"}, "1 on the controller.", func() float64 { return 1 })
	NewGauge(reg, MBean{"kafka.log", "Log", "Size"}, "Bytes.", "topic", "partition").WithLabelValues("t", "0").Set(7)
	NewQuantiles(reg, MBean{"kafka.network", "RequestMetrics", "TotalTimeMs"}, "Time.", "request").WithLabelValues("Fetch").Observe(3)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	if len(names) != 3 || names[0] != "kafka_controller_kafkacontroller_activecontrollercount" {
		t.Fatalf("got %v", names)
	}
}

func TestNewRegistry_Fresh_HasProcessMetrics(t *testing.T) {
	families, err := NewRegistry().Gather()
	if err != nil || len(families) == 0 {
		t.Fatalf("families %d, err %v", len(families), err)
	}
}
