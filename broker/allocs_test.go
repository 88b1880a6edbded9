//go:build !race

// The race detector makes sync.Pool forget on purpose, so that allocations say nothing.

package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/protocol/record"
)

// mostAllocations is what one request of one partition may allocate on its whole way through the broker.
const mostAllocations = 12

func TestProduceAndFetch_OnePartition_FewAllocations(t *testing.T) {
	r := start(t, t.TempDir())
	createTopic(t, r, "hot", 1)
	client := r.client(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "hot", Value: make([]byte, 100)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c := rawConn(t, r)
	in := make([]byte, 64<<10)
	batch := firstBatch(t, exchange(t, c, protocol.AppendRequest(nil, "test", 1, fetchOf("hot")), in))
	for name, req := range map[string]kmsg.Request{"produce": produceOf("hot", batch), "fetch": fetchOf("hot")} {
		out := protocol.AppendRequest(nil, "test", 1, req)
		if n := testing.AllocsPerRun(500, func() { exchange(t, c, out, in) }); n > mostAllocations {
			t.Errorf("%s: %v allocations, want at most %d", name, n, mostAllocations)
		}
	}
}

// Requests that come together share what one of them allocates for its append.
func TestProduce_RequestsThatCameTogether_FewAllocations(t *testing.T) {
	const requests, most = 20, 8
	r := start(t, t.TempDir())
	createTopic(t, r, "hot", 1)
	c := rawConn(t, r)
	in := make([]byte, 64<<10)
	var out []byte
	for i := range requests {
		out = protocol.AppendRequest(out, "test", int32(i), produceOf("hot", plainBatch()))
	}
	n := testing.AllocsPerRun(200, func() {
		exchange(t, c, out, in)
		for range requests - 1 {
			exchange(t, c, nil, in)
		}
	})
	if n/requests > most {
		t.Errorf("%v allocations for %d requests, want at most %d for each", n, requests, most)
	}
}

func plainBatch() []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{})
	b.Append(1, nil, make([]byte, 100), nil)
	return b.Build()
}

// fetchOf asks for the first record of partition 0.
func fetchOf(topic string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.SessionEpoch = 11, 1, 1, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.CurrentLeaderEpoch = 1, -1
	ft.Partitions = append(ft.Partitions, p)
	req.Topics = append(req.Topics, ft)
	return req
}

// firstBatch takes the records out of an answer to fetchOf.
func firstBatch(t *testing.T, answer []byte) []byte {
	t.Helper()
	resp := kmsg.FetchResponse{Version: 11}
	if err := resp.ReadFrom(answer[4:]); err != nil {
		t.Fatal(err)
	}
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
		t.Fatalf("fetch: error %d, %d bytes", p.ErrorCode, len(p.RecordBatches))
	}
	return append([]byte(nil), p.RecordBatches...)
}
