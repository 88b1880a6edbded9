//go:build compat

package compat

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// TestMixed_Transactions_CoordinatorsSwap: transactions whose coordinator is Apache Kafka and whose partitions Jackdaw leads, and
// the other way round: each kind verifies with the other (KIP-890), writes markers to the other, and takes over what the other
// has in its log.
func TestMixed_Transactions_CoordinatorsSwap(t *testing.T) {
	c := mixedCluster(t, 2)
	topic := "mixed-txn"
	createAssigned(t, c, topic, []string{"min.insync.replicas", "2"}, []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	for p := range 3 {
		waitISR(t, c, topic, p, 20*time.Second, 1, 2, 3)
	}
	ids := idsOnEveryBroker(t, c)
	want := map[int32][]string{}
	round := func(name string, between func()) {
		t.Helper()
		clients := map[string]*kgo.Client{}
		for _, id := range ids {
			cl := transactional(t, c, id)
			transact(t, cl, topic, map[int32][]string{0: {"aborted"}, 1: {"aborted"}, 2: {"aborted"}}, kgo.TryAbort)
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			for p := range int32(3) {
				v := fmt.Sprintf("%s-%s-%d", name, id, p)
				franzProduce(t, cl, topic, p, []string{v})
				want[p] = append(want[p], v)
			}
			clients[id] = cl
		}
		between()
		for id, cl := range clients {
			if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
				t.Errorf("%s: commit of %s: %v", name, id, err)
			}
			cl.Close()
		}
		checkSettled(t, c, topic, 3)
		readCommitted(t, c, topic, want)
	}
	round("all-up", func() {})
	swap := func(b *cluster.Broker) func() {
		return func() {
			t.Helper()
			if err := b.Stop(); err != nil {
				t.Fatal(err)
			}
			waitLeaders(t, c, topic, 3)
		}
	}
	back := func(b *cluster.Broker) {
		t.Helper()
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		for p := range 3 {
			waitISR(t, c, topic, p, 60*time.Second, 1, 2, 3)
		}
	}
	round("apache-stops", swap(c.Broker(2))) // Jackdaw reads what Apache has written of transactions
	back(c.Broker(2))
	round("jackdaw-stops", swap(c.Broker(3)))
	back(c.Broker(3))
	if err := c.Broker(1).Stop(); err != nil { // and Apache what Jackdaw has written
		t.Fatal(err)
	}
	round("two-left", func() {})
}

// idsOnEveryBroker finds a transactional id for each broker that coordinates it.
func idsOnEveryBroker(t *testing.T, c *cluster.Cluster) []string {
	t.Helper()
	found := map[int]string{}
	for i := 0; len(found) < len(c.Brokers) && i < 50; i++ {
		id := fmt.Sprint("id-", i)
		if b := transactionCoordinator(t, c, id); found[b.ID] == "" {
			found[b.ID] = id
		}
	}
	var ids []string
	for _, b := range c.Brokers {
		if found[b.ID] == "" {
			t.Fatalf("no transactional id is coordinated by broker %d", b.ID)
		}
		ids = append(ids, found[b.ID])
	}
	return ids
}
