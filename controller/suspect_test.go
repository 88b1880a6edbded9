package controller_test

import (
	"slices"
	"testing"
	"time"

	"jackdaw/controller"
	"jackdaw/metadata"
)

func fast(cfg *controller.Config) { cfg.FastFailover = true }

// newFastCluster has brokers with fast fail-over and sessions that outlive the test.
func newFastCluster(t *testing.T, ids ...metadata.BrokerID) *cluster {
	t.Helper()
	c := newCluster(t)
	c.sessionTimeout = 4 * patience
	for _, id := range ids {
		c.start(id, fast)
	}
	return c
}

func (c *cluster) awaitState(topic string, leader metadata.BrokerID, isr ...metadata.BrokerID) {
	c.t.Helper()
	c.await("state", func() bool {
		li, _ := c.state(topic, 0)
		return li.Leader == leader && slices.Equal(li.ISR, isr)
	})
}

func TestFastFailover_IdleBrokerGone_LeadersMoveBeforeTheSessionEnds(t *testing.T) {
	c := newFastCluster(t, 1, 2, 3)
	c.create("a", ids(2, 3))
	c.create("alone", ids(2))
	c.nodes[2].crash()
	c.awaitState("a", 3, 3)
	c.awaitState("alone", -1, 2)
	c.await("broker 3 to hear of it", func() bool { return !slices.Contains(c.nodes[3].live(), 2) })
}

// A suspicion that is wrong ends when the broker can be reached, in the life it had.
func TestFastFailover_BrokerListensAgain_IsBack(t *testing.T) {
	c := newFastCluster(t, 1, 2, 3)
	c.create("a", ids(2, 3))
	c.create("alone", ids(2))
	epoch := c.nodes[2].epoch.Load()
	c.nodes[2].vanish()
	c.awaitState("alone", -1, 2)
	c.nodes[2].listenAgain(t)
	c.awaitState("alone", 2, 2)
	c.await("broker 2 to follow", func() bool { li, _ := c.nodes[2].partition(tp("a", 0)); return li.Leader == 3 })
	c.await("broker 3 to hear of it", func() bool { return slices.Contains(c.nodes[3].live(), 2) })
	if now := c.nodes[2].epoch.Load(); now != epoch {
		t.Errorf("broker epoch %d, was %d: it had no reason to register again", now, epoch)
	}
}

func TestFastFailover_BrokerRegistersAgain_IsBack(t *testing.T) {
	c := newFastCluster(t, 1, 2)
	c.create("alone", ids(2))
	c.nodes[2].crash()
	c.awaitState("alone", -1, 2)
	c.kill(2) // its session ends
	c.start(2, fast)
	c.awaitState("alone", 2, 2)
}

// Connections end for many reasons. A broker that can be reached again has not failed.
func TestFastFailover_ConnectionsCut_NothingHappens(t *testing.T) {
	c := newFastCluster(t, 1, 2)
	c.create("a", ids(2, 1))
	before, _ := c.state("a", 0)
	for range 5 {
		c.nodes[2].cut()
		c.create("b"+time.Now().Format("150405.000000"), ids(2, 1))
	}
	if after, _ := c.state("a", 0); after.LeaderEpoch != before.LeaderEpoch {
		t.Errorf("leader epoch %d, was %d", after.LeaderEpoch, before.LeaderEpoch)
	}
}

func TestFastFailover_Off_SessionDecides(t *testing.T) {
	c := newCluster(t, 1)
	c.sessionTimeout = time.Second
	c.start(2)
	c.create("a", ids(2, 1))
	c.nodes[2].vanish()
	c.create("b", ids(1)) // what the controller sends next finds nobody
	if li, _ := c.state("a", 0); li.Leader != 2 {
		t.Errorf("leader %d while the session of broker 2 lives", li.Leader)
	}
	c.kill(2)
	c.awaitState("a", 1, 1)
}

// The controller itself dies: the seat is freed, and the next controller knows what happened to the former one.
func TestFastFailover_ControllerGone_AnotherTakesItsSeatAndItsLeaders(t *testing.T) {
	c := newFastCluster(t, 1, 2, 3)
	c.create("a", ids(1, 2))
	c.nodes[1].crash()
	c.awaitState("a", 2, 2)
	if epoch := c.leader().Epoch(); epoch != 2 {
		t.Errorf("controller epoch %d, want 2: one election", epoch)
	}
}

// A controller that only cannot be reached hears of it from ZooKeeper and steps down, or stands again under a new epoch.
func TestFastFailover_ControllerUnreachable_OneControllerInTheEnd(t *testing.T) {
	c := newFastCluster(t, 1, 2, 3)
	c.create("a", ids(1, 2))
	c.nodes[1].vanish()
	c.await("a new term", func() bool {
		for _, n := range c.nodes {
			if n.controller.Active() && n.controller.Epoch() > 1 {
				return true
			}
		}
		return false
	})
	c.nodes[1].listenAgain(t)
	c.await("one controller", func() bool {
		active := 0
		for _, n := range c.nodes {
			if n.controller.Active() {
				active++
			}
		}
		return active == 1
	})
	c.await("everybody to live", func() bool {
		for _, n := range c.nodes {
			if len(n.live()) != 3 {
				return false
			}
		}
		return true
	})
}
