//go:build compat

package compat

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestRetention_CommittedOffsetsGoWhenTheyMay: offsets.retention.minutes=1, the shortest there is.
func TestRetention_CommittedOffsetsGoWhenTheyMay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 75 s")
	}
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{
		"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "2000",
	}})
	createTopic(t, c, "t", 1, 1)
	addr := coordinator(t, c, "active").Addr()
	gone := func(group string) bool {
		off, _, code := fetchOffset(t, addr, group, "t", 0, 8, false)
		if code != 0 {
			t.Errorf("%s: error %d", group, code)
		}
		return off == -1
	}

	active, left := newMember(t, c, "active"), newMember(t, c, "left")
	active.join(t)
	active.syncAll(t)
	left.join(t)
	left.syncAll(t)
	for _, m := range []*member{active, left} {
		if code := m.commitAs(t, "t", 7); code != 0 {
			t.Fatalf("commit: error %d", code)
		}
	}
	if code := commitSimple(t, c, "simple", "t", 7); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	short := wire.NewCommit("short", "", -1, wire.Commit{Topic: "t", Offset: 7})
	short.RetentionTimeMillis = 5000 // v2 to v4 carry it
	if r := ask[*kmsg.OffsetCommitResponse](t, addr, short, 3); r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("commit v3: error %d", r.Topics[0].Partitions[0].ErrorCode)
	}
	start := time.Now()
	keepAlive := func() {
		t.Helper()
		if code := active.heartbeat(t); code != 0 {
			t.Errorf("heartbeat: error %d", code)
		}
	}
	waitGoneOffset := func(group string, notBefore, notAfter time.Duration, since time.Time) {
		t.Helper()
		cluster.Eventually(t, notAfter+20*time.Second, "expiry of "+group, func() error {
			keepAlive()
			if !gone(group) {
				return fmt.Errorf("still there after %v", time.Since(since).Round(time.Second))
			}
			return nil
		})
		if took := time.Since(since); took < notBefore || took > notAfter {
			t.Errorf("%s expired after %v, want %v to %v", group, took.Round(time.Second), notBefore, notAfter)
		}
	}
	waitGoneOffset("short", 4*time.Second, 20*time.Second, start)
	left.leave(t) // its minute begins when the group becomes empty
	emptied := time.Now()
	waitGoneOffset("simple", 57*time.Second, 75*time.Second, start)
	waitGoneOffset("left", 57*time.Second, 75*time.Second, emptied)
	if d := describe(t, c, "left"); d.State != "Dead" {
		t.Errorf("the group without offsets is %s, want Dead", d.State)
	}
	keepAlive()
	if gone("active") {
		t.Error("the offset of an active group expired")
	}
}
