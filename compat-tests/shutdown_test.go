//go:build compat

package compat

import (
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
)

// TestControlledShutdown_LastReplica_DoesNotWait: nobody else can lead, so that the retries would be in vain.
func TestControlledShutdown_LastReplica_DoesNotWait(t *testing.T) {
	jackdawOnly(t, "Apache sits out its retries")
	c := cluster.Start(t, cluster.Options{Brokers: 3})
	topic := topicName(t)
	createTopic(t, c, topic, 3, 3)
	for _, id := range []int{2, 3} {
		if err := c.Broker(id).Stop(); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := c.Broker(1).Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the last broker took %v to stop", took)
	}
}

// TestControlledShutdown_ZooKeeperGone_EndsWithinItsRetries: nothing can be moved, but all is flushed and marked as clean.
func TestControlledShutdown_ZooKeeperGone_EndsWithinItsRetries(t *testing.T) {
	t.Parallel() // it mostly waits
	c := cluster.Start(t, cluster.Options{Brokers: 2, OwnZooKeeper: true})
	topic := topicName(t)
	createTopic(t, c, topic, 2, 2)
	if err := c.ZooKeeper.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, b := range c.Brokers {
		if err := b.Stop(); err != nil { // which allows a minute
			t.Error(err)
		}
	}
	took := time.Since(began)
	t.Logf("two brokers stopped without ZooKeeper within %v", took.Round(100*time.Millisecond))
	if took > 40*time.Second && cluster.Target() == cluster.Jackdaw {
		t.Errorf("two brokers took %v to stop without ZooKeeper", took)
	}
}
