package group

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/coordinator"
	"jackdaw/protocol/record"
)

// kafkaConsumerGroups are the records that Apache Kafka 3.9.2 wrote for consumer groups: see testdata/README.md.
func kafkaConsumerGroups(t *testing.T) []coordinator.LogRecord {
	t.Helper()
	p, err := os.ReadFile("testdata/kafka/consumer_groups.log")
	if err != nil {
		t.Fatal(err)
	}
	var out []coordinator.LogRecord
	for len(p) > 0 {
		b, rest, err := record.Next(p)
		if err != nil {
			t.Fatal(err)
		}
		if !b.IsControl() {
			out = append(out, recordsOf(t, b)...)
		}
		p = rest
	}
	return out
}

// What Kafka wrote is written again byte for byte, by all kinds of records, with classic members and without.
func TestConsumerRecord_KafkasRecords_SameBytes(t *testing.T) {
	seen := map[recordKind]int{}
	classic := 0
	for _, l := range kafkaConsumerGroups(t) {
		kind := recordKind(binary.BigEndian.Uint16(l.Key))
		if kind < firstConsumerKind {
			continue
		}
		id, rec, err := decodeConsumerRecord(l)
		if err != nil {
			t.Fatalf("offset %d: %v", l.Offset, err)
		}
		got := rec.encode(id)
		if d := cmp.Diff(l.Key, got.Key); d != "" {
			t.Errorf("offset %d: key of kind %d (-Kafka +ours):\n%s", l.Offset, kind, d)
		}
		if manyTopics(rec.value) {
			got.Value = sortedTopics(t, l.Value, got)
		}
		if d := cmp.Diff(l.Value, got.Value); d != "" {
			t.Errorf("offset %d: value of kind %d (-Kafka +ours):\n%s", l.Offset, kind, d)
		}
		if l.Value != nil {
			seen[kind]++
		}
		if m, ok := rec.value.(*memberMetadata); ok && m.classic != nil {
			classic++
		}
	}
	for k := firstConsumerKind; k <= lastConsumerKind; k++ {
		if seen[k] == 0 {
			t.Errorf("no record of kind %d in the capture", k)
		}
	}
	if classic == 0 {
		t.Error("no classic member in the capture")
	}
}

// manyTopics reports whether a value has topics in the order of a hash, if Kafka wrote it.
func manyTopics(v consumerValue) bool {
	switch v := v.(type) {
	case targetValue:
		return len(v) > 1
	case currentValue:
		return len(v.assigned) > 1 || len(v.revoking) > 1
	case topicsValue:
		return len(v) > 1
	default:
		return false
	}
}

// sortedTopics returns Kafka's value if ours says the same in another order, else ours.
func sortedTopics(t *testing.T, kafka []byte, ours coordinator.Record) []byte {
	t.Helper()
	_, a, errA := decodeConsumerRecord(coordinator.LogRecord{Key: ours.Key, Value: kafka})
	_, b, errB := decodeConsumerRecord(coordinator.LogRecord{Key: ours.Key, Value: ours.Value})
	all := cmp.AllowUnexported(currentValue{}, topicMetadata{})
	if errA != nil || errB != nil || len(kafka) != len(ours.Value) || !cmp.Equal(a.value, b.value, all) {
		return ours.Value
	}
	return kafka
}

// A partition that Kafka wrote is loaded as Kafka described it when it was copied.
func TestShard_KafkasConsumerGroups_Loaded(t *testing.T) {
	s := NewShard(DefaultConfig())
	for _, l := range kafkaConsumerGroups(t) {
		if err := s.Load(l); err != nil {
			t.Errorf("offset %d: %v", l.Offset, err)
		}
	}
	now := time.UnixMilli(1795999980000)
	s.Loaded(now)
	for id, want := range map[string]ConsumerDescription{
		"g":    {State: ConsumerEmpty, Epoch: 5, TargetEpoch: 4, Assignor: "uniform"},
		"s":    {State: ConsumerEmpty, Epoch: 2, TargetEpoch: 1, Assignor: "uniform"},
		"m":    {State: ConsumerStable, Epoch: 1, TargetEpoch: 1, Assignor: "uniform"},
		"warm": {State: ConsumerStable, Epoch: 1, TargetEpoch: 1, Assignor: "uniform"},
	} {
		got := s.DescribeConsumer(now, 1, id).Replies[0].Body.(ConsumerDescription)
		for _, m := range got.Members {
			if m.Epoch != 1 || m.Assigned.Len() != 4 || !m.Assigned.Equal(m.Target) || m.ClientID != "probe" {
				t.Errorf("%s: member %+v", id, m)
			}
		}
		if members := len(got.Members); members != map[ConsumerState]int{ConsumerStable: 1}[want.State] {
			t.Errorf("%s has %d members", id, members)
		}
		got.Members = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", id, d)
		}
	}
	list := s.List(now, 2, nil, []string{"Classic"}).Replies[0].Body.([]Listing)
	if len(list) != 0 {
		t.Errorf("classic groups %v, want none", list)
	}
}

// The second record of a join is found wherever it is cut: never a panic, never a value.
func FuzzDecodeConsumerRecord(f *testing.F) {
	p, err := os.ReadFile("testdata/kafka/consumer_groups.log")
	if err != nil {
		f.Fatal(err)
	}
	b, _, err := record.Next(p)
	if err != nil {
		f.Fatal(err)
	}
	for r, err := range b.Records(nil) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Key, r.Value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		id, rec, err := decodeConsumerRecord(coordinator.LogRecord{Key: key, Value: value})
		if err != nil || rec.kind < firstConsumerKind || rec.kind > lastConsumerKind || value == nil {
			return
		}
		out := rec.encode(id)
		_, again, err := decodeConsumerRecord(coordinator.LogRecord{Key: out.Key, Value: out.Value})
		if err != nil || again.kind != rec.kind || again.member != rec.member {
			t.Errorf("%+v is read back as %+v, %v", rec, again, err)
		}
	})
}
