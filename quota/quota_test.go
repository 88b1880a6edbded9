package quota_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"jackdaw/quota"
)

var (
	windows = quota.Windows{Count: 11, Size: time.Second}
	start   = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
)

func at(d time.Duration) time.Time { return start.Add(d) }

func TestTable_EightLevels_TheMostSpecialWins(t *testing.T) {
	alice, app, other := quota.Named("alice"), quota.Named("app"), quota.Default()
	none := quota.Name{}
	// From the strongest to the weakest; removing one makes the next count.
	levels := []struct {
		e   quota.Entity
		key quota.Key
	}{
		{quota.Entity{User: alice, Client: app}, quota.Key{User: "alice", Client: "app", OfUser: true, OfClient: true}},
		{quota.Entity{User: alice, Client: other}, quota.Key{User: "alice", Client: "app", OfUser: true, OfClient: true}},
		{quota.Entity{User: alice, Client: none}, quota.Key{User: "alice", OfUser: true}},
		{quota.Entity{User: other, Client: app}, quota.Key{User: "alice", Client: "app", OfUser: true, OfClient: true}},
		{quota.Entity{User: other, Client: other}, quota.Key{User: "alice", Client: "app", OfUser: true, OfClient: true}},
		{quota.Entity{User: other, Client: none}, quota.Key{User: "alice", OfUser: true}},
		{quota.Entity{User: none, Client: app}, quota.Key{Client: "app", OfClient: true}},
		{quota.Entity{User: none, Client: other}, quota.Key{Client: "app", OfClient: true}},
	}
	var table *quota.Table
	for i, l := range levels {
		table = table.With(l.e, map[string]float64{"producer_byte_rate": float64(i + 1), "SCRAM-SHA-256": 9})
	}
	for i, l := range levels {
		got, ok := table.Find(quota.Produce, "alice", "app")
		if want := (quota.Quota{Key: l.key, Limit: float64(i + 1)}); !ok || got != want {
			t.Errorf("level %d: got %+v, %v; want %+v", i+1, got, ok, want)
		}
		if _, ok := table.Find(quota.Fetch, "alice", "app"); ok || table.Any(quota.Fetch) {
			t.Errorf("level %d: a quota for consumers", i+1)
		}
		table = table.With(l.e, nil)
	}
	if table.Any(quota.Produce) {
		t.Error("an empty table has quotas")
	}
}

func TestRate_FirstUse_IsSpreadOverTenWindows(t *testing.T) {
	var r quota.Rate
	r.Add(windows, 1000, start)
	if rate, over := r.PerSecond(windows, start); rate != 100 || over != 10*time.Second {
		t.Errorf("got %v over %v", rate, over)
	}
	if d := r.Delay(windows, 100, start); d != 0 {
		t.Errorf("at the limit: delay %v", d)
	}
	r.Add(windows, 1000, start)
	if d := r.Delay(windows, 100, start); d != 10*time.Second {
		t.Errorf("twice the limit: delay %v", d)
	}
	if rate, _ := r.PerSecond(windows, at(11*time.Second)); rate != 0 {
		t.Errorf("after all windows: rate %v", rate)
	}
}

// Who obeys the delays gets what the quota allows, whatever the sizes of the requests.
func TestMeters_ObedientClient_GetsTheLimit(t *testing.T) {
	const limit = 1 << 20
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1 << 10, 1 << 18, 4 << 20} {
		m := quota.NewMeters(windows)
		q := quota.Quota{Key: quota.Key{Client: "c", OfClient: true}, Limit: limit}
		now, sent := time.Duration(0), 0.0
		for now < 10*time.Minute {
			n := float64(1 + rnd.IntN(most))
			sent += n
			now += time.Millisecond + m.Use(q, n, at(now))
		}
		// Kafka's windows give large requests a little more, and small requests of a client that waits 1 ms may never reach the limit.
		if rate := sent / now.Seconds(); rate > limit*1.1 || most >= 1<<18 && rate < limit*0.9 {
			t.Errorf("requests up to %d bytes: %.0f bytes a second, want %d", most, rate, limit)
		}
	}
}

func TestMeters_Undo_LeavesNoTrace(t *testing.T) {
	m := quota.NewMeters(windows)
	q := quota.Quota{Key: quota.Key{User: "u", OfUser: true}, Limit: 10}
	if d := m.Use(q, 1000, start); d == 0 {
		t.Fatal("no delay")
	}
	m.Undo(q, 1000, start)
	if d := m.Use(q, 1, start); d != 0 {
		t.Errorf("delay %v after all was taken back", d)
	}
}

func TestBuckets_Overdrawn_WaitsForTokens(t *testing.T) {
	b := quota.NewBuckets(windows)
	q := quota.Quota{Key: quota.Key{User: "u", OfUser: true}, Limit: 2}
	if d := b.TryUse(q, 30, start); d != 0 {
		t.Errorf("a full bucket of 22 refuses 30: %v", d)
	}
	if d := b.TryUse(q, 1, start); d != 4*time.Second {
		t.Errorf("overdrawn by 8 at 2 a second: delay %v, want 4s", d)
	}
	if d := b.Use(q, 2, start); d != 5*time.Second {
		t.Errorf("used all the same: delay %v, want 5s", d)
	}
	if d := b.TryUse(q, 1, at(5*time.Second)); d != 0 {
		t.Errorf("after the delay: %v", d)
	}
}

func BenchmarkFind_NoQuota(b *testing.B) {
	var table *quota.Table
	b.ReportAllocs()
	for b.Loop() {
		table.Find(quota.Produce, "User:ANONYMOUS", "app")
	}
}

func TestFindAndUse_KnownClient_DoesNotAllocate(t *testing.T) {
	var table *quota.Table
	table = table.With(quota.Entity{Client: quota.Default()}, map[string]float64{"producer_byte_rate": 1e9})
	m, now := quota.NewMeters(windows), start
	n := testing.AllocsPerRun(1000, func() {
		now = now.Add(300 * time.Millisecond)
		if q, ok := table.Find(quota.Produce, "ANONYMOUS", "app"); ok {
			m.Use(q, 100, now)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
