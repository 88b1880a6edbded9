//go:build compat

package compat

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// mixedCluster is Apache Kafka on the given ids and Jackdaw on the others, on one ZooKeeper.
func mixedCluster(t *testing.T, apache ...int) *cluster.Cluster {
	t.Helper()
	jackdawOnly(t, "there is nothing to mix")
	kinds := map[int]cluster.Kind{}
	for _, id := range apache {
		kinds[id] = cluster.Apache
	}
	config := map[string]string{
		"zookeeper.session.timeout.ms": "8000", "auto.leader.rebalance.enable": "false", "offsets.topic.num.partitions": "2",
	}
	if ibp := os.Getenv("COMPAT_IBP"); ibp != "" {
		config["inter.broker.protocol.version"] = ibp
	}
	return cluster.Start(t, cluster.Options{Brokers: 3, Kinds: kinds, Config: config})
}

// writeThrough produces series to every partition with acks=all and reads all that was written so far with two other clients.
func writeThrough(t *testing.T, c *cluster.Cluster, topic string, written map[int32][]string, prefix string) {
	t.Helper()
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()))
	total := 0
	for p := range int32(3) {
		values := series(prefix, 50)
		franzProduce(t, cl, topic, p, values)
		written[p] = append(written[p], values...)
		total += len(written[p])
	}
	got := franzRead(t, c, topic, total)
	for p, want := range written {
		if !slices.Equal(got[p], want) {
			t.Errorf("%s: franz-go reads %d records of partition %d, not the %d written in order", prefix, len(got[p]), p, len(want))
		}
		if s := saramaRead(t, c, topic, p, len(want), 20*time.Second); !slices.Equal(s, want) {
			t.Errorf("%s: sarama reads %d records of partition %d, not the %d written in order", prefix, len(s), p, len(want))
		}
	}
}

// TestMixed_JackdawBesideApache_RegistersFollowsAndLeads: two Apache brokers, one of them the controller, and one Jackdaw.
func TestMixed_JackdawBesideApache_RegistersFollowsAndLeads(t *testing.T) {
	c := mixedCluster(t, 1, 2)
	if ctl := controller(t, c); ctl.ID != 1 {
		t.Fatalf("controller %d, want the Apache broker that was started first", ctl.ID)
	}
	topic, group := "mixed", "g"
	createAssigned(t, c, topic, []string{"min.insync.replicas", "2"}, []int32{3, 1, 2}, []int32{1, 3, 2}, []int32{2, 3, 1})
	for p, want := range []int{3, 1, 2} {
		if s := waitISR(t, c, topic, p, 20*time.Second, 1, 2, 3); s.Leader != want {
			t.Errorf("partition %d is led by %d, want %d", p, s.Leader, want)
		}
	}
	written := map[int32][]string{}
	writeThrough(t, c, topic, written, "all-up")
	m := joinFranz(t, c, group, topic)
	if got := m.read(t, 150, 30*time.Second); len(got) != 150 {
		t.Errorf("a group member reads %d of 150 records", len(got))
	}
	m.commit(t)
	m.Close()

	// An Apache leader dies: Jackdaw, next in the list, leads its partition.
	if err := c.Broker(2).Kill(); err != nil {
		t.Fatal(err)
	}
	waitLeader(t, c, topic, 2, 3)
	writeThrough(t, c, topic, written, "apache-down")
	if err := c.Broker(2).Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2, 3)
	}

	// Jackdaw goes down in good order: Apache leads; back again, Jackdaw follows and truncates what it must.
	if err := c.Broker(3).Stop(); err != nil {
		t.Fatal(err)
	}
	waitLeader(t, c, topic, 0, 1)
	writeThrough(t, c, topic, written, "jackdaw-down")
	if err := c.Broker(3).Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2, 3)
	}
	writeThrough(t, c, topic, written, "all-again")
	for p := range 3 {
		checkReplicasEqual(t, c, topic, p)
	}
	d := joinFranz(t, c, group, topic)
	if got, want := len(d.read(t, 450, 30*time.Second)), 450; got != want {
		t.Errorf("the group resumes with %d records, want %d: what came after its commit", got, want)
	}
}

func waitLeader(t *testing.T, c *cluster.Cluster, topic string, partition, id int) {
	t.Helper()
	if _, err := c.Tree.WaitState(topic, partition, 40*time.Second, "the next leader", func(s cluster.PartitionState) bool { return s.Leader == id }); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 3)
}

// TestMixed_JackdawControlsApache: Jackdaw is the controller of two Apache brokers: topics, leader elections, deletions.
func TestMixed_JackdawControlsApache(t *testing.T) {
	c := mixedCluster(t, 2, 3)
	if ctl := controller(t, c); ctl.ID != 1 {
		t.Fatalf("controller %d, want Jackdaw, which was started first", ctl.ID)
	}
	topic := "controlled"
	createAssigned(t, c, topic, nil, []int32{2, 3, 1}, []int32{3, 2, 1}, []int32{1, 2, 3})
	written := map[int32][]string{}
	writeThrough(t, c, topic, written, "all-up")
	if err := c.Broker(2).Stop(); err != nil { // controlled shutdown of an Apache broker, served by Jackdaw
		t.Fatal(err)
	}
	waitLeader(t, c, topic, 0, 3)
	writeThrough(t, c, topic, written, "apache-down")
	if err := c.Broker(2).Start(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		waitISR(t, c, topic, p, 60*time.Second, 1, 2, 3)
		checkReplicasEqual(t, c, topic, p)
	}
	if r, err := admin(t, c).DeleteTopic(t.Context(), topic); err != nil {
		t.Fatalf("delete: %v (%s)", err, r.ErrMessage)
	}
	createTopic(t, c, topic+"-2", 3, 3)
	for p := range int32(3) {
		mustProduce(t, leaderOf(t, c, topic+"-2", int(p)).Addr(), topic+"-2", p, -1, wire.Values("v"))
	}
}
