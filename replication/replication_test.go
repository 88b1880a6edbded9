package replication

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// bubble runs f with a cluster of n brokers in virtual time.
func bubble(t *testing.T, n int, change func(*Config), f func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, n, change)
		defer c.stop()
		f(t, c)
	})
}

// settle lets everything that is under way come to rest, and d pass.
func settle(d time.Duration) {
	pass(d)
	synctest.Wait()
}

// pass lets virtual time go by for one goroutine.
func pass(d time.Duration) { time.Sleep(d) }

func ids(list ...metadata.BrokerID) []metadata.BrokerID { return list }

func TestReplication_ThreeReplicas_CommitWhenAllHaveIt(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2, 3)
		settle(time.Second)
		c.setCut(3, 1, true)
		settle(2 * time.Second)
		w := c.nodes[1].produce(t0, -1, "a", "b")
		settle(time.Second)
		if w.answered() {
			t.Fatal("answered although replica 3 has nothing")
		}
		c.nodes[1].wantHW(t0, 0)
		c.setCut(3, 1, false)
		settle(3 * time.Second)
		w.want(nil)
		for id := range c.nodes {
			c.nodes[id].wantHW(t0, 2)
		}
		if got := c.wantSame(t0, 1, 2, 3); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("got %q", got)
		}
	})
}

func TestReplication_FollowerLags_LeavesAndReturns(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2, 3)
		settle(time.Second)
		c.setCut(3, 1, true)
		c.nodes[1].produce(t0, 1, "a")
		settle(44 * time.Second)
		c.wantISR(t0, 1, 2)
		c.nodes[1].wantHW(t0, 1)
		w := c.nodes[1].produce(t0, -1, "b")
		settle(time.Second)
		w.want(nil)
		c.setCut(3, 1, false)
		settle(5 * time.Second)
		c.wantISR(t0, 1, 2, 3)
		if got := c.state(t0).PartitionEpoch; got != 2 {
			t.Fatalf("partition epoch %d, want 2", got)
		}
		c.wantSame(t0, 1, 2, 3)
	})
}

func TestReplication_BelowMinISR_RefusesAndStandsStill(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = 2
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, -1, "a")
		settle(time.Second)
		late := c.nodes[1].append(AppendRequest{Acks: -1, Timeout: time.Hour, Entries: nil})
		if !late.answered() {
			t.Fatal("an append of nothing must be answered at once")
		}
		c.setCut(1, 2, true)
		waiting := c.nodes[1].produce(t0, -1, "b")
		settle(11 * time.Second)
		waiting.want(kerr.RequestTimedOut)
		settle(40 * time.Second)
		c.wantISR(t0, 1)
		c.nodes[1].produce(t0, -1, "c").want(kerr.NotEnoughReplicas)
		c.nodes[1].produce(t0, 1, "d").want(nil)
		c.nodes[1].wantHW(t0, 1)
		c.setCut(1, 2, false)
		settle(5 * time.Second)
		c.wantISR(t0, 1, 2)
		c.nodes[1].wantHW(t0, 3)
		if got := c.wantSame(t0, 1, 2); !slices.Equal(got, []string{"a", "b", "d"}) {
			t.Fatalf("got %q", got)
		}
	})
}

func TestReplication_LeaderKilled_NothingCommittedIsLost(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2, 3)
		settle(time.Second)
		w := c.nodes[1].produce(t0, -1, "a", "b")
		settle(time.Second)
		w.want(nil)
		// These reach the leader alone, and are lost with it.
		c.setCut(1, 2, true)
		c.setCut(1, 3, true)
		settle(time.Second)
		c.nodes[1].produce(t0, 1, "x", "y", "z").want(nil)
		c.nodes[1].kill()
		c.elect(t0, 2, ids(2, 3), metadata.Recovered)
		settle(time.Second)
		w = c.nodes[2].produce(t0, -1, "c")
		settle(time.Second)
		w.want(nil)
		c.setCut(1, 2, false)
		c.setCut(1, 3, false)
		c.nodes[1].restart()
		settle(5 * time.Second)
		if got := c.wantSame(t0, 1, 2, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatalf("got %q", got)
		}
		c.wantISR(t0, 2, 3, 1)
		for id := range c.nodes {
			c.nodes[id].wantHW(t0, 3)
		}
	})
}

func TestReplication_LeaderDeposed_WaitingProducerIsTold(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		w := c.nodes[1].produce(t0, -1, "a")
		c.elect(t0, 2, ids(2), metadata.Recovered)
		settle(time.Millisecond)
		w.want(kerr.NotLeaderForPartition)
		if got := w.r[0].CurrentLeader; got != (LeaderHint{ID: 2, Epoch: 1}) {
			t.Fatalf("told %+v", got)
		}
	})
}

// TestReplication_QuickElections_FollowersCutByEpoch is the case that truncation to the high watermark gets wrong, and
// that needs the epoch to be written at election, before any append (KIP-101, KIP-279).
func TestReplication_QuickElections_FollowersCutByEpoch(t *testing.T) {
	for name, version := range fetchVersions {
		t.Run(name, func(t *testing.T) { quickElections(t, version) })
	}
}

// fetchVersions are those with which histories are compared in different ways: within Fetch, and by OffsetForLeaderEpoch
// before it.
var fetchVersions = map[string]int16{"ibp 3.9": 17, "ibp 2.7": 12, "ibp 2.4": 11}

func quickElections(t *testing.T, version int16) {
	bubble(t, 3, func(cfg *Config) { cfg.FetchVersion = version }, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2, 3)
		settle(time.Second)
		w := c.nodes[1].produce(t0, -1, "a")
		settle(2 * time.Second)
		w.want(nil)
		isolate := func(on bool) { c.setCut(1, 2, on); c.setCut(1, 3, on); c.setCut(2, 3, on) }
		isolate(true)
		settle(2 * time.Second)
		c.nodes[1].produce(t0, 1, "x1", "x2")
		c.elect(t0, 2, ids(1, 2, 3), metadata.Recovered)
		c.nodes[2].produce(t0, 1, "y1")
		c.elect(t0, 3, ids(1, 2, 3), metadata.Recovered)
		c.elect(t0, 1, ids(1, 2, 3), metadata.Recovered)
		c.elect(t0, 3, ids(1, 2, 3), metadata.Recovered)
		isolate(false)
		settle(5 * time.Second)
		w = c.nodes[3].produce(t0, -1, "b")
		settle(2 * time.Second)
		w.want(nil)
		if got := c.wantSame(t0, 1, 2, 3); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("got %q", got)
		}
	})
}

// TestReplication_LongerOlderLogLeads_FollowerCutsItsLaterEpoch has a follower with records of a later epoch than any
// record of its leader, whose log is longer: only the epoch that the leader wrote down at its election shows it.
func TestReplication_LongerOlderLogLeads_FollowerCutsItsLaterEpoch(t *testing.T) {
	for name, version := range fetchVersions {
		t.Run(name, func(t *testing.T) { longerOlderLog(t, version) })
	}
}

func longerOlderLog(t *testing.T, version int16) {
	bubble(t, 2, func(cfg *Config) { cfg.FetchVersion = version }, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		w := c.nodes[1].produce(t0, -1, "a")
		settle(2 * time.Second)
		w.want(nil)
		c.setCut(1, 2, true)
		settle(2 * time.Second)
		for _, v := range []string{"x1", "x2", "x3"} {
			c.nodes[1].produce(t0, 1, v).want(nil)
		}
		c.elect(t0, 2, ids(1, 2), metadata.Recovered)
		c.nodes[2].produce(t0, 1, "y1").want(nil)
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		c.setCut(1, 2, false)
		settle(5 * time.Second)
		if got := c.wantSame(t0, 1, 2); !slices.Equal(got, []string{"a", "x1", "x2", "x3"}) {
			t.Fatalf("got %q", got)
		}
		c.nodes[1].wantHW(t0, 4)
	})
}

func TestReplication_UncleanElection_ReturningLeaderDropsItsTail(t *testing.T) {
	var lines syncBuffer
	loud := func(cfg *Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		cfg.StateChange = cfg.Logger
	}
	bubble(t, 2, loud, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(50 * time.Second)
		w := c.nodes[1].produce(t0, 1, "a")
		settle(50 * time.Second)
		w.want(nil)
		w = c.nodes[1].produce(t0, -1, "b", "c")
		settle(time.Second)
		w.want(nil)
		c.wantISR(t0, 1)
		c.nodes[1].wantHW(t0, 3)
		c.nodes[1].kill()
		c.elect(t0, 2, ids(2), metadata.Recovering)
		w = c.nodes[2].produce(t0, -1, "n")
		settle(time.Second)
		w.want(nil)
		c.setCut(1, 2, false)
		c.nodes[1].restart()
		settle(5 * time.Second)
		if got := c.wantSame(t0, 1, 2); !slices.Equal(got, []string{"n"}) {
			t.Fatalf("got %q", got)
		}
		c.wantISR(t0, 2, 1)
		c.nodes[1].wantHW(t0, 1)
	})
	for _, want := range []string{
		`level=WARN msg="Unclean leader election: records of other replicas that are not here are lost" partition=t-0 leaderEpoch=1 fromOffset=0`,
		`level=WARN msg="Truncated committed records after an unclean leader election" partition=t-0 fromOffset=0 toOffset=3 highWatermark=1`,
	} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("no line %s in\n%s", want, lines.String())
		}
	}
}

// syncBuffer collects log lines.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestReplication_LogStartPastFollower_StartsOver(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, -1, "a")
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		for range 5 {
			c.nodes[1].produce(t0, 1, "b", "c")
		}
		settle(60 * time.Second)
		c.wantISR(t0, 1)
		c.nodes[1].m.DeleteRecords(time.Second, []DeleteEntry{{TP: t0, Offset: 5}}, func([]DeleteResult) {})
		settle(2 * time.Second)
		c.setCut(1, 2, false)
		settle(10 * time.Second)
		c.wantISR(t0, 1, 2)
		l := c.nodes[2].partition(t0).Log()
		if l.StartOffset() != 5 || l.EndOffset() != 11 {
			t.Fatalf("log from %d to %d, want 5 to 11", l.StartOffset(), l.EndOffset())
		}
		c.wantSame(t0, 1, 2)
	})
}

func TestReplication_FollowerRestartsEmpty_DoesNotCountByItsFormerFetches(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		w := c.nodes[1].produce(t0, -1, "a")
		settle(time.Second)
		w.want(nil)
		c.nodes[2].kill()
		c.elect(t0, 1, ids(1), metadata.Recovered)
		settle(time.Second)
		c.nodes[2].fs = newDisk()
		c.setCut(1, 2, true)
		c.nodes[2].restart()
		settle(20 * time.Second)
		c.wantISR(t0, 1)
		c.setCut(1, 2, false)
		settle(5 * time.Second)
		c.wantISR(t0, 1, 2)
		c.wantSame(t0, 1, 2)
	})
}

func TestReplication_OnePartitionFails_OthersGoOn(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		bad := metadata.TopicPartition{Topic: "u", Partition: 0}
		c.create(t0, 1, 2)
		c.create(bad, 1, 2)
		settle(time.Second)
		if _, err := c.nodes[1].m.StopReplicas(1, []StopReplica{{TP: bad, LeaderEpoch: metadata.EpochDuringDelete, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		w := c.nodes[1].produce(t0, -1, "a")
		settle(time.Second)
		w.want(nil)
	})
}

func TestReplication_ManyPartitionsAndFetchers_AllAreCopied(t *testing.T) {
	bubble(t, 3, func(cfg *Config) { cfg.NumFetchers = 3 }, func(t *testing.T, c *cluster) {
		var pending []*pendingAppend
		for i := range int32(20) {
			tp := metadata.TopicPartition{Topic: "t", Partition: i}
			c.create(tp, metadata.BrokerID(i%3+1), metadata.BrokerID((i+1)%3+1), metadata.BrokerID((i+2)%3+1))
		}
		settle(time.Second)
		for i := range int32(20) {
			tp := metadata.TopicPartition{Topic: "t", Partition: i}
			pending = append(pending, c.nodes[metadata.BrokerID(i%3+1)].produce(tp, -1, "a", "b", "c"))
		}
		settle(2 * time.Second)
		for i, w := range pending {
			w.want(nil)
			c.wantSame(metadata.TopicPartition{Topic: "t", Partition: int32(i)}, 1, 2, 3)
		}
	})
}

func TestReplication_CleanRestart_KeepsHighWatermark(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, -1, "a", "b", "c")
		settle(2 * time.Second)
		c.nodes[2].wantHW(t0, 3)
		c.nodes[2].shutdown()
		c.publish()
		c.setCut(1, 2, true)
		c.nodes[2].restart()
		c.nodes[2].wantHW(t0, 3)
	})
}

// TestCheckpointHW_ReplicaNotToldItsRole_KeepsItsMark: the first LeaderAndIsr need not name all replicas.
func TestCheckpointHW_ReplicaNotToldItsRole_KeepsItsMark(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		u0 := metadata.TopicPartition{Topic: "u", Partition: 0}
		c.create(t0, 1)
		c.create(u0, 1)
		c.nodes[1].produce(t0, 1, "a").want(nil)
		c.nodes[1].produce(u0, 1, "a", "b").want(nil)
		c.nodes[1].shutdown()
		c.nodes[1].start()
		s := c.state(t0)
		if err := c.nodes[1].apply(1, s); err != nil {
			t.Fatal(err)
		}
		if err := c.nodes[1].m.CheckpointHW(); err != nil {
			t.Fatal(err)
		}
		marks, _ := c.nodes[1].logs.ReadHWCheckpoints()
		if marks[t0] != 1 || marks[u0] != 2 {
			t.Fatalf("marks %v", marks)
		}
	})
}

// TestStopReplicas_KilledAfterDeletion_NewTopicHasNoMark: a topic that is made again must not find the mark of the former
// one, which it would take for its own after the next start.
func TestStopReplicas_KilledAfterDeletion_NewTopicHasNoMark(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		nd.produce(t0, 1, "a", "b", "c").want(nil)
		if err := nd.m.CheckpointHW(); err != nil {
			t.Fatal(err)
		}
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: metadata.EpochDuringDelete, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		nd.kill()
		nd.start()
		if marks, stale := nd.logs.ReadHWCheckpoints(); len(marks) != 0 || stale {
			t.Fatalf("marks %v of a deleted topic", marks)
		}
	})
}

// TestApplyLeaderAndISR_MarkWithoutLog_IsRemoved: the broker may be killed between the deletion and the checkpoint.
func TestApplyLeaderAndISR_MarkWithoutLog_IsRemoved(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		u0 := metadata.TopicPartition{Topic: "u", Partition: 0}
		c.create(t0, 1)
		nd.produce(t0, 1, "a").want(nil)
		if err := nd.m.CheckpointHW(); err != nil {
			t.Fatal(err)
		}
		if err := nd.logs.Delete(t0); err != nil {
			t.Fatal(err)
		}
		nd.kill()
		nd.start()
		c.create(u0, 1)
		if marks, stale := nd.logs.ReadHWCheckpoints(); len(marks) != 0 || stale {
			t.Fatalf("marks %v without a log", marks)
		}
	})
}

// TestApplyLeaderAndISR_StateOlderThanDeletion_IsRefused: a request that was repeated, since its answer was late, may arrive
// the first time after all that followed.
func TestApplyLeaderAndISR_StateOlderThanDeletion_IsRefused(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		s := c.state(t0)
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: s.LeaderEpoch, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		if err := nd.apply(1, s); !errors.Is(err, kerr.StaleControllerEpoch) {
			t.Fatalf("the state before the deletion: %v", err)
		}
		s.LeaderEpoch++
		s.PartitionEpoch++
		if err := nd.apply(1, s); err != nil {
			t.Fatalf("a later state: %v", err)
		}
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: metadata.EpochDuringDelete, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		s.LeaderEpoch++
		if err := nd.apply(1, s); !errors.Is(err, kerr.StaleControllerEpoch) {
			t.Fatalf("a state of a topic that is gone: %v", err)
		}
		s.LeaderEpoch, s.PartitionEpoch = 0, 0
		s.TopicID[0]++
		if err := nd.apply(1, s); err != nil {
			t.Fatalf("another topic of that name: %v", err)
		}
	})
}
