//go:build compat

package compat

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestOldIBP_LeadersWriteTheISRThemselves runs the protocol of release 2.6: no AlterPartition, no topic ids, no epochs in Fetch,
// producer ids straight from ZooKeeper. One broker is Apache Kafka and the controller.
func TestOldIBP_LeadersWriteTheISRThemselves(t *testing.T) {
	jackdawOnly(t, "there is nothing to mix")
	c := cluster.Start(t, cluster.Options{Brokers: 3, Kinds: map[int]cluster.Kind{1: cluster.Apache}, Config: map[string]string{
		"inter.broker.protocol.version": "2.6", "zookeeper.session.timeout.ms": "18000", "replica.lag.time.max.ms": "3000",
		"auto.leader.rebalance.enable": "false",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{2, 3, 1}, []int32{1, 2, 3})
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()))
	for p := range int32(2) {
		franzProduce(t, cl, topic, p, series("before", 50)) // idempotent: it has a producer id
	}
	frozen(t, c.Broker(3))
	for p := range int32(2) { // nobody lags behind an idle leader
		mustProduce(t, leaderOf(t, c, topic, int(p)).Addr(), topic, p, 1, wire.Values("lone"))
	}
	shrunk := waitISR(t, c, topic, 0, 20*time.Second, 1, 2)
	if shrunk.Leader != 2 || shrunk.LeaderEpoch != 0 {
		t.Errorf("state %+v: the leader did not write it itself", shrunk)
	}
	waitISR(t, c, topic, 1, 20*time.Second, 1, 2)
	for p := range int32(2) {
		franzProduce(t, cl, topic, p, series("without-3", 50))
	}
	thaw(t, c.Broker(3))
	for p := range 2 {
		waitISR(t, c, topic, p, 30*time.Second, 1, 2, 3)
	}
	// The controller reads what was written when it is told, and tells all brokers.
	cluster.Eventually(t, 30*time.Second, "metadata with the whole ISR", func() error {
		for _, b := range c.Brokers {
			m, err := wire.Metadata(b.Addr(), topic)
			if err != nil {
				return err
			}
			for _, p := range m.Topics[0].Partitions {
				if len(p.ISR) != 3 {
					return fmt.Errorf("broker %d: partition %d has ISR %v", b.ID, p.Partition, p.ISR)
				}
			}
		}
		return nil
	})
	if names, err := c.Tree.Children("/isr_change_notification"); err != nil || len(names) > 0 {
		t.Errorf("notifications left: %v, %v", names, err)
	}

	// Jackdaw as the controller, Apache as a leader that writes its ISR, and a truncation by OffsetForLeaderEpoch.
	if err := c.Broker(1).Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tree.WaitState(topic, 1, 40*time.Second, "leader 2", func(s cluster.PartitionState) bool { return s.Leader == 2 }); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 2)
	franzProduce(t, cl, topic, 1, series("without-1", 50))
	if err := c.Broker(1).Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 2 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2, 3)
		checkReplicasEqual(t, c, topic, p)
	}
	// A transaction whose coordinators and leaders are of both kinds: WriteTxnMarkers of that time.
	for _, id := range idsOnEveryBroker(t, c) {
		transact(t, transactional(t, c, id), topic, map[int32][]string{1: {"in " + id}}, kgo.TryCommit)
	}
	checkSettled(t, c, topic, 2)
	want := slices.Concat(series("before", 50), []string{"lone"}, series("without-3", 50), series("without-1", 50))
	if got := franzRead(t, c, topic, 255)[1]; len(got) != len(want)+3 || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%d records in partition 1, want %d in order", len(got), len(want)+3)
	}
}
