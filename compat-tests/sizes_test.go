//go:build compat

package compat

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// sized returns an encoded batch of one record with exactly n bytes that do not compress.
func sized(t *testing.T, n int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	for size := n - 200; size < n; size++ {
		if p := wire.Values(string(value[:size])).Encode(); len(p) == n {
			return p
		}
	}
	t.Fatalf("no batch of %d bytes", n)
	return nil
}

func TestSizes_LimitCountsTheBatchAsSent(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 2, 1, "max.message.bytes", "10000", "segment.bytes", "1048576")
	compressed := wire.Values(strings.Repeat("x", 200<<10)).Gzip().Encode()
	if len(compressed) > 5000 {
		t.Fatalf("the gzip batch has %d bytes", len(compressed))
	}
	many := wire.Values(strings.Split(strings.Repeat(strings.Repeat("y", 800)+" ", 20), " ")...).Encode()
	for _, row := range []struct {
		name    string
		records []byte
		want    int16
	}{
		{"9999 bytes", sized(t, 9999), 0},
		{"10000 bytes", sized(t, 10000), 0},
		{"10001 bytes", sized(t, 10001), 10},
		{"50000 bytes", sized(t, 50000), 10},
		{"200 KiB in a small gzip batch", compressed, 0},
		{"20 small records in one batch", many, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := wire.NewProduce(1, wire.Part{Topic: topic, Records: row.records}, wire.Part{Topic: topic, Partition: 1, Records: wire.Values("other").Encode()})
			parts := ask[*kmsg.ProduceResponse](t, addr, req, 9).Topics[0].Partitions
			for _, p := range parts {
				if want := map[int32]int16{0: row.want, 1: 0}[p.Partition]; p.ErrorCode != want {
					t.Errorf("partition %d: error %d, want %d", p.Partition, p.ErrorCode, want)
				}
			}
		})
	}
}

func TestSizes_RecompressedResult_CheckedAgain(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "max.message.bytes", "10000", "compression.type", "uncompressed")
	big := wire.Values(strings.Repeat("x", 200<<10)).Gzip().Encode()
	if p := produceOne(t, addr, topic, 0, 1, big); p.ErrorCode != 10 {
		t.Errorf("200 KiB after decompression: error %d, want 10", p.ErrorCode)
	}
	small := wire.Values(strings.Repeat("x", 5000), "y").Gzip()
	mustProduce(t, addr, topic, 0, 1, small)
	stored := fetchBatches(t, addr, topic, 0, 0)
	if len(stored) != 1 || stored[0].Attributes&7 != 0 || stored[0].NumRecords != 2 {
		t.Errorf("stored %d batches, attributes %#x", len(stored), stored[0].Attributes)
	}
}

func TestSizes_BatchLargerThanASegment_Refused(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1, "max.message.bytes", "2097152", "segment.bytes", "1048576")
	if p := produceOne(t, addr, topic, 0, 1, sized(t, 1572864)); p.ErrorCode != 18 {
		t.Errorf("1.5 MiB into segments of 1 MiB: error %d, want 18", p.ErrorCode)
	}
	mustProduce(t, addr, topic, 0, 1, wire.Values("small"))
}

// TestSizes_TopicOverridesBroker: the broker's message.max.bytes (1 MiB by default) gives way to the topic's, both ways, and a batch
// larger than every fetch limit is replicated and read.
func TestSizes_TopicOverridesBroker(t *testing.T) {
	c := three(t)
	big, usual := topicName(t)+"-big", topicName(t)+"-usual"
	createTopic(t, c, big, 1, 3, "max.message.bytes", "3000000")
	createTopic(t, c, usual, 1, 3)
	records := sized(t, 2500000)
	if p := produceOne(t, leaderOf(t, c, usual, 0).Addr(), usual, 0, -1, records); p.ErrorCode != 10 {
		t.Errorf("2.5 MB to a topic with the broker's limit: error %d, want 10", p.ErrorCode)
	}
	leader := leaderOf(t, c, big, 0)
	if p := produceOne(t, leader.Addr(), big, 0, -1, records); p.ErrorCode != 0 { // acks=all: larger than replica.fetch.max.bytes
		t.Errorf("2.5 MB to a topic that allows it: error %d", p.ErrorCode)
	}
	req := wire.NewFetch(wire.Position{Topic: big, MaxBytes: 1000})
	req.MaxBytes = 1000
	if p := ask[*kmsg.FetchResponse](t, leader.Addr(), req, 11).Topics[0].Partitions[0]; len(p.RecordBatches) != len(records) {
		t.Errorf("a consumer with a limit of 1000 bytes got %d of %d", len(p.RecordBatches), len(records))
	}
	checkReplicasEqual(t, c, big, 0)
}
