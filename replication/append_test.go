package replication

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestAppend_SeveralPartitions_EachAnsweredOnce(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		elsewhere := metadata.TopicPartition{Topic: "e", Partition: 0}
		c.create(t0, 1)
		c.create(elsewhere, 2)
		damaged := batch("a")
		damaged[len(damaged)-1] ^= 1
		w := c.nodes[1].append(AppendRequest{Acks: 1, Entries: []AppendEntry{
			{TP: t0, Records: batch("a")},
			{TP: metadata.TopicPartition{Topic: "none"}, Records: batch("a")},
			{TP: elsewhere, Records: batch("a")},
			{TP: t0, Records: damaged},
			{TP: metadata.TopicPartition{Topic: "__consumer_offsets"}, Records: batch("a")},
			{TP: t0, Err: kerr.TopicAuthorizationFailed},
			{TP: t0, Records: batch("b", "c")},
		}})
		want := []error{
			nil, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition, kerr.CorruptMessage,
			kerr.InvalidTopicException, kerr.TopicAuthorizationFailed, nil,
		}
		if len(w.r) != len(want) {
			t.Fatalf("%d answers, want %d", len(w.r), len(want))
		}
		for i, err := range want {
			if !errors.Is(w.r[i].Err, err) {
				t.Errorf("entry %d: got %v, want %v", i, w.r[i].Err, err)
			}
		}
		if first, last := w.r[6].Info.FirstOffset, w.r[6].Info.LastOffset; first != 1 || last != 2 {
			t.Errorf("offsets %d to %d, want 1 to 2", first, last)
		}
		if got := w.r[2].CurrentLeader; got.ID != 2 {
			t.Errorf("leader told: %+v, want 2", got)
		}
	})
}

func TestAppend_UnknownAcks_AppendsNothing(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		c.nodes[1].produce(t0, 2, "a").want(kerr.InvalidRequiredAcks)
		c.nodes[1].produce(t0, -2, "a").want(kerr.InvalidRequiredAcks)
		c.nodes[1].wantHW(t0, 0)
	})
}

func TestAppend_OneReplica_MinISRTwo_IsCommittedAtOnce(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = 2
		c.create(t0, 1)
		c.nodes[1].produce(t0, -1, "a").want(nil)
		c.nodes[1].wantHW(t0, 1)
	})
}

// TestAppend_Duplicate_WaitsForTheFirstCopy: the answer to a repeated batch must not be earlier than its commit.
func TestAppend_Duplicate_WaitsForTheFirstCopy(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		send := func() *pendingAppend {
			b := record.NewBuilder(record.None, record.BuilderOptions{Producer: &record.Producer{ID: 7}})
			b.Append(1, nil, []byte("a"), nil)
			return c.nodes[1].append(AppendRequest{Acks: -1, Timeout: time.Minute, Entries: []AppendEntry{{TP: t0, Records: b.Build()}}})
		}
		first, again := send(), send()
		settle(time.Second)
		if first.answered() || again.answered() {
			t.Fatal("answered before the follower has it")
		}
		c.setCut(1, 2, false)
		settle(3 * time.Second)
		first.want(nil)
		again.want(nil)
		if !again.r[0].Info.Duplicate || again.r[0].Info.FirstOffset != 0 {
			t.Fatalf("repeated batch: %+v", again.r[0].Info)
		}
	})
}

func TestAppend_ISRFallsAfterCommit_IsToldAfterAppend(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = 2
		c.create(t0, 1, 2)
		settle(time.Second)
		c.nodes[1].produce(t0, 1, "a").want(nil)
		settle(time.Second)
		p := c.nodes[1].partition(t0)
		c.setCut(1, 2, true)
		c.nodes[1].produce(t0, 1, "b").want(nil)
		settle(60 * time.Second)
		c.wantISR(t0, 1)
		v := p.view.Load()
		if over, err := p.reached(v.term, 1); !over || !errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
			t.Fatalf("over %v, err %v", over, err)
		}
		if over, err := p.reached(v.term, 2); over || err != nil {
			t.Fatalf("over %v, err %v", over, err)
		}
	})
}

func TestAppendBatch_CoordinatorOfAnEarlierTerm_IsRefused(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		offsets := metadata.TopicPartition{Topic: "__consumer_offsets", Partition: 0}
		c.create(offsets, 1, 2)
		settle(time.Second)
		write := func(epoch metadata.LeaderEpoch) (done error, err error) {
			done = errors.New("not called")
			_, err = c.nodes[1].m.AppendBatch(BatchAppend{
				TP: offsets, Epoch: epoch, Origin: log.Coordinator, Records: batch("a"), Acks: -1, Timeout: time.Second,
			}, func(err error) { done = err })
			settle(2 * time.Second)
			return done, err
		}
		if done, err := write(0); done != nil || err != nil {
			t.Fatalf("done %v, err %v", done, err)
		}
		// Raised in place: the coordinator still holds what is in the log.
		c.elect(offsets, 1, ids(1, 2), metadata.Recovered)
		if done, err := write(0); done != nil || err != nil {
			t.Fatalf("after an epoch raised in place: done %v, err %v", done, err)
		}
		c.elect(offsets, 2, ids(1, 2), metadata.Recovered)
		if _, err := write(1); !errors.Is(err, kerr.NotLeaderForPartition) {
			t.Fatalf("not leading: %v", err)
		}
		c.elect(offsets, 1, ids(1, 2), metadata.Recovered)
		if _, err := write(1); !errors.Is(err, kerr.NotLeaderForPartition) {
			t.Fatalf("led, lost and led again: %v", err)
		}
		if done, err := write(3); done != nil || err != nil {
			t.Fatalf("done %v, err %v", done, err)
		}
	})
}

// TestAppendBatch_AcksOfTheLeader_DoneAtOnceBelowMinISR is offsets.commit.required.acks=1 and 0.
func TestAppendBatch_AcksOfTheLeader_DoneAtOnceBelowMinISR(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = 2
		c.create(t0, 1, 2)
		c.setCut(1, 2, true)
		settle(60 * time.Second)
		c.wantISR(t0, 1)
		for _, acks := range []int16{-1, 0, 1} {
			done := errors.New("not called")
			_, err := c.nodes[1].m.AppendBatch(BatchAppend{
				TP: t0, Epoch: metadata.NoEpoch, Origin: log.Coordinator, Records: batch("a"), Acks: acks, Timeout: time.Second,
			}, func(err error) { done = err })
			if acks == -1 {
				if !errors.Is(err, kerr.NotEnoughReplicas) {
					t.Errorf("acks=all: %v", err)
				}
			} else if err != nil || done != nil {
				t.Errorf("acks=%d: %v, done %v", acks, err, done)
			}
		}
	})
}
