package protocol

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// memFile is a File in memory, without descriptor.
type memFile struct{ *bytes.Reader }

func (memFile) Fd() (uintptr, bool) { return 0, false }

func randomFetch(r *rand.Rand) *FetchResponse {
	resp := &FetchResponse{ThrottleMs: r.Int32(), ErrorCode: int16(r.Int32()), SessionID: r.Int32()}
	for range r.IntN(4) {
		topic := FetchTopic{Topic: strings.Repeat("t", r.IntN(249)), TopicID: [16]byte{byte(r.Int32())}}
		for range r.IntN(4) {
			topic.Partitions = append(topic.Partitions, randomPartition(r))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	rack := strings.Repeat("r", r.IntN(200))
	for range r.IntN(4) {
		resp.Nodes = append(resp.Nodes, FetchNode{NodeID: r.Int32(), Host: strings.Repeat("h", r.IntN(200)), Port: r.Int32(), Rack: &rack}, FetchNode{})
	}
	return resp
}

func randomPartition(r *rand.Rand) FetchPartition {
	p := NoFetchPartition(r.Int32(), int16(r.Int32()))
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = r.Int64(), r.Int64(), r.Int64()
	p.PreferredReadReplica = r.Int32()
	if r.IntN(2) == 0 {
		p.DivergingEpoch = DivergingEpoch{Epoch: r.Int32(), EndOffset: r.Int64()}
	}
	if r.IntN(2) == 0 {
		p.CurrentLeader = LeaderID{LeaderID: r.Int32(), LeaderEpoch: r.Int32()}
	}
	if r.IntN(2) == 0 {
		p.Aborted = []AbortedTransaction{}
		for range r.IntN(200) {
			p.Aborted = append(p.Aborted, AbortedTransaction{r.Int64(), r.Int64()})
		}
	}
	data := bytes.Repeat([]byte{byte(r.Int32())}, r.IntN(20000))
	switch r.IntN(3) {
	case 0:
		p.Bytes = data
	case 1:
		pos := r.IntN(len(data) + 1)
		p.Records = FileRange{File: memFile{bytes.NewReader(data)}, Pos: int64(pos), Len: len(data) - pos}
	}
	return p
}

func toKmsg(resp *FetchResponse) *kmsg.FetchResponse {
	k := kmsg.NewPtrFetchResponse()
	k.ThrottleMillis, k.ErrorCode, k.SessionID = resp.ThrottleMs, resp.ErrorCode, resp.SessionID
	for _, t := range resp.Topics {
		kt := kmsg.FetchResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			kp := kmsg.NewFetchResponseTopicPartition()
			kp.Partition, kp.ErrorCode, kp.HighWatermark = p.Partition, p.ErrorCode, p.HighWatermark
			kp.LastStableOffset, kp.LogStartOffset, kp.PreferredReadReplica = p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica
			kp.DivergingEpoch.Epoch, kp.DivergingEpoch.EndOffset = p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset
			kp.CurrentLeader.LeaderID, kp.CurrentLeader.LeaderEpoch = p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch
			if p.Aborted != nil {
				kp.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			for _, a := range p.Aborted {
				kp.AbortedTransactions = append(kp.AbortedTransactions,
					kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
			}
			kp.RecordBatches = append([]byte{}, p.Bytes...)
			if p.Records.File != nil {
				kp.RecordBatches = readRange(p.Records)
			}
			kt.Partitions = append(kt.Partitions, kp)
		}
		k.Topics = append(k.Topics, kt)
	}
	for _, n := range resp.Nodes {
		k.Brokers = append(k.Brokers, kmsg.FetchResponseBroker{NodeID: n.NodeID, Host: n.Host, Port: n.Port, Rack: n.Rack})
	}
	return k
}

func readRange(f FileRange) []byte {
	p := make([]byte, f.Len)
	if _, err := f.File.ReadAt(p, f.Pos); err != nil && f.Len > 0 {
		panic(err)
	}
	return p
}

// Whatever the response, FetchWriter and kmsg agree on every byte.
func TestFetchWriter_EveryVersion_AsKmsg(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	var w FetchWriter
	for range 100 {
		resp := randomFetch(r)
		for v := int16(0); v <= 17; v++ {
			k := toKmsg(resp)
			if v < 16 {
				k.Brokers = nil // kmsg writes them from v12 on, Kafka from v16 on.
			}
			h := Header{Key: 1, Version: v, CorrelationID: r.Int32()}
			want := AppendResponse(nil, h, k)
			var got []byte
			for _, p := range w.Build(h, resp) {
				if p.Range.File != nil {
					got = append(got, readRange(p.Range)...)
				} else {
					got = append(got, p.Bytes...)
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("v%d: %d bytes, want %d", v, len(got), len(want))
			}
		}
	}
}

func TestFetchWriter_Reused_DoesNotAllocate(t *testing.T) {
	p := NoFetchPartition(0, 0)
	p.Records = FileRange{File: memFile{bytes.NewReader(make([]byte, 100))}, Len: 100}
	resp := &FetchResponse{Topics: []FetchTopic{{Topic: "t", Partitions: []FetchPartition{p, p}}}}
	var w FetchWriter
	if n := testing.AllocsPerRun(100, func() { w.Build(Header{Key: 1, Version: 17}, resp) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestProduce_Decode_FewAllocations(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "topic", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 1000)}}}}
	wire := AppendRequest(nil, "client", 1, req)[4:]
	n := testing.AllocsPerRun(100, func() {
		h, body, err := ParseRequest(wire)
		if err == nil {
			_, err = DecodeBody(h, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if n > 8 { // client id, request, topics, topic name, partitions; more under -race
		t.Errorf("%v allocations", n)
	}
}
