//go:build compat

package compat

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// compacting are the settings of a broker that compacts at once.
var compacting = map[string]string{"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "500"}

// compactTopic are the settings of a topic of which all but the active segment is worth a pass.
var compactTopic = []string{"cleanup.policy", "compact", "segment.bytes", "20000", "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "0"}

// overwrite produces n records over a few keys, with tombstones for some, and returns the latest value of each key.
func overwrite(t *testing.T, cl *kgo.Client, topic string, n int) map[string]string {
	t.Helper()
	latest := map[string]string{}
	for i := range n {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i%17)}
		if i%17 != 3 {
			r.Value = fmt.Appendf(nil, "%d %s", i, strings.Repeat("v", 200))
		}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		latest[string(r.Key)] = string(r.Value)
	}
	return latest
}

// latestOf reads a partition from its start, and returns the latest value of each key and the offsets.
func latestOf(t *testing.T, c *cluster.Cluster, topic string) (latest map[string]string, offsets []int64) {
	t.Helper()
	end := endOffset(t, c.Broker(c.Running()[0]).Addr(), topic, 0)
	cl := client(t, c, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}), kgo.FetchMaxWait(200*time.Millisecond))
	latest = map[string]string{}
	for len(offsets) == 0 || offsets[len(offsets)-1] < end-1 {
		f := cl.PollFetches(t.Context())
		if err := f.Err0(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			latest[string(r.Key)] = string(r.Value)
			offsets = append(offsets, r.Offset)
		})
	}
	return latest, offsets
}

// The cleaner runs in the broker: what is dead goes, offsets stay, nothing that counts is lost, not over a restart either;
// and its settings change while it runs (S32).
func TestCompaction_RunningBroker_KeepsTheLatestOfEachKey(t *testing.T) {
	config := maps.Clone(compacting)
	config["log.message.timestamp.type"] = "LogAppendTime" // S08: also of the internal topics
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: config})
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, compactTopic...)
	commitOne(t, c, topic, 41)
	const records = 600
	want := overwrite(t, client(t, c), topic, records)
	awaitCompaction(t, c, topic, want)

	alter := []kadm.AlterConfig{{Name: "log.cleaner.threads", Value: kadm.StringPtr("2")}}
	if r, err := admin(t, c).AlterBrokerConfigs(t.Context(), alter, 1); err != nil || r[0].Err != nil {
		t.Fatalf("log.cleaner.threads: %v %+v", err, r)
	}
	maps.Copy(want, overwrite(t, client(t, c), topic, records))
	awaitCompaction(t, c, topic, want)

	b := c.Broker(1)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 1)
	awaitCompaction(t, c, topic, want)
	checkHoles(t, c, topic)
	if offset, _, code := fetchOffset(t, coordinator(t, c, "keeper").Addr(), "keeper", topic, 0, 7, true); offset != 41 || code != 0 {
		t.Errorf("committed offset %d, error %d, want 41", offset, code)
	}
}

// commitOne commits an offset for the group keeper.
func commitOne(t *testing.T, c *cluster.Cluster, topic string, offset int64) {
	t.Helper()
	req := wire.NewCommit("keeper", "", -1, wire.Commit{Topic: topic, Offset: offset})
	r := ask[*kmsg.OffsetCommitResponse](t, coordinator(t, c, "keeper").Addr(), req, 7)
	if code := r.Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Fatalf("commit: error %d", code)
	}
}

// checkHoles: a fetch at an offset that compaction has taken gives the batch with the next record (S12).
func checkHoles(t *testing.T, c *cluster.Cluster, topic string) {
	t.Helper()
	_, offsets := latestOf(t, c, topic)
	holes := 0
	for at := int64(0); at < offsets[len(offsets)-1]; at += 7 {
		req := wire.NewFetch(wire.Position{Topic: topic, Offset: at, MaxBytes: 1})
		p := ask[*kmsg.FetchResponse](t, c.Broker(1).Addr(), req, 11).Topics[0].Partitions[0]
		i, there := slices.BinarySearch(offsets, at)
		if !there {
			holes++
		}
		if p.ErrorCode != 0 || len(p.RecordBatches) < 61 {
			t.Fatalf("fetch at %d: error %d, %d bytes", at, p.ErrorCode, len(p.RecordBatches))
		}
		base := int64(binary.BigEndian.Uint64(p.RecordBatches))
		last := base + int64(binary.BigEndian.Uint32(p.RecordBatches[23:]))
		empty := binary.BigEndian.Uint32(p.RecordBatches[57:]) == 0 // kept for the sequence numbers of its producer
		if last < at || base > offsets[i] || !empty && last < offsets[i] {
			t.Fatalf("fetch at %d: a batch of %d to %d, the next record is at %d", at, base, last, offsets[i])
		}
	}
	if holes == 0 {
		t.Error("there is no hole")
	}
}

// awaitCompaction waits until a partition holds far less than was written, and checks what is left.
func awaitCompaction(t *testing.T, c *cluster.Cluster, topic string, want map[string]string) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, "compaction of "+topic, func() error {
		latest, offsets := latestOf(t, c, topic)
		for key, value := range want {
			if got := latest[key]; got != value {
				t.Fatalf("key %s: %.10q, want %.10q", key, got, value)
			}
		}
		if len(offsets) > 300 {
			return fmt.Errorf("%d records are left", len(offsets))
		}
		return nil
	})
}

// Offsets outlive the compaction of __consumer_offsets and a load after it: of plain commits the last, of transactions the last
// committed one, whichever comes later, and what is pending stays so (S24).
func TestCompaction_ConsumerOffsets_LastCommitOfEachKind(t *testing.T) {
	config := maps.Clone(compacting)
	maps.Copy(config, map[string]string{
		"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "4000", "log.cleaner.min.cleanable.ratio": "0.01",
	})
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: config})
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	coordinator(t, c, "plain")
	x := &txnByHand{cl: client(t, c), id: "x"}
	transactionCoordinator(t, c, x.id)
	cluster.Eventually(t, 30*time.Second, "producer", func() error { return x.init(t.Context()) })
	commit := func(group string, offset int64) {
		t.Helper()
		if code := commitSimple(t, c, group, topic, offset); code != 0 {
			t.Fatalf("commit of %s: error %d", group, code)
		}
	}
	transaction := func(group string, offset int64, abort bool) {
		t.Helper()
		cluster.Eventually(t, 30*time.Second, "offset in a transaction", func() error { return x.addOffset(t.Context(), group, topic, offset) })
		x.abort = abort
		if err := x.end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(100) {
		commit("plain", i)
		if i%5 == 0 {
			transaction("in-txn", i, i%10 == 5)
			transaction("then-plain", i, false)
			commit("then-plain", 1000+i)
			transaction("then-aborted", 2000+i, i > 50)
		}
	}
	cluster.Eventually(t, 30*time.Second, "offset in an open transaction", func() error { return x.addOffset(t.Context(), "plain", topic, 5000) })
	cluster.Eventually(t, 60*time.Second, "compaction of "+offsetsTopic, func() error {
		_, offsets := latestOf(t, c, offsetsTopic)
		if len(offsets) > 60 {
			return fmt.Errorf("%d records are left", len(offsets))
		}
		return nil
	})
	b := c.Broker(1)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	addr := coordinator(t, c, "plain").Addr()
	check := func(group string, want int64) {
		t.Helper()
		if at, _, code := fetchOffset(t, addr, group, topic, 0, 7, true); at != want || code != 0 {
			t.Errorf("%s: offset %d, error %d, want %d", group, at, code, want)
		}
	}
	if _, _, code := fetchOffset(t, addr, "plain", topic, 0, 7, true); code != kerr.UnstableOffsetCommit.Code {
		t.Errorf("stable offset in an open transaction: error %d", code)
	}
	check("in-txn", 90)
	check("then-plain", 1095)
	check("then-aborted", 2050)
	x.abort = false
	cluster.Eventually(t, 30*time.Second, "end", func() error { return x.end(t.Context()) })
	cluster.Eventually(t, 30*time.Second, "stable offset", func() error {
		_, _, code := fetchOffset(t, addr, "plain", topic, 0, 7, true)
		return kerr.ErrorForCode(code)
	})
	check("plain", 5000)
}
