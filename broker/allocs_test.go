//go:build !race

// The race detector makes sync.Pool forget on purpose, so that allocations say nothing.

package broker_test

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
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

func rawConn(t *testing.T, r *running) net.Conn {
	t.Helper()
	e := r.Endpoints()[0]
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends a request and reads its answer into in.
func exchange(t *testing.T, c net.Conn, out, in []byte) []byte {
	t.Helper()
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, in[:4]); err != nil {
		t.Fatal(err)
	}
	in = in[:binary.BigEndian.Uint32(in)]
	if _, err := io.ReadFull(c, in); err != nil {
		t.Fatal(err)
	}
	return in
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

// produceOf produces a batch to partition 0, acks=1.
func produceOf(topic string, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 7, 1, 1000
	pt := kmsg.NewProduceRequestTopic()
	pt.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	pt.Partitions = append(pt.Partitions, p)
	req.Topics = append(req.Topics, pt)
	return req
}
