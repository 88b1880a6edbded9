//go:build compat

package compat

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// TestPipeline_AnswersInOrder: five requests at once on one connection, one of which has to wait and one of which has no answer.
func TestPipeline_AnswersInOrder(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic, group := topicName(t), "g-"+topicName(t)
	createTopic(t, c, topic, 1, 1)
	leader := newMember(t, c, group)
	leader.join(t)
	leader.syncAll(t)

	conn := dial(t, addr)
	write := func(req kmsg.Request, version int16) int32 {
		id, err := conn.WriteRequest(req, version)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	records := wire.Values("v").Encode()
	produce := wire.NewProduce(1, wire.Part{Topic: topic, Records: records})
	join := wire.NewJoin(group, "", "range")
	metadata, heartbeat := wire.NewMetadata(topic), wire.NewHeartbeat("g-none", "ghost", 1)
	write(wire.NewProduce(0, wire.Part{Topic: topic, Records: records}), 9)
	produceID, metadataID := write(produce, 9), write(metadata, 12)
	joinID, heartbeatID := write(join, 3), write(heartbeat, 4)

	r, err := conn.ReadResponse(produce, produceID, wire.Timeout)
	if err != nil {
		t.Fatalf("acks=1 behind acks=0: %v", err)
	}
	if p := r.(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 1 {
		t.Errorf("acks=1 behind acks=0: error %d, base offset %d; want 0 and 1", p.ErrorCode, p.BaseOffset)
	}
	if _, err := conn.ReadResponse(metadata, metadataID, wire.Timeout); err != nil {
		t.Fatalf("metadata: %v", err)
	}
	if _, err := conn.ReadFrame(300 * time.Millisecond); !errors.Is(err, wire.ErrSilent) {
		t.Fatalf("an answer before the group has rejoined: %v", err)
	}
	leader.join(t) // the one the newcomer waits for
	if r, err = conn.ReadResponse(join, joinID, wire.Timeout); err != nil || r.(*kmsg.JoinGroupResponse).ErrorCode != 0 {
		t.Fatalf("join: %+v, %v", r, err)
	}
	if r, err = conn.ReadResponse(heartbeat, heartbeatID, wire.Timeout); err != nil || r.(*kmsg.HeartbeatResponse).ErrorCode != 25 {
		t.Fatalf("heartbeat: %+v, %v", r, err)
	}
}

func TestProduce_Acks0ToUnknownPartition_Closed(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	conn := dial(t, addr)
	if _, err := conn.WriteRequest(wire.NewProduce(0, wire.Part{Topic: topic, Partition: 7, Records: wire.Values("v").Encode()}), 9); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ReadFrame(5 * time.Second); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("acks=0 to an unknown partition: %v, want the connection closed", err)
	}
	checkAlive(t, c)
}

func TestProduce_SomePartitionsBad_EachAnsweredOnce(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	a, b := topicName(t)+"-a", topicName(t)+"-b"
	createTopic(t, c, a, 4, 1)
	createTopic(t, c, b, 2, 1)
	good := wire.Values("v").Encode()
	bad := wire.Values("v").Encode()
	bad[20] ^= 0xff
	want := map[string]int16{}
	var parts []wire.Part
	add := func(topic string, partition int32, records []byte, code int16) {
		parts = append(parts, wire.Part{Topic: topic, Partition: partition, Records: records})
		want[fmt.Sprintf("%s-%d", topic, partition)] = code
	}
	add(a, 0, good, 0)
	add(a, 99, good, 3)
	add(a, 1, bad, 2)
	add(a, 2, good, 0)
	add(a, 3, good, 0)
	add(b, 0, good, 0)
	add(b, 2, good, 3)
	add(b, 1, good, 0)
	r := ask[*kmsg.ProduceResponse](t, addr, wire.NewProduce(-1, parts...), 9)
	got := map[string]int16{}
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			name := fmt.Sprintf("%s-%d", topic.Topic, p.Partition)
			if _, twice := got[name]; twice {
				t.Errorf("%s is answered twice", name)
			}
			got[name] = p.ErrorCode
		}
	}
	for name, code := range want {
		if answer, ok := got[name]; !ok || answer != code {
			t.Errorf("%s: error %d (answered %v), want %d", name, answer, ok, code)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d partitions answered, want %d", len(got), len(want))
	}
	for _, p := range []int32{0, 2, 3} {
		if end := endOffset(t, addr, a, p); end != 1 {
			t.Errorf("good partition %s-%d ends at %d", a, p, end)
		}
	}
	if end := endOffset(t, addr, a, 1); end != 0 {
		t.Errorf("the batch with a wrong CRC was appended: end %d", end)
	}
}

func TestProduce_Acks2_RefusedPerPartition(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 2, 1)
	good := wire.Values("v").Encode()
	for _, acks := range []int16{2, -2, 32767} {
		r := ask[*kmsg.ProduceResponse](t, addr, wire.NewProduce(acks, wire.Part{Topic: topic, Records: good}, wire.Part{Topic: topic, Partition: 1, Records: good}), 9)
		for _, p := range r.Topics[0].Partitions {
			if p.ErrorCode != 21 {
				t.Errorf("acks=%d, partition %d: error %d, want 21", acks, p.Partition, p.ErrorCode)
			}
		}
	}
	if end := endOffset(t, addr, topic, 0); end != 0 {
		t.Errorf("appended in spite of the refusal: end %d", end)
	}
}

// TestProduce_NoReplicaHere_NotLeader: a broker that is no replica of an existing partition says 6, not 3.
func TestProduce_NoReplicaHere_NotLeader(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	leader := leaderOf(t, c, topic, 0)
	for _, b := range c.Brokers {
		if b == leader {
			continue
		}
		if p := produceOne(t, b.Addr(), topic, 0, 1, wire.Values("v").Encode()); p.ErrorCode != 6 {
			t.Errorf("produce at broker %d: error %d, want 6", b.ID, p.ErrorCode)
		}
		f := ask[*kmsg.FetchResponse](t, b.Addr(), wire.NewFetch(wire.Position{Topic: topic}), 12)
		if code := f.Topics[0].Partitions[0].ErrorCode; code != 6 {
			t.Errorf("fetch at broker %d: error %d, want 6", b.ID, code)
		}
	}
}

// TestFetch_CaughtUp_AllPartitionsEveryTime: 4000 fetches of 20 partitions without data have every partition, and no made-up error.
func TestFetch_CaughtUp_AllPartitionsEveryTime(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 20, 1)
	var positions []wire.Position
	for p := range int32(20) {
		positions = append(positions, wire.Position{Topic: topic, Partition: p})
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			conn, err := wire.Dial(addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			for range 1000 {
				req := wire.NewFetch(positions...)
				req.MaxWaitMillis, req.MinBytes = 1, 1
				r, err := conn.Do(req, 11)
				if err == nil {
					err = allEmpty(r.(*kmsg.FetchResponse), 20)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func allEmpty(r *kmsg.FetchResponse, partitions int) error {
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != partitions {
		return fmt.Errorf("error %d, %d topics; want 0 and one with %d partitions", r.ErrorCode, len(r.Topics), partitions)
	}
	for _, p := range r.Topics[0].Partitions {
		if p.ErrorCode != 0 || len(p.RecordBatches) != 0 {
			return fmt.Errorf("partition %d: error %d, %d bytes", p.Partition, p.ErrorCode, len(p.RecordBatches))
		}
	}
	return nil
}
