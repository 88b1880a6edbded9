//go:build compat

package compat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// produceSet appends records at a version of Produce and returns the answer for the only partition.
func produceSet(t *testing.T, c *cluster.Cluster, topic string, version int16, records []byte) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	r := ask[*kmsg.ProduceResponse](t, c.Brokers[0].Addr(), wire.NewProduce(1, wire.Part{Topic: topic, Records: records}), version)
	return r.Topics[0].Partitions[0]
}

// fetchAt fetches from partition 0 at a version of Fetch.
func fetchAt(t *testing.T, c *cluster.Cluster, topic string, version int16, offset int64, maxBytes int32) kmsg.FetchResponseTopicPartition {
	t.Helper()
	r := ask[*kmsg.FetchResponse](t, c.Brokers[0].Addr(), wire.NewFetch(wire.Position{Topic: topic, Offset: offset, MaxBytes: maxBytes}), version)
	return r.Topics[0].Partitions[0]
}

// oldRow is what all formats have of a record.
type oldRow struct {
	Offset     int64
	Timestamp  int64
	Key, Value string // "<null>" for null
}

func text(p []byte) string {
	if p == nil {
		return "<null>"
	}
	return string(p)
}

// oldRows reads a partition by Fetch v0 to v3; each message has to be of the format of that version.
func oldRows(t *testing.T, c *cluster.Cluster, topic string, version int16) []oldRow {
	t.Helper()
	var rows []oldRow
	end := endOffset(t, c.Brokers[0].Addr(), topic, 0)
	for at := int64(0); at < end; {
		p := fetchAt(t, c, topic, version, at, 0)
		messages, _, bad := wire.Messages(p.RecordBatches) // Kafka fills up what it has promised with a part of a message
		if p.ErrorCode != 0 || len(messages) == 0 || bad {
			t.Fatalf("fetch v%d at %d: error %d, %d messages, bad %v", version, at, p.ErrorCode, len(messages), bad)
		}
		for _, m := range messages {
			if want := byte(version / 2); m.Magic != want || m.Offset < at {
				t.Fatalf("fetch v%d at %d: message of format %d at offset %d", version, at, m.Magic, m.Offset)
			}
			ts := m.Timestamp
			if m.Magic == 0 {
				ts = -1
			}
			rows = append(rows, oldRow{m.Offset, ts, text(m.Key), text(m.Value)})
			at = m.Offset + 1
		}
	}
	return rows
}

// newRows reads a partition by a current client.
func newRows(t *testing.T, c *cluster.Cluster, topic string) []oldRow {
	t.Helper()
	end := endOffset(t, c.Brokers[0].Addr(), topic, 0)
	cl := client(t, c, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}), kgo.FetchMaxWait(200*time.Millisecond))
	var rows []oldRow
	for len(rows) == 0 || rows[len(rows)-1].Offset < end-1 {
		f := cl.PollFetches(t.Context())
		if err := f.Err0(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			rows = append(rows, oldRow{r.Offset, r.Timestamp.UnixMilli(), text(r.Key), text(r.Value)})
		})
	}
	return rows
}

// S06: sets of one, two and fifty messages in both formats, with nulls, come back the same in every format there is.
func TestOldFormats_MessageSets_ReadBackInEveryFormat(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	var want []oldRow
	now := time.Now().UnixMilli()
	for version := range int16(3) {
		magic := byte(version / 2)
		for _, n := range []int{1, 2, 50} {
			var messages []wire.Message
			first := int64(len(want))
			for i := range n {
				m := wire.Message{Key: fmt.Appendf(nil, "k%d", i), Value: []byte(strings.Repeat("v", i*7)), Timestamp: now + int64(i)}
				switch i % 5 {
				case 1:
					m.Key = nil
				case 3:
					m.Value = nil
				}
				messages = append(messages, m)
				ts := int64(-1)
				if magic == 1 {
					ts = m.Timestamp
				}
				want = append(want, oldRow{int64(len(want)), ts, text(m.Key), text(m.Value)})
			}
			if p := produceSet(t, c, topic, version, wire.MessageSet(magic, messages...)); p.ErrorCode != 0 || p.BaseOffset != first {
				t.Fatalf("produce v%d of %d messages: error %d, base offset %d, want %d", version, n, p.ErrorCode, p.BaseOffset, first)
			}
		}
	}
	if diff := cmp.Diff(want, newRows(t, c, topic)); diff != "" {
		t.Errorf("a current client (-want +got):\n%s", diff)
	}
	for version := range int16(4) {
		wanted := want
		if version < 2 {
			wanted = slices.Clone(want)
			for i := range wanted {
				wanted[i].Timestamp = -1
			}
		}
		if diff := cmp.Diff(wanted, oldRows(t, c, topic, version)); diff != "" {
			t.Errorf("fetch v%d (-want +got):\n%s", version, diff)
		}
	}
}

// S06, S07: what is refused, and that nothing of it is appended.
func TestOldFormats_BadMessageSets_Refused(t *testing.T) {
	c := one(t)
	topic, compact := topicName(t), topicName(t)+"-compact"
	createTopic(t, c, topic, 1, 1)
	createTopic(t, c, compact, 1, 1, "cleanup.policy", "compact")
	ok := wire.Message{Key: []byte("k"), Value: []byte("v"), Timestamp: 1}
	broken, zstd := ok, ok
	broken.BadCRC = true
	zstd.Attributes = 4
	inner := wire.Message{Attributes: 1, Value: gzipped(wire.MessageSet(1, ok, ok)), Timestamp: 1}
	for _, tc := range []struct {
		name    string
		topic   string
		version int16
		records []byte
		want    int16
	}{
		{"wrong checksum in the second of three", topic, 2, wire.MessageSet(1, ok, broken, ok), 2},
		{"wrong checksum, format 0", topic, 0, wire.MessageSet(0, ok, ok, broken), 2},
		{"zstd in format 1", topic, 2, wire.MessageSet(1, zstd), 87},
		{"a compressed message beside others", topic, 2, wire.MessageSet(1, inner, ok), 87},
		{"no key in a compacted topic", compact, 2, wire.MessageSet(1, ok, wire.Message{Value: []byte("v")}), 87},
		{"format 1 in Produce v3", topic, 3, wire.MessageSet(1, ok), 87},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if p := produceSet(t, c, tc.topic, tc.version, tc.records); p.ErrorCode != tc.want || p.BaseOffset != -1 {
				t.Errorf("error %d, base offset %d, want %d, -1", p.ErrorCode, p.BaseOffset, tc.want)
			}
			if end := endOffset(t, c.Brokers[0].Addr(), tc.topic, 0); end != 0 {
				t.Errorf("log end %d", end)
			}
		})
	}
	if p := produceSet(t, c, topic, 2, wire.MessageSet(1, inner)); p.ErrorCode != 0 {
		t.Errorf("a compressed message alone: error %d", p.ErrorCode)
	}
	if got := newRows(t, c, topic); len(got) != 2 || got[1].Value != "v" {
		t.Errorf("out of the compressed message came %v", got)
	}
}

func gzipped(p []byte) []byte {
	b := wire.NewBatch()
	b.Records = p
	return b.Gzip().Records
}

// Every codec, written by a current client, for consumers of every old version.
func TestOldFormats_CurrentBatches_DownConverted(t *testing.T) {
	c := one(t)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
		t.Run(codec, func(t *testing.T) {
			topic := topicName(t)
			createTopic(t, c, topic, 1, 1)
			cl := client(t, c, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(franzCodec(codec)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			franzProduce(t, cl, topic, 0, series("old", 20))
			for _, version := range []int16{0, 2, 3} {
				p := fetchAt(t, c, topic, version, 0, 0)
				messages, _, bad := wire.Messages(p.RecordBatches)
				if p.ErrorCode != 0 || bad || len(messages) == 0 {
					t.Fatalf("v%d: error %d, %d messages, bad %v", version, p.ErrorCode, len(messages), bad)
				}
			}
			for _, version := range saramaOld {
				if codec == "lz4" && !version.IsAtLeast(sarama.V0_10_0_0) {
					continue // format 0 has a wrong lz4 header checksum (KAFKA-3160), which sarama does not expect
				}
				if got := saramaReadAs(t, c, version, topic, 20); !slices.Equal(got, series("old", 20)) {
					t.Errorf("sarama %s reads %v", version, got)
				}
			}
		})
	}
}

// Zstd has no old form; a topic may forbid conversion.
func TestOldFormats_NoConversion_ErrorsOfThePartition(t *testing.T) {
	c := one(t)
	topic, never := topicName(t), topicName(t)+"-never"
	createTopic(t, c, topic, 1, 1)
	createTopic(t, c, never, 1, 1, "message.downconversion.enable", "false")
	mustProduce(t, c.Brokers[0].Addr(), never, 0, 1, wire.Values("a"))
	for version := range int16(5) {
		want := int16(35)
		if version == 4 {
			want = 0
		}
		if p := fetchAt(t, c, never, version, 0, 0); p.ErrorCode != want || (want != 0 && len(p.RecordBatches) > 0) {
			t.Errorf("message.downconversion.enable=false, fetch v%d: error %d with %d bytes, want %d", version, p.ErrorCode, len(p.RecordBatches), want)
		}
	}
	cl := client(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	franzProduce(t, cl, topic, 0, []string{"plain"})
	cl = client(t, c, kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	franzProduce(t, cl, topic, 0, []string{strings.Repeat("zstd", 100)})
	for _, version := range []int16{1, 2} {
		if p := fetchAt(t, c, topic, version, 0, 0); p.ErrorCode != 0 || !bytes.Contains(p.RecordBatches, []byte("plain")) {
			t.Errorf("fetch v%d before the zstd batch: error %d, %d bytes", version, p.ErrorCode, len(p.RecordBatches))
		}
		if p := fetchAt(t, c, topic, version, 1, 0); p.ErrorCode != 76 {
			t.Errorf("fetch v%d at the zstd batch: error %d, want 76", version, p.ErrorCode)
		}
	}
}

// S11 for v0 to v2: the limit holds for the first batch too, and its reader can tell an end from a limit.
func TestOldFormats_LimitBelowTheFirstBatch_CutMessage(t *testing.T) {
	jackdawOnly(t, "it answers with nothing, and the consumer never learns why")
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	mustProduce(t, c.Brokers[0].Addr(), topic, 0, 1, wire.Values(strings.Repeat("x", 5000)))
	for version := range int16(3) {
		p := fetchAt(t, c, topic, version, 0, 1000)
		messages, cut, bad := wire.Messages(p.RecordBatches)
		if p.ErrorCode != 0 || len(messages) > 0 || !cut || bad || len(p.RecordBatches) > 1000 {
			t.Errorf("fetch v%d: error %d, %d bytes, %d messages, cut %v", version, p.ErrorCode, len(p.RecordBatches), len(messages), cut)
		}
		if p := fetchAt(t, c, topic, version, 1, 1000); p.ErrorCode != 0 || len(p.RecordBatches) > 0 {
			t.Errorf("fetch v%d at the end: error %d, %d bytes", version, p.ErrorCode, len(p.RecordBatches))
		}
	}
	if p := fetchAt(t, c, topic, 3, 0, 1000); p.ErrorCode != 0 || len(p.RecordBatches) < 5000 {
		t.Errorf("fetch v3, where the limit is soft: error %d, %d bytes", p.ErrorCode, len(p.RecordBatches))
	}
}
