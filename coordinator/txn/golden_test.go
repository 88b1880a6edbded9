package txn

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

// kafkaRecords are what Apache Kafka wrote, each a batch of its own: see testdata/README.md.
func kafkaRecords(t *testing.T) (batches []record.Batch, records []coordinator.LogRecord) {
	t.Helper()
	p, err := os.ReadFile("testdata/kafka/transaction_state.log")
	if err != nil {
		t.Fatal(err)
	}
	for len(p) > 0 {
		b, rest, err := record.Next(p)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records(nil) {
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
			records = append(records, coordinator.LogRecord{Offset: b.BaseOffset(), Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		}
		p = rest
	}
	return batches, records
}

// step does to the shard what led to one of Kafka's records, at the same time.
func step(t *testing.T, s *Shard, id string, v *kmsg.TxnMetadataValue) coordinator.Effects {
	t.Helper()
	now := time.UnixMilli(v.LastUpdateTimestamp)
	p := Producer{v.ProducerID, v.ProducerEpoch}
	switch State(v.State) {
	case Empty:
		return s.InitProducerID(now, 1, InitRequest{
			ID: id, Timeout: time.Duration(v.TimeoutMillis) * time.Millisecond, FreshID: v.ProducerID,
		})
	case Ongoing:
		return s.AddPartitions(now, 1, id, p, []metadata.TopicPartition{{Topic: v.Topics[0].Topic, Partition: v.Topics[0].Partitions[0]}})
	case PrepareCommit, PrepareAbort:
		return s.EndTxn(now, 1, id, p, State(v.State) == PrepareCommit)
	case CompleteCommit, CompleteAbort:
		return s.MarkersWritten(now, Markers{TransactionalID: id, Seq: s.markers}, s.ids[id].sorted())
	default:
		t.Fatalf("state %v", v.State)
		return coordinator.Effects{}
	}
}

// The same requests at the same times give the same bytes.
func TestShard_SameTransactions_SameBytesAsKafka(t *testing.T) {
	batches, records := kafkaRecords(t)
	s := NewShard(DefaultConfig(), 0)
	s.Loaded(time.UnixMilli(0))
	for i, r := range records {
		var k kmsg.TxnMetadataKey
		var v kmsg.TxnMetadataValue
		if err := k.ReadFrom(r.Key); err != nil {
			t.Fatal(err)
		}
		if err := v.ReadFrom(r.Value); err != nil {
			t.Fatal(err)
		}
		e := step(t, s, k.TransactionalID, &v)
		if len(e.Writes) != 1 || len(e.Writes[0].Records) != 1 {
			t.Fatalf("record %d (%v): effects %+v", i, State(v.State), e)
		}
		w := e.Writes[0]
		b := record.NewBuilder(record.None, record.BuilderOptions{BaseOffset: int64(i), Producer: w.Producer})
		// Kafka reads its clock again between value and batch; so the batch's time is given here.
		b.Append(batches[i].BaseTimestamp(), w.Records[0].Key, w.Records[0].Value, nil)
		if d := cmp.Diff([]byte(batches[i]), b.Build()); d != "" {
			t.Errorf("record %d (%v) differs from Kafka's (-want +got):\n%s", i, State(v.State), d)
		}
		s.Appended(s.now, w.Tag, int64(i))
		s.Committed(s.now, w.Tag)
	}
}

func TestShard_KafkasRecords_Loaded(t *testing.T) {
	_, records := kafkaRecords(t)
	s := NewShard(DefaultConfig(), 3)
	for _, r := range records {
		if err := s.Load(r); err != nil {
			t.Error(err)
		}
	}
	now := time.UnixMilli(1795970300000)
	if e := s.Loaded(now); len(e.Outside) > 0 {
		t.Errorf("markers for finished transactions: %+v", e.Outside)
	}
	got := s.List(now, 1, Filter{OpenFor: -1}).Replies[0].Body
	want := []Listing{{"tx1", 5, "CompleteCommit"}, {"tx2", 6, "CompleteCommit"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Loaded up to each record in turn: what is decided is finished by the next coordinator.
	for i := range records {
		s := NewShard(DefaultConfig(), 3)
		for _, r := range records[:i+1] {
			if err := s.Load(r); err != nil {
				t.Error(err)
			}
		}
		var v kmsg.TxnMetadataValue
		if err := v.ReadFrom(records[i].Value); err != nil {
			t.Fatal(err)
		}
		e := s.Loaded(now)
		if State(v.State).preparing() != (len(e.Outside) == 1) {
			t.Errorf("after record %d in state %v: %+v", i, State(v.State), e.Outside)
		}
	}
}
