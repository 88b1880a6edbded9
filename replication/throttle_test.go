package replication

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"jackdaw/metadata"
)

// switchThrottle lists one topic and is exceeded when the test says so.
type switchThrottle struct {
	topic    string
	exceeded atomic.Bool
	recorded atomic.Int64
	// full, if set, is after how many bytes the limit is exceeded.
	full atomic.Int64
}

func (s *switchThrottle) Throttled(tp metadata.TopicPartition) bool { return tp.Topic == s.topic }
func (s *switchThrottle) Exceeded() bool                            { return s.exceeded.Load() }
func (s *switchThrottle) Record(n int) {
	total := s.recorded.Add(int64(n))
	if full := s.full.Load(); full > 0 && total >= full {
		s.exceeded.Store(true)
	}
}

// In both directions: a replica outside of the ISR is held up while the limit is used up, one in sync never, nor are
// partitions that are not listed.
func TestThrottle_LimitUsedUp_HoldsUpOnlyWhoIsBehind(t *testing.T) {
	for name, side := range map[string]func(cfg *Config, th Throttle){
		"leader":   func(cfg *Config, th Throttle) { cfg.LeaderThrottle = th },
		"follower": func(cfg *Config, th Throttle) { cfg.FollowerThrottle = th },
	} {
		t.Run(name, func(t *testing.T) {
			th := &switchThrottle{topic: t0.Topic}
			bubble(t, 2, func(cfg *Config) { side(cfg, th) }, func(t *testing.T, c *cluster) { heldUp(t, c, th) })
		})
	}
}

func heldUp(t *testing.T, c *cluster, th *switchThrottle) {
	other := metadata.TopicPartition{Topic: "other", Partition: 0}
	c.create(t0, 1, 2)
	c.create(other, 1, 2)
	settle(time.Second)
	c.nodes[1].produce(t0, 1, "a")
	settle(2 * time.Second)
	th.exceeded.Store(true)
	w := c.nodes[1].produce(t0, -1, "b")
	settle(2 * time.Second)
	w.want(nil) // in sync: the limit does not hold up acknowledgements
	if th.recorded.Load() == 0 {
		t.Error("what goes to a replica in sync was not counted")
	}

	c.nodes[2].kill()
	c.nodes[1].produce(t0, 1, "c").want(nil)
	c.nodes[1].produce(other, 1, "d").want(nil)
	settle(time.Minute)
	c.wantISR(t0, 1)
	c.nodes[2].restart()
	settle(20 * time.Second)
	if got := c.nodes[2].values(t0); len(got) != 2 {
		t.Errorf("the follower has %q of the throttled partition, want the 2 it had", got)
	}
	if got := c.nodes[2].values(other); len(got) != 1 {
		t.Errorf("the follower has %q of the other partition, want 1 record", got)
	}

	before := th.recorded.Load()
	th.exceeded.Store(false)
	settle(20 * time.Second)
	if got := c.wantSame(t0, 1, 2); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %q", got)
	}
	if th.recorded.Load() == before {
		t.Error("nothing was counted")
	}
}
