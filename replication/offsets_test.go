package replication

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// at is a client's query without an epoch.
func at(timestamp int64) ListOffsetQuery {
	return ListOffsetQuery{TP: t0, Replica: metadata.NoBroker, CurrentLeaderEpoch: metadata.NoEpoch, Timestamp: timestamp}
}

func TestListOffset_Timestamps_FindTheFirstRecord(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		nd := c.nodes[1]
		if got, err := nd.m.ListOffset(at(MaxTimestamp)); err != nil || got != notFound {
			t.Fatalf("empty log: %+v, %v", got, err)
		}
		for _, ts := range []int64{2, 4, 6, 8} {
			b := record.NewBuilder(record.Gzip, record.BuilderOptions{})
			b.Append(ts, nil, []byte("v"), nil)
			nd.append(AppendRequest{Acks: 1, Entries: []AppendEntry{{TP: t0, Records: b.Build()}}}).want(nil)
		}
		for ts, want := range map[int64]int64{2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3, 9: -1} {
			got, err := nd.m.ListOffset(at(ts))
			if err != nil || got.Offset != want || want >= 0 && got.Epoch != 0 {
				t.Errorf("timestamp %d: %+v, %v; want offset %d", ts, got, err, want)
			}
		}
		for ts, want := range map[int64]log.TimestampOffset{
			LatestTimestamp:        {Timestamp: -1, Offset: 4, Epoch: 0},
			EarliestTimestamp:      {Timestamp: -1, Offset: 0, Epoch: 0},
			EarliestLocalTimestamp: {Timestamp: -1, Offset: 0, Epoch: 0},
			MaxTimestamp:           {Timestamp: 8, Offset: 3, Epoch: 0},
			LatestTieredTimestamp:  notFound,
		} {
			if got, err := nd.m.ListOffset(at(ts)); err != nil || got != want {
				t.Errorf("timestamp %d: %+v, %v; want %+v", ts, got, err, want)
			}
		}
		if _, err := nd.m.ListOffset(at(-6)); !errors.Is(err, kerr.UnsupportedVersion) {
			t.Errorf("-6: %v", err)
		}
		if got, err := nd.m.LegacyOffsets(at(LatestTimestamp), 10); err != nil || !slices.Equal(got, []int64{4, 0}) {
			t.Errorf("v0 latest: %v, %v", got, err)
		}
		if got, err := nd.m.LegacyOffsets(at(EarliestTimestamp), 10); err != nil || !slices.Equal(got, []int64{0}) {
			t.Errorf("v0 earliest: %v, %v", got, err)
		}
	})
}

// TestListOffset_AfterElection_IsNotAvailableUntilCommitted is KIP-207.
func TestListOffset_AfterElection_IsNotAvailableUntilCommitted(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		c.nodes[1].produce(t0, 1, "a").want(nil)
		if got, err := c.nodes[1].m.ListOffset(at(LatestTimestamp)); err != nil || got.Offset != 0 {
			t.Fatalf("settled leader: %+v, %v", got, err)
		}
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		for _, ts := range []int64{LatestTimestamp, MaxTimestamp, 1, 1 << 60} {
			if _, err := c.nodes[1].m.ListOffset(at(ts)); !errors.Is(err, kerr.OffsetNotAvailable) {
				t.Errorf("timestamp %d: %v", ts, err)
			}
		}
		if got, err := c.nodes[1].m.ListOffset(at(EarliestTimestamp)); err != nil || got.Offset != 0 {
			t.Errorf("earliest: %+v, %v", got, err)
		}
		follower := at(LatestTimestamp)
		follower.Replica = 2
		if got, err := c.nodes[1].m.ListOffset(follower); err != nil || got.Offset != 1 {
			t.Errorf("for a follower: %+v, %v", got, err)
		}
		c.setCut(1, 2, false)
		settle(3 * time.Second)
		if got, err := c.nodes[1].m.ListOffset(at(LatestTimestamp)); err != nil || got.Offset != 1 || got.Epoch != 1 {
			t.Errorf("after the commit: %+v, %v", got, err)
		}
	})
}

func TestListOffset_Fencing_ByEpochAndRole(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		c.elect(t0, 1, ids(1, 2), metadata.Recovered)
		settle(time.Second)
		for _, tc := range []struct {
			name  string
			on    metadata.BrokerID
			asker metadata.BrokerID
			epoch metadata.LeaderEpoch
			want  error
		}{
			{"current", 1, -1, 1, nil},
			{"older", 1, -1, 0, kerr.FencedLeaderEpoch},
			{"newer", 1, -1, 2, kerr.UnknownLeaderEpoch},
			{"follower", 2, -1, -1, kerr.NotLeaderForPartition},
			{"debugging at a follower", 2, -2, -1, nil},
		} {
			q := at(LatestTimestamp)
			q.Replica, q.CurrentLeaderEpoch = tc.asker, tc.epoch
			if _, err := c.nodes[tc.on].m.ListOffset(q); !errors.Is(err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
			}
		}
	})
}

func TestOffsetForLeaderEpoch_History_IsTold(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		for _, v := range []string{"a", "b"} {
			w := c.nodes[1].produce(t0, -1, v)
			settle(time.Second)
			w.want(nil)
			c.elect(t0, 2, ids(1, 2), metadata.Recovered)
			c.elect(t0, 1, ids(1, 2), metadata.Recovered)
			settle(2 * time.Second)
		}
		ask := func(current, epoch metadata.LeaderEpoch) (log.EpochEnd, error) {
			return c.nodes[1].m.OffsetForLeaderEpoch(EpochQuery{TP: t0, CurrentLeaderEpoch: current, LeaderEpoch: epoch})
		}
		for epoch, want := range map[metadata.LeaderEpoch]log.EpochEnd{
			0: {Epoch: 0, EndOffset: 1}, 1: {Epoch: 0, EndOffset: 1}, 2: {Epoch: 2, EndOffset: 2}, 4: {Epoch: 4, EndOffset: 2},
			99: {Epoch: -1, EndOffset: -1},
		} {
			if got, err := ask(metadata.NoEpoch, epoch); err != nil || got != want {
				t.Errorf("epoch %d: %+v, %v; want %+v", epoch, got, err, want)
			}
		}
		if _, err := ask(3, 0); !errors.Is(err, kerr.FencedLeaderEpoch) {
			t.Errorf("stale: %v", err)
		}
		if _, err := ask(99, 0); !errors.Is(err, kerr.UnknownLeaderEpoch) {
			t.Errorf("future: %v", err)
		}
	})
}

// TestDeleteRecords_Rules is S12 and KIP-107.
func TestDeleteRecords_Rules(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		for range 10 {
			c.nodes[1].produce(t0, 1, "a", "b")
		}
		settle(2 * time.Second)
		del := func(offset int64) DeleteResult {
			t.Helper()
			var got []DeleteResult
			c.nodes[1].m.DeleteRecords(5*time.Second, []DeleteEntry{{TP: t0, Offset: offset}}, func(r []DeleteResult) { got = r })
			settle(6 * time.Second)
			if len(got) != 1 {
				t.Fatalf("offset %d: no answer", offset)
			}
			return got[0]
		}
		for _, tc := range []struct {
			offset, low int64
			err         error
		}{
			{5, 5, nil}, {5, 5, nil}, {3, 5, nil}, {25, -1, kerr.OffsetOutOfRange}, {-2, -1, kerr.OffsetOutOfRange}, {-1, 20, nil},
		} {
			if got := del(tc.offset); got.LowWatermark != tc.low || !errors.Is(got.Err, tc.err) {
				t.Errorf("offset %d: low %d, %v; want %d, %v", tc.offset, got.LowWatermark, got.Err, tc.low, tc.err)
			}
		}
		if got := c.nodes[2].partition(t0).Log().StartOffset(); got != 20 {
			t.Errorf("follower starts at %d, want 20", got)
		}
		c.nodes[1].produce(t0, 1, "c")
		settle(time.Second)
		c.setCut(1, 2, true)
		settle(time.Second)
		if got := del(21); !errors.Is(got.Err, kerr.RequestTimedOut) {
			t.Errorf("follower cut off: %+v", got)
		}
		c.nodes[2].kill()
		if got := del(21); got.Err != nil || got.LowWatermark != 21 {
			t.Errorf("a dead follower does not count: %+v", got)
		}
	})
}
