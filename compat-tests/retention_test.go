//go:build compat

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// dated is a batch of about 1 KiB whose only record has this time, in Unix ms.
func dated(ms int64) *wire.Batch {
	return wire.Values(strings.Repeat("r", 1000)).With(func(b *wire.Batch) { b.FirstTimestamp = ms })
}

// ends returns the log start and the high watermark of partition 0, as a consumer at offset 0 is told.
func ends(t *testing.T, addr, topic string) (start, hw int64) {
	t.Helper()
	return earliest(t, addr, topic), endOffset(t, addr, topic, 0)
}

// earliest asks for the first offset of partition 0.
func earliest(t *testing.T, addr, topic string) int64 {
	t.Helper()
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = -2, -1
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	got := ask[*kmsg.ListOffsetsResponse](t, addr, req, 5).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		t.Fatalf("earliest of %s: error %d", topic, got.ErrorCode)
	}
	return got.Offset
}

// logFiles lists the segments of partition 0 on a broker's disk, and their bytes.
func logFiles(t *testing.T, b *cluster.Broker, topic string) (names []string, bytes int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(b.DataDir(), topic+"-0", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			continue // removed meanwhile
		}
		names = append(names, filepath.Base(p))
		bytes += st.Size()
	}
	return names, bytes
}

// S31: what retention removes and what it leaves, on the leader and on the follower.
func TestRetention_TimeAndSize_RemoveWhatTheyMay(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{
		"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500", "zookeeper.session.timeout.ms": "60000",
		"replica.lag.time.max.ms": "60000", "log.flush.start.offset.checkpoint.interval.ms": "200",
	}})
	lead := c.Broker(1)
	const second = int64(1000)
	now := time.Now().UnixMilli()
	// Eight batches of about 1 KiB; about four of them fit into a segment. What is sized keeps 3 KiB.
	for _, topic := range []struct {
		name  string
		conf  []string
		times func(i int) int64
	}{
		{"idle", []string{"retention.ms", "3000"}, func(int) int64 { return now }},
		{"ancient", []string{"retention.ms", "600000"}, func(i int) int64 { return int64(i) }},
		{"ahead", []string{"retention.ms", "1000"}, func(i int) int64 {
			if i == 1 {
				return now + 10*365*24*3600*second
			}
			return now - 60*second
		}},
		{"ahead-sized", []string{"retention.ms", "1000", "retention.bytes", "3000"}, func(int) int64 { return now + 10*365*24*3600*second }},
		{"sized", []string{"retention.ms", "-1", "retention.bytes", "3000"}, func(int) int64 { return now }},
		{"kept", []string{"retention.ms", "-1"}, func(int) int64 { return 1 }},
	} {
		createAssigned(t, c, topic.name, append(topic.conf, "segment.bytes", "4500", "file.delete.delay.ms", "100"), []int32{1, 2})
		for i := range 8 {
			mustProduce(t, lead.Addr(), topic.name, 0, -1, dated(topic.times(i)))
		}
	}
	waitStart := func(topic string, want int64) {
		t.Helper()
		cluster.Eventually(t, 30*time.Second, "the log start of "+topic, func() error {
			if start, hw := ends(t, lead.Addr(), topic); start != want || hw != 8 {
				return fmt.Errorf("%d to %d, want %d to 8", start, hw, want)
			}
			return nil
		})
	}
	// (a), (c): all goes, the active segment too. (d), (b): whole segments, as long as what is left is not below the bound.
	waitStart("idle", 8)
	waitStart("ancient", 8)
	waitStart("sized", 4)
	waitStart("ahead-sized", 4)
	for topic, want := range map[string]int{"idle": 1, "ancient": 1, "sized": 1, "ahead-sized": 1, "ahead": 2, "kept": 2} {
		for _, b := range c.Brokers { // (f)
			cluster.Eventually(t, 30*time.Second, "the files of "+topic, func() error {
				if names, bytes := logFiles(t, b, topic); len(names) != want {
					return fmt.Errorf("broker %d has %v, %d bytes, want %d segments", b.ID, names, bytes, want)
				}
				return nil
			})
		}
	}
	// (b): the segment with the time ahead stays, and what is behind it waits. It begins with that record, since segment.ms counts
	// by the times of records, too.
	for topic, want := range map[string]int64{"ahead": 1, "kept": 0} {
		if start, hw := ends(t, lead.Addr(), topic); start != want || hw != 8 {
			t.Errorf("%s: %d to %d, want %d to 8", topic, start, hw, want)
		}
	}
	checkStartTold(t, lead.Addr(), "sized", 4)
	checkAboveHighWatermark(t, c, now)
	if err := lead.Stop(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, lead)
	if err := lead.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, "sized", 1)
	checkStartTold(t, leaderOf(t, c, "sized", 0).Addr(), "sized", 4)
	checkStartTold(t, leaderOf(t, c, "idle", 0).Addr(), "idle", 8)
}

// checkStartTold: (e) who reads on below the log start is told so, and where it is.
func checkStartTold(t *testing.T, addr, topic string, start int64) {
	t.Helper()
	fetch := func(offset int64) kmsg.FetchResponseTopicPartition {
		return ask[*kmsg.FetchResponse](t, addr, wire.NewFetch(wire.Position{Topic: topic, Offset: offset, MaxBytes: 1 << 20}), 11).Topics[0].Partitions[0]
	}
	if p := fetch(start - 1); p.ErrorCode != kerr.OffsetOutOfRange.Code {
		t.Errorf("%s below its start: error %d, want 1", topic, p.ErrorCode)
	}
	if p := fetch(8); p.ErrorCode != 0 || p.LogStartOffset != start || p.HighWatermark != 8 {
		t.Errorf("%s: error %d, start %d, high watermark %d, want 0, %d, 8", topic, p.ErrorCode, p.LogStartOffset, p.HighWatermark, start)
	}
}

// checkAboveHighWatermark: (g) what is not committed is not removed, however old it says that it is.
func checkAboveHighWatermark(t *testing.T, c *cluster.Cluster, now int64) {
	t.Helper()
	lead, follower := c.Broker(1), c.Broker(2)
	createAssigned(t, c, "open", []string{"retention.ms", "1000", "segment.bytes", "4500", "file.delete.delay.ms", "100"}, []int32{1, 2})
	createAssigned(t, c, "witness", []string{"retention.ms", "1000", "segment.bytes", "4500", "file.delete.delay.ms", "100"}, []int32{1})
	mustProduce(t, lead.Addr(), "open", 0, -1, dated(now))
	if err := follower.Freeze(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(12) {
		mustProduce(t, lead.Addr(), "open", 0, 1, dated(i))
	}
	for range 2 { // a check passes, and another one
		mustProduce(t, lead.Addr(), "witness", 0, 1, dated(1))
		end := endOffset(t, lead.Addr(), "witness", 0)
		cluster.Eventually(t, 30*time.Second, "a check of retention", func() error {
			if start := earliest(t, lead.Addr(), "witness"); start != end {
				return fmt.Errorf("log start %d, want %d", start, end)
			}
			return nil
		})
	}
	if _, bytes := logFiles(t, lead, "open"); bytes < 11_000 {
		t.Errorf("%d bytes are left of what is not committed", bytes)
	}
	if err := follower.Thaw(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 30*time.Second, "the removal of what is committed by now", func() error {
		if start, hw := ends(t, lead.Addr(), "open"); start != 13 || hw != 13 {
			return fmt.Errorf("%d to %d, want 13 to 13", start, hw)
		}
		return nil
	})
}
