package replication

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// The log directories of a node; the first partition is made in the first.
const (
	dirA = "/data"
	dirB = "/data2"
)

// pausable is a throttle of moves.
func pausable(th *switchThrottle) func(*Config) {
	return func(c *Config) { c.MoveThrottle, c.FetchMaxBytes = th, 200 }
}

// move asks one broker to move t0.
func (nd *node) move(dir string) error {
	return nd.m.AlterLogDirs([]LogDirMove{{TP: t0, Dir: dir}})[0]
}

func (nd *node) wantDir(tp metadata.TopicPartition, want string) {
	nd.c.t.Helper()
	if got := nd.partition(tp).Log().Dir(); got != want {
		nd.c.t.Fatalf("broker %d: replica is in %s, want %s", nd.id, got, want)
	}
}

// copied returns up to where the copy of t0 goes, -1 when there is none.
func (nd *node) copied() int64 {
	if f := nd.partition(t0).future(); f != nil {
		return f.EndOffset()
	}
	return -1
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("value ", i)
	}
	return out
}

// Leader and follower move while records come all the time: nothing is lost, doubled or out of order.
func TestMove_UnderLoad_AllRecordsOnce(t *testing.T) {
	bubble(t, 2, func(c *Config) { c.FetchMaxBytes = 300 }, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		want := numbered(400)
		for i, v := range want {
			c.nodes[1].produce(t0, -1, v)
			switch i {
			case 100, 200, 300:
				for _, id := range c.ids() {
					dir := dirB
					if c.nodes[id].partition(t0).Log().Dir() == dirB {
						dir = dirA
					}
					if err := c.nodes[id].move(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
			if i%3 == 0 {
				pass(time.Millisecond)
			}
		}
		settle(5 * time.Second)
		if got := c.wantSame(t0, 1, 2); !slices.Equal(got, want) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for _, id := range c.ids() {
			c.nodes[id].wantDir(t0, dirB)
			c.nodes[id].wantHW(t0, 400)
		}
	})
}

// Everybody who reads goes on over the replacement: consumers, read_committed ones, searches by time.
func TestMove_Readers_NoticeNothing(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		nd.produce(t0, 1, numbered(50)...).want(nil)
		id := record.Producer{ID: 7}
		b := record.NewBuilder(record.None, record.BuilderOptions{Transactional: true, Producer: &id})
		b.Append(1_700_000_000_001, nil, []byte("aborted"), nil)
		nd.append(AppendRequest{Acks: 1, Origin: log.Coordinator, Entries: []AppendEntry{
			{TP: t0, Records: b.Build()}, {TP: t0, Records: record.EndTxnMarker(record.Abort, 7, 0, 0, 1_700_000_000_001)},
		}}).want(nil)
		old := nd.partition(t0).view.Load()
		if err := nd.move(dirB); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		nd.wantDir(t0, dirB)
		p := nd.partition(t0)
		// As one who loaded the view just before.
		req := FetchRequest{Replica: metadata.NoBroker, ReadCommitted: true, MaxBytes: 1 << 20}
		fp := FetchPartition{TP: t0, Offset: 0, MaxBytes: 1 << 20}
		var out FetchResult
		err := p.readLog(old, &req, &fp, &out, 1<<20, true)
		if !p.replaced(old, err) {
			t.Fatalf("the former log answers %v", err)
		}
		res := nd.fetch(req, fp)
		if res.Err != nil || res.Records.Size() == 0 || len(res.Aborted) != 1 || res.HighWatermark != 52 {
			t.Errorf("fetch: %v, %d bytes, aborted %v, high watermark %d", res.Err, res.Records.Size(), res.Aborted, res.HighWatermark)
		}
		res.Records.Release()
		at, err := nd.m.ListOffset(ListOffsetQuery{TP: t0, Replica: metadata.NoBroker, CurrentLeaderEpoch: -1, Timestamp: 1_700_000_000_001})
		if err != nil || at.Offset != 50 {
			t.Errorf("by time: %+v, %v", at, err)
		}
	})
}

// fetch reads one partition without waiting.
func (nd *node) fetch(req FetchRequest, fp FetchPartition) (out FetchResult) {
	fp.CurrentLeaderEpoch, fp.LastFetchedEpoch, fp.LogStartOffset = metadata.NoEpoch, metadata.NoEpoch, -1
	req.Partitions = []FetchPartition{fp}
	nd.m.Fetch(req, func(r []FetchResult) { out = r[0] })
	return out
}

func TestAlterLogDirs_WhatIsAsked_AnswersAsKafka(t *testing.T) {
	th := &switchThrottle{}
	bubble(t, 1, pausable(th), func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		nd.produce(t0, 1, numbered(100)...).want(nil)
		th.exceeded.Store(true)
		u0 := metadata.TopicPartition{Topic: "u"}
		long := metadata.TopicPartition{Topic: fmt.Sprintf("%0214d", 1)}
		for _, tc := range []struct {
			name string
			mv   LogDirMove
			want error
		}{
			{"not in log.dirs", LogDirMove{t0, "/elsewhere"}, kerr.LogDirNotFound},
			{"too long", LogDirMove{long, dirB}, kerr.InvalidTopicException},
			{"unknown", LogDirMove{u0, dirB}, kerr.UnknownTopicOrPartition},
			{"where it is", LogDirMove{t0, dirA}, nil},
			{"elsewhere", LogDirMove{t0, dirB}, nil},
			{"elsewhere again", LogDirMove{t0, dirB}, nil},
		} {
			if err := nd.m.AlterLogDirs([]LogDirMove{tc.mv})[0]; !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
			}
		}
		settle(10 * time.Second)
		if got := nd.copied(); got != 0 {
			t.Fatalf("copied up to %d, though the limit is used up", got)
		}
		if err := nd.move(dirA); err != nil || nd.copied() != -1 {
			t.Fatalf("the move is not given up: %v", err)
		}
		if _, left := nd.logs.Future(t0); left {
			t.Error("a future log is left")
		}
		th.exceeded.Store(false)
		settle(5 * time.Second)
		nd.wantDir(t0, dirA)
		c.create(u0, 1)
		nd.wantDir(u0, dirB)
		if err := nd.move(dirB); err != nil {
			t.Fatal(err)
		}
		settle(5 * time.Second)
		nd.wantDir(t0, dirB)
		if th.recorded.Load() == 0 {
			t.Error("what was copied is not counted")
		}
	})
}

// A partition that the cluster has, but not here.
func TestAlterLogDirs_ReplicaElsewhere_WishIsKept(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		settle(time.Second)
		if err := c.nodes[2].move(dirB); !errors.Is(err, kerr.ReplicaNotAvailable) {
			t.Fatalf("%v, want REPLICA_NOT_AVAILABLE", err)
		}
		c.mu.Lock()
		s := c.states[t0]
		s.Replicas, s.PartitionEpoch = ids(1, 2), s.PartitionEpoch+1
		c.states[t0] = s
		c.mu.Unlock()
		c.publish()
		c.tellAll()
		settle(time.Second)
		c.nodes[2].wantDir(t0, dirB)
	})
}

// release lets everything through.
func (s *switchThrottle) release() {
	s.full.Store(0)
	s.exceeded.Store(false)
}

// half moves broker id's replica half of the way.
func (nd *node) half(th *switchThrottle) {
	nd.c.t.Helper()
	th.exceeded.Store(false)
	th.full.Store(2000)
	if err := nd.move(dirB); err != nil {
		nd.c.t.Fatal(err)
	}
	settle(2 * time.Second)
	if got, end := nd.copied(), nd.partition(t0).Log().EndOffset(); got <= 0 || got >= end {
		nd.c.t.Fatalf("copied up to %d of %d, want a part", got, end)
	}
}

func TestMove_KilledHalfWay_GoesOnAfterRestart(t *testing.T) {
	th := &switchThrottle{}
	bubble(t, 2, pausable(th), func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		want := numbered(200)
		for _, v := range want {
			c.nodes[1].produce(t0, 1, v).want(nil)
		}
		settle(time.Second)
		nd := c.nodes[2]
		nd.half(th)
		from := nd.copied()
		nd.kill()
		settle(time.Second)
		c.nodes[1].produce(t0, 1, "while away").want(nil)
		nd.restart()
		settle(5 * time.Second)
		if got := nd.copied(); got != from {
			t.Errorf("copied up to %d after the restart, %d before", got, from)
		}
		th.release()
		settle(5 * time.Second)
		nd.wantDir(t0, dirB)
		if got := c.wantSame(t0, 1, 2); !slices.Equal(got, append(want, "while away")) {
			t.Errorf("%d records", len(got))
		}
	})
}

// What an unclean election takes from the log it takes from the copy.
func TestMove_LogIsCut_CopyToo(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			th := &switchThrottle{}
			bubble(t, 2, pausable(th), func(t *testing.T, c *cluster) {
				c.create(t0, 1, 2)
				settle(time.Second)
				c.nodes[1].produce(t0, 1, "both").want(nil)
				settle(time.Second)
				c.setCut(1, 2, true)
				settle(time.Second)
				for _, v := range numbered(200) {
					c.nodes[1].produce(t0, 1, v).want(nil)
				}
				nd := c.nodes[1]
				nd.half(th)
				if restart {
					nd.kill()
				}
				c.elect(t0, 2, ids(2), metadata.Recovering)
				settle(time.Second)
				c.nodes[2].produce(t0, 1, "of the new leader").want(nil)
				c.setCut(1, 2, false)
				if restart {
					nd.restart()
				}
				settle(5 * time.Second)
				if end := nd.partition(t0).Log().EndOffset(); end != 2 {
					t.Fatalf("the log ends at %d, want 2", end)
				}
				th.release()
				settle(5 * time.Second)
				nd.wantDir(t0, dirB)
				if got := c.wantSame(t0, 1, 2); !slices.Equal(got, []string{"both", "of the new leader"}) {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// DeleteRecords is answered when the copy has followed, which has to begin after what was deleted.
func TestMove_DeleteRecords_CopyFollows(t *testing.T) {
	th := &switchThrottle{}
	bubble(t, 1, pausable(th), func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		for _, v := range numbered(200) {
			nd.produce(t0, 1, v).want(nil)
		}
		nd.half(th)
		var answer atomic.Pointer[DeleteResult]
		nd.m.DeleteRecords(time.Minute, []DeleteEntry{{TP: t0, Offset: 150}}, func(r []DeleteResult) { answer.Store(&r[0]) })
		settle(time.Second)
		if r := answer.Load(); r != nil {
			t.Fatalf("answered %+v while the copy begins before", r)
		}
		th.release()
		settle(5 * time.Second)
		if r := answer.Load(); r == nil || r.Err != nil || r.LowWatermark != 150 {
			t.Fatalf("answered %+v", r)
		}
		nd.wantDir(t0, dirB)
		if got := nd.values(t0); len(got) != 50 || got[0] != "value 150" {
			t.Errorf("%d values from %q on", len(got), got[0])
		}
	})
}

func TestMove_RoleEndsOrTopicGoes_CopyToo(t *testing.T) {
	th := &switchThrottle{}
	bubble(t, 1, pausable(th), func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		c.create(t0, 1)
		for _, v := range numbered(200) {
			nd.produce(t0, 1, v).want(nil)
		}
		nd.half(th)
		from := nd.copied()
		th.full.Store(0)
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: 0}}); err != nil {
			t.Fatal(err)
		}
		th.exceeded.Store(false)
		settle(5 * time.Second)
		if got := nd.copied(); got != from {
			t.Fatalf("copied on to %d after StopReplica", got)
		}
		c.elect(t0, 1, ids(1), metadata.Recovered)
		settle(5 * time.Second)
		nd.wantDir(t0, dirB)
		th.exceeded.Store(true)
		if err := nd.move(dirA); err != nil {
			t.Fatal(err)
		}
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: metadata.EpochDuringDelete, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		_, log := nd.logs.Get(t0)
		if _, future := nd.logs.Future(t0); log || future {
			t.Errorf("log left: %v, future log left: %v", log, future)
		}
		th.exceeded.Store(false)
		settle(5 * time.Second)
	})
}

func TestMove_DirectoryFails_OfEitherSide(t *testing.T) {
	for _, failed := range []string{dirA, dirB} {
		t.Run(failed, func(t *testing.T) {
			th := &switchThrottle{}
			bubble(t, 1, pausable(th), func(t *testing.T, c *cluster) {
				nd := c.nodes[1]
				c.create(t0, 1)
				for _, v := range numbered(200) {
					nd.produce(t0, 1, v).want(nil)
				}
				nd.half(th)
				nd.m.LogDirFailed(failed)
				th.release()
				settle(5 * time.Second)
				w := nd.produce(t0, 1, "after")
				if failed == dirA {
					w.want(kerr.KafkaStorageError)
					if err := nd.move(dirB); !errors.Is(err, kerr.KafkaStorageError) {
						t.Errorf("a replica that is offline is moved: %v", err)
					}
					return
				}
				w.want(nil)
				nd.wantDir(t0, dirA)
				if _, left := nd.logs.Future(t0); left || nd.copied() != -1 {
					t.Error("a future log is left")
				}
			})
		})
	}
}
