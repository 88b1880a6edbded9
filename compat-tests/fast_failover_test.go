//go:build compat

package compat

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// longSession is a session time-out that no test here waits for: the one that Apache Kafka has by default.
const longSession = "18000"

var errNotYet = errors.New("not yet")

// A stopwatch writes one record at a time to one partition with acks=all, and keeps the longest time between two
// acknowledgements.
type stopwatch struct {
	cl    *kgo.Client
	topic string
	stop  chan struct{}
	done  sync.WaitGroup

	mu    sync.Mutex
	last  time.Time
	pause time.Duration
	acked int
}

func startStopwatch(t *testing.T, c *cluster.Cluster, topic string) *stopwatch {
	t.Helper()
	s := &stopwatch{topic: topic, stop: make(chan struct{}), last: time.Now()}
	s.cl = client(t, c, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RetryTimeout(2*time.Minute), kgo.RequestRetries(100000),
		kgo.ProduceRequestTimeout(2*time.Second), kgo.RequestTimeoutOverhead(time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	t.Cleanup(func() { s.end(t) })
	ctx := context.WithoutCancel(t.Context()) // that ends before the clean-up waits for what is under way
	s.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
			}
			if err := s.cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			s.lap()
		}
	})
	return s
}

func (s *stopwatch) lap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.pause = max(s.pause, now.Sub(s.last))
	s.last = now
	s.acked++
}

// reset forgets the longest pause.
func (s *stopwatch) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = 0
}

// longest returns the longest pause since reset, the present one included.
func (s *stopwatch) longest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.pause, time.Since(s.last))
}

// flows waits until n more records are acknowledged.
func (s *stopwatch) flows(t *testing.T, n int, limit time.Duration) {
	t.Helper()
	s.mu.Lock()
	want := s.acked + n
	s.mu.Unlock()
	if err := cluster.Until(limit, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.acked < want {
			return errNotYet
		}
		return nil
	}); err != nil {
		t.Fatalf("acknowledged records: %v", err)
	}
}

func (s *stopwatch) end(t *testing.T) {
	t.Helper()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	s.done.Wait()
}

// watched starts three brokers, and a stopwatch on a topic of one partition that the broker with id leads.
func watched(t *testing.T, id int32, config map[string]string) (*cluster.Cluster, *stopwatch) {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: config})
	topic := topicName(t)
	replicas := []int32{id, id%3 + 1, (id+1)%3 + 1}
	createAssigned(t, c, topic, []string{"min.insync.replicas", "2"}, replicas)
	s := startStopwatch(t, c, topic)
	s.flows(t, 100, 30*time.Second)
	return c, s
}

// kill kills the leader and returns how long writes paused.
func (s *stopwatch) kill(t *testing.T, c *cluster.Cluster) time.Duration {
	t.Helper()
	s.reset()
	old := leaderOf(t, c, s.topic, 0)
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	s.flows(t, 50, time.Minute)
	return s.longest()
}

// TestFastFailover_LeaderKilled_WritesGoOnWithinASecond has sessions of 18 s: the reset connection tells.
func TestFastFailover_LeaderKilled_WritesGoOnWithinASecond(t *testing.T) {
	for _, test := range []struct {
		name   string
		leader int32 // broker 1 is the controller
	}{{"a broker", 2}, {"the controller", 1}} {
		t.Run(test.name, func(t *testing.T) {
			c, s := watched(t, test.leader, map[string]string{"zookeeper.session.timeout.ms": longSession})
			pause := s.kill(t, c)
			t.Logf("acknowledged writes paused for %v", pause.Round(time.Millisecond))
			if pause > time.Second && cluster.Target() == cluster.Jackdaw {
				t.Errorf("writes paused for %v, want less than 1 s", pause)
			}
			old := c.Broker(int(test.leader))
			if cluster.Target() == cluster.Apache {
				waitGone(t, c, old)
			}
			if err := old.Start(); err != nil {
				t.Fatal(err)
			}
			waitISR(t, c, s.topic, 0, 30*time.Second, 1, 2, 3)
			s.end(t)
			checkReplicasEqual(t, c, s.topic, 0)
			if end := endOffset(t, leaderOf(t, c, s.topic, 0).Addr(), s.topic, 0); end != int64(s.acked) {
				t.Errorf("log ends at %d, %d records were acknowledged", end, s.acked)
			}
		})
	}
}

// TestFastFailover_LeaderFrozen_SessionDecides: who is silent is not dead. The leader keeps its partition until its session ends.
func TestFastFailover_LeaderFrozen_SessionDecides(t *testing.T) {
	t.Parallel() // it mostly waits
	c, s := watched(t, 2, map[string]string{"zookeeper.session.timeout.ms": "6000"})
	before, err := c.Tree.State(s.topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	frozen(t, c.Broker(2))
	pause(t, 3*time.Second)
	if now, err := c.Tree.State(s.topic, 0); err != nil || now.Leader != 2 || now.LeaderEpoch != before.LeaderEpoch {
		t.Errorf("after 3 s of silence and a session of 6 s: %+v, %v", now, err)
	}
	s.flows(t, 50, 30*time.Second)
	thaw(t, c.Broker(2))
	waitISR(t, c, s.topic, 0, 30*time.Second, 1, 2, 3)
	s.end(t)
	checkReplicasEqual(t, c, s.topic, 0)
}

// TestFastFailover_Off_SessionDecides is Apache's behavior; Apache takes the switch for a setting of some plug-in.
func TestFastFailover_Off_SessionDecides(t *testing.T) {
	t.Parallel() // it mostly waits
	c, s := watched(t, 2, map[string]string{"zookeeper.session.timeout.ms": "4000", "jackdaw.fast.failover.enable": "false"})
	pause := s.kill(t, c)
	s.end(t)
	t.Logf("acknowledged writes paused for %v", pause.Round(time.Millisecond))
	if pause < 1500*time.Millisecond {
		t.Errorf("writes paused for %v only, with a session of 4 s", pause)
	}
}

// TestControlledShutdown_Leader_WritesHardlyPause: leaders move before the broker stops.
func TestControlledShutdown_Leader_WritesHardlyPause(t *testing.T) {
	c, s := watched(t, 2, map[string]string{"zookeeper.session.timeout.ms": longSession})
	s.reset()
	if err := c.Broker(2).Stop(); err != nil {
		t.Fatal(err)
	}
	s.flows(t, 50, 30*time.Second)
	pause := s.longest()
	t.Logf("acknowledged writes paused for %v", pause.Round(time.Millisecond))
	if pause > time.Second && cluster.Target() == cluster.Jackdaw {
		t.Errorf("writes paused for %v", pause)
	}
	if live, err := c.Tree.Brokers(); err != nil || !slices.Equal(live, []int{1, 3}) {
		t.Errorf("registered brokers %v, %v", live, err)
	}
}
