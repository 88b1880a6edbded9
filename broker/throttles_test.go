package broker

import (
	"math"
	"testing"
	"time"

	"jackdaw/config"
	"jackdaw/metadata"
)

func newTestThrottle(limit int64) (*throttle, *time.Time) {
	now := time.Unix(1000, 0)
	t := newThrottle(config.Windows{Count: 11, Size: time.Second}, limit)
	t.now = func() time.Time { return now }
	return t, &now
}

func TestThrottle_Listed_OwnPartitionsOnly(t *testing.T) {
	th, _ := newTestThrottle(1)
	tp := func(topic string, p int32) metadata.TopicPartition {
		return metadata.TopicPartition{Topic: topic, Partition: p}
	}
	if th.Throttled(tp("a", 0)) {
		t.Error("something is listed from the start")
	}
	th.List("a", 2, []string{"0:1", "1:2", " 3:2"})
	th.List("b", 2, []string{"*"})
	th.List("c", 2, []string{"0:1"})
	for _, tt := range []struct {
		tp   metadata.TopicPartition
		want bool
	}{
		{tp("a", 0), false}, {tp("a", 1), true}, {tp("a", 3), true}, {tp("b", 9), true}, {tp("c", 0), false}, {tp("d", 0), false},
	} {
		if got := th.Throttled(tt.tp); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.tp, got, tt.want)
		}
	}
	th.List("a", 2, nil)
	th.List("b", 2, []string{})
	if th.Throttled(tp("a", 1)) || th.Throttled(tp("b", 0)) || th.listed.Load() != nil {
		t.Error("still listed after the list was taken away")
	}
}

func TestThrottle_Rate_ExceededUntilTimeHasPassed(t *testing.T) {
	th, now := newTestThrottle(1000)
	th.Record(900)
	if th.Exceeded() {
		t.Error("900 bytes in a second are below 1,000")
	}
	th.Record(600)
	if !th.Exceeded() {
		t.Error("1,500 bytes in a second are above 1,000")
	}
	*now = now.Add(1400 * time.Millisecond)
	if !th.Exceeded() {
		t.Error("1,500 bytes in 1.4 seconds are above 1,000 a second")
	}
	*now = now.Add(200 * time.Millisecond)
	if th.Exceeded() {
		t.Error("1,500 bytes in 1.6 seconds are below 1,000 a second")
	}
	th.Record(1500)
	th.limit.Store(math.MaxInt64)
	if th.Exceeded() {
		t.Error("exceeded without a limit")
	}
	th.limit.Store(1000)
	*now = now.Add(12 * time.Second)
	if th.Exceeded() {
		t.Error("still exceeded when all windows have passed")
	}
}
