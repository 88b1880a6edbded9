package broker_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
	"jackdaw/protocol/record"
)

// batchOf is a batch of one record of producer 77, sequence seq.
func batchOf(seq int32) []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{Producer: &record.Producer{ID: 77, BaseSequence: seq}})
	b.Append(1, nil, []byte("a"), nil)
	return b.Build()
}

// Requests of one connection that come together are appended together, and each hears what it would have heard alone.
func TestProduce_RequestsThatCameTogether_EachAnsweredInOrder(t *testing.T) {
	r := start(t, t.TempDir())
	createTopic(t, r, "joined", 2)
	type sent struct {
		partition int32
		acks      int16
		batch     []byte
		want      int64
		err       error
	}
	list := []sent{
		{0, 1, batchOf(0), 0, nil},
		{0, 1, batchOf(1), 1, nil},
		{1, 1, batchOf(0), 0, nil},
		{0, -1, batchOf(2), 2, nil},
		{0, -1, batchOf(3), 3, nil},
		{0, 1, batchOf(3), 3, nil}, // a duplicate
		{0, 1, batchOf(8), -1, kerr.OutOfOrderSequenceNumber},
		{9, 1, batchOf(4), -1, kerr.UnknownTopicOrPartition},
		{0, 0, batchOf(4), 0, nil},
		{0, 7, batchOf(5), -1, kerr.InvalidRequiredAcks},
		{0, 1, []byte("no batch"), -1, kerr.InvalidRecord},
		{0, 1, batchOf(5), 5, nil},
	}
	var out []byte
	for i, s := range list {
		req := produceOf("joined", s.batch)
		req.Acks, req.Topics[0].Partitions[0].Partition = s.acks, s.partition
		out = protocol.AppendRequest(out, "test", int32(i), req)
	}
	c := rawConn(t, r)
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, 4096)
	for i, s := range list {
		if s.acks == 0 {
			continue
		}
		answer := exchange(t, c, nil, in)
		resp := kmsg.ProduceResponse{Version: 7}
		if err := resp.ReadFrom(answer[4:]); err != nil || answer[3] != byte(i) {
			t.Fatalf("request %d: answer to %d, %v", i, answer[3], err)
		}
		p := resp.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(p.ErrorCode); !errors.Is(err, s.err) || p.BaseOffset != s.want {
			t.Errorf("request %d: offset %d, %v; want %d, %v", i, p.BaseOffset, err, s.want, s.err)
		}
	}
}
