package group

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// kafkaBatches are the batches that Apache Kafka wrote: see testdata/README.md.
func kafkaBatches(t *testing.T) []record.Batch {
	t.Helper()
	p, err := os.ReadFile("testdata/kafka/consumer_offsets.log")
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Batch
	for len(p) > 0 {
		b, rest, err := record.Next(p)
		if err != nil {
			t.Fatal(err)
		}
		out, p = append(out, b), rest
	}
	return out
}

// recordsOf returns the records of a batch as they are loaded.
func recordsOf(t *testing.T, b record.Batch) []coordinator.LogRecord {
	t.Helper()
	var out []coordinator.LogRecord
	for r, err := range b.Records(nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, coordinator.LogRecord{
			Offset: b.BaseOffset() + int64(r.OffsetDelta), Timestamp: b.BaseTimestamp() + r.TimestampDelta,
			ProducerID: -1, ProducerEpoch: -1, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value),
		})
	}
	return out
}

// build makes the batch that the runtime makes of a write.
func build(w coordinator.Write, ts, baseOffset int64) []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{
		BaseOffset: baseOffset, Producer: w.Producer, Transactional: w.Transactional,
	})
	for _, r := range w.Records {
		b.Append(ts, r.Key, r.Value, nil)
	}
	return b.Build()
}

func only(t *testing.T, e coordinator.Effects) coordinator.Write {
	t.Helper()
	if len(e.Writes) != 1 {
		t.Fatalf("%d writes, want 1", len(e.Writes))
	}
	return e.Writes[0]
}

// The same consumer at the same times gives the same bytes: a group of one member that joins, syncs, commits and leaves.
func TestShard_SameConsumer_SameBytesAsKafka(t *testing.T) {
	want := kafkaBatches(t)
	var v kmsg.GroupMetadataValue
	if err := v.ReadFrom(recordsOf(t, want[0])[0].Value); err != nil {
		t.Fatal(err)
	}
	m := v.Members[0]
	joined := time.UnixMilli(v.CurrentStateTimestamp)

	s := NewShard(DefaultConfig())
	s.Loaded(joined)
	s.Join(joined.Add(-s.cfg.InitialRebalanceDelay), 1, JoinRequest{
		Group: "g1", ClientID: m.ClientID, ClientHost: m.ClientHost, RandomID: m.MemberID[len(m.ClientID)+1:],
		SessionTimeout:   time.Duration(m.SessionTimeoutMillis) * time.Millisecond,
		RebalanceTimeout: time.Duration(m.RebalanceTimeoutMillis) * time.Millisecond,
		ProtocolType:     v.ProtocolType, Protocols: []Protocol{{Name: *v.Protocol, Metadata: m.Subscription}},
	})
	s.Tick(joined)
	synced := time.UnixMilli(want[0].BaseTimestamp())
	w := only(t, s.Sync(synced, 2, SyncRequest{
		Group: "g1", MemberID: m.MemberID, Generation: 1, Assignments: map[string][]byte{m.MemberID: m.Assignment},
	}))
	if w.Timestamp != synced.UnixMilli() {
		t.Errorf("record timestamp %d, want %d", w.Timestamp, synced.UnixMilli())
	}
	sameBytes(t, build(w, want[0].BaseTimestamp(), 0), want[0])
	s.Appended(synced, w.Tag, 0)
	s.Committed(synced, w.Tag)

	var o kmsg.OffsetCommitValue
	if err := o.ReadFrom(recordsOf(t, want[1])[0].Value); err != nil {
		t.Fatal(err)
	}
	w = only(t, s.Commit(time.UnixMilli(o.CommitTimestamp), 3, CommitRequest{
		MemberRequest: MemberRequest{Group: "g1", MemberID: m.MemberID, Generation: 1},
		Offsets: []CommitOffset{{
			TP: metadata.TopicPartition{Topic: "codecs"}, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata,
			Timestamp: -1, Retention: -1,
		}},
	}))
	// Kafka reads its clock again between value and batch; so the batch's time is given here.
	sameBytes(t, build(w, want[1].BaseTimestamp(), 1), want[1])
	s.Appended(synced, w.Tag, 1)
	s.Committed(synced, w.Tag)

	if err := v.ReadFrom(recordsOf(t, want[2])[0].Value); err != nil {
		t.Fatal(err)
	}
	left := time.UnixMilli(v.CurrentStateTimestamp)
	w = only(t, s.Leave(left, 4, "g1", []LeavingMember{{MemberID: m.MemberID}}))
	sameBytes(t, build(w, want[2].BaseTimestamp(), 2), want[2])
}

func sameBytes(t *testing.T, got, want []byte) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("batch differs from Kafka's (-want +got):\n%s", d)
	}
}

func TestShard_KafkasRecords_Loaded(t *testing.T) {
	s := NewShard(DefaultConfig())
	for _, b := range kafkaBatches(t) {
		for _, r := range recordsOf(t, b) {
			if err := s.Load(r); err != nil {
				t.Error(err)
			}
		}
	}
	now := time.UnixMilli(1795970220000)
	s.Loaded(now)
	got := s.Fetch(now, 1, FetchRequest{Group: "g1", All: true, Stable: true}).Replies[0].Body.(FetchResult).Offsets
	want := []FetchedOffset{{TP: metadata.TopicPartition{Topic: "codecs"}, Offset: 20, Metadata: got[0].Metadata}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := s.Describe(now, 2, "g1").Replies[0].Body.(Description); d.State != "Empty" || d.ProtocolType != "consumer" {
		t.Errorf("%+v", d)
	}
}
