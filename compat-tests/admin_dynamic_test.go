//go:build compat

package compat

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"jackdaw/compat-tests/cluster"
)

// TestDynamicUnclean_SwitchedOn_OfflinePartitionsGetLeadersAtOnce: a partition whose last in-sync replica is gone gets a
// leader when unclean elections are allowed for its topic, and another when they are for the cluster. Nothing else happens
// meanwhile that could make the controller look.
func TestDynamicUnclean_SwitchedOn_OfflinePartitionsGetLeadersAtOnce(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "auto.leader.rebalance.enable": "false",
	}})
	ctl := controller(t, c)
	others := slices.DeleteFunc(slices.Clone(c.Brokers), func(b *cluster.Broker) bool { return b == ctl })
	first, second := others[0], others[1]
	topics := []string{"by-topic", "by-cluster"}
	for _, topic := range topics {
		createAssigned(t, c, topic, nil, []int32{int32(first.ID), int32(second.ID)})
	}
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		waitISR(t, c, topic, 0, 20*time.Second, first.ID)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	waitLeaderID(t, c, topics[0], -1)
	waitLeaderID(t, c, topics[1], -1)
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	yes := "true"
	adm := kadm.NewClient(client(t, c))
	change := []kadm.AlterConfig{{Name: "unclean.leader.election.enable", Value: &yes}}
	if r, err := adm.AlterTopicConfigs(t.Context(), change, topics[0]); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	waitLeaderID(t, c, topics[0], second.ID)
	if s, err := c.Tree.State(topics[1], 0); err != nil || s.Leader != -1 {
		t.Errorf("the other topic has leader %d (%v), want none", s.Leader, err)
	}
	if r, err := adm.AlterBrokerConfigs(t.Context(), change); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	waitLeaderID(t, c, topics[1], second.ID)
}

func waitLeaderID(t *testing.T, c *cluster.Cluster, topic string, id int) {
	t.Helper()
	what := fmt.Sprintf("leader %d of %s", id, topic)
	if _, err := c.Tree.WaitState(topic, 0, 20*time.Second, what, func(s cluster.PartitionState) bool { return s.Leader == id }); err != nil {
		t.Fatal(err)
	}
}
