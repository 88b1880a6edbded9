package replication

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// appendJoined appends several calls together.
func (nd *node) appendJoined(req AppendRequest, calls ...[]AppendEntry) []*pendingAppend {
	var pending []*pendingAppend
	var list []AppendCall
	for _, entries := range calls {
		w := &pendingAppend{t: nd.c.t}
		pending = append(pending, w)
		list = append(list, AppendCall{Entries: entries, Done: w.done})
	}
	nd.m.AppendJoined(req, list)
	return pending
}

func sequenced(seq int32) []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: seq}})
	b.Append(1, nil, []byte("a"), nil)
	return b.Build()
}

func TestAppendJoined_SeveralCalls_EachHearsItsOwn(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		t1, elsewhere := metadata.TopicPartition{Topic: "t", Partition: 1}, metadata.TopicPartition{Topic: "e"}
		c.create(t0, 1)
		c.create(t1, 1)
		c.create(elsewhere, 2)
		got := c.nodes[1].appendJoined(AppendRequest{Acks: 1},
			[]AppendEntry{{TP: t0, Records: sequenced(0)}, {TP: t1, Records: batch("a", "b")}},
			[]AppendEntry{{TP: t1, Records: batch("c")}, {TP: elsewhere, Records: batch("a")}, {TP: t0, Records: sequenced(1)}},
			nil,
			[]AppendEntry{{TP: t0, Records: sequenced(7)}, {TP: t0, Err: kerr.TopicAuthorizationFailed}, {TP: t1, Records: batch("d")}},
			[]AppendEntry{{TP: t0, Records: sequenced(1)}, {TP: t0, Records: sequenced(2)}},
		)
		type answer struct {
			first int64
			err   error
		}
		for i, want := range [][]answer{
			{{0, nil}, {0, nil}},
			{{2, nil}, {-1, kerr.NotLeaderForPartition}, {1, nil}},
			{},
			{{-1, kerr.OutOfOrderSequenceNumber}, {-1, kerr.TopicAuthorizationFailed}, {3, nil}},
			{{1, nil}, {2, nil}},
		} {
			if !got[i].answered() && len(want) > 0 || len(got[i].r) != len(want) {
				t.Fatalf("call %d: %+v", i, got[i].r)
			}
			for k, w := range want {
				if r := got[i].r[k]; r.Info.FirstOffset != w.first || !errors.Is(r.Err, w.err) {
					t.Errorf("call %d, entry %d: offset %d, %v; want %d, %v", i, k, r.Info.FirstOffset, r.Err, w.first, w.err)
				}
			}
		}
		c.nodes[1].wantHW(t0, 3)
		c.nodes[1].wantHW(t1, 4)
		for _, w := range c.nodes[1].appendJoined(AppendRequest{Acks: 2}, []AppendEntry{{TP: t0, Records: batch("a")}}, []AppendEntry{{TP: t1, Records: batch("a")}}) {
			w.want(kerr.InvalidRequiredAcks)
		}
	})
}

// A call waits for its own partitions only, also when it was appended with one that waits for others.
func TestAppendJoined_OnePartitionStuck_OthersAcknowledged(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *cluster) {
		t1 := metadata.TopicPartition{Topic: "t", Partition: 1}
		c.create(t0, 1, 2)
		c.create(t1, 1, 3)
		settle(time.Second)
		c.setCut(1, 2, true)
		got := c.nodes[1].appendJoined(AppendRequest{Acks: -1, Timeout: 5 * time.Second},
			[]AppendEntry{{TP: t0, Records: batch("a")}},
			[]AppendEntry{{TP: t1, Records: batch("a")}},
			[]AppendEntry{{TP: t1, Records: batch("b")}, {TP: t0, Records: batch("b")}},
		)
		settle(2 * time.Second)
		if got[0].answered() || got[2].answered() {
			t.Fatal("acknowledged before the follower has it")
		}
		got[1].want(nil)
		settle(4 * time.Second)
		got[0].want(kerr.RequestTimedOut)
		if r := got[2].r; len(r) != 2 || r[0].Err != nil || !errors.Is(r[1].Err, kerr.RequestTimedOut) {
			t.Fatalf("%+v", r)
		}
	})
}

// With flush.messages=1 nobody hears of a record before it is on the disk.
func TestAppendJoined_FlushEveryMessage_AnsweredWhenDurable(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.cfg.FlushMessages = 1
		c.create(t0, 1)
		got := c.nodes[1].appendJoined(AppendRequest{Acks: -1, Timeout: time.Second},
			[]AppendEntry{{TP: t0, Records: batch("a")}}, []AppendEntry{{TP: t0, Records: batch("b")}})
		settle(time.Second)
		for _, w := range got {
			w.want(nil)
		}
		l, _ := c.nodes[1].logs.Get(t0)
		if l.RecoveryPoint() != 2 {
			t.Errorf("durable up to %d of 2", l.RecoveryPoint())
		}
		c.nodes[1].wantHW(t0, 2)
	})
}
