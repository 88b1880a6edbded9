//go:build compat

package compat

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// producerID asks for a fresh idempotent producer.
func producerID(t *testing.T, addr string) int64 {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 60000, -1, -1
	var id int64
	cluster.Eventually(t, 15*time.Second, "producer id", func() error {
		r, err := wire.Ask[*kmsg.InitProducerIDResponse](addr, req, 4)
		if err != nil {
			return err
		}
		if r.ErrorCode == 0 && r.ProducerEpoch != 0 {
			t.Errorf("a fresh producer has epoch %d", r.ProducerEpoch)
		}
		id = r.ProducerID
		return kerr.ErrorForCode(r.ErrorCode) // 14 while the broker fetches its block of ids
	})
	return id
}

// sequenced sends one record of a producer with acks=all and checks error and base offset (-1 with an error).
func sequenced(t *testing.T, addr, topic string, id int64, epoch int16, sequence int32, wantCode int16, wantOffset int64) {
	t.Helper()
	p := produceOne(t, addr, topic, 0, -1, wire.Values("v").Producer(id, epoch, sequence).Encode())
	if p.ErrorCode != wantCode || p.BaseOffset != wantOffset {
		t.Errorf("producer %d epoch %d sequence %d: error %d at %d, want %d at %d", id, epoch, sequence, p.ErrorCode, p.BaseOffset, wantCode, wantOffset)
	}
}

func TestProducerIDs_DifferOverBrokersAndRequests(t *testing.T) {
	c := three(t)
	seen := map[int64]bool{}
	for range 3 {
		for _, b := range c.Brokers {
			id := producerID(t, b.Addr())
			if seen[id] || id < 0 {
				t.Errorf("producer id %d given twice", id)
			}
			seen[id] = true
		}
	}
}

func TestIdempotence_DuplicatesGapsAndEpochs(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	id := producerID(t, addr)
	for s := range int32(10) {
		sequenced(t, addr, topic, id, 0, s, 0, int64(s))
	}
	for _, s := range []int32{9, 7, 5} { // the last five batches are known: answered with their own offset
		sequenced(t, addr, topic, id, 0, s, 0, int64(s))
	}
	sequenced(t, addr, topic, id, 0, 4, 45, -1)
	sequenced(t, addr, topic, id, 0, 12, 45, -1)
	sequenced(t, addr, topic, id, 0, 10, 0, 10)
	if end := endOffset(t, addr, topic, 0); end != 11 {
		t.Errorf("end %d, want 11: no duplicate and no gap is appended", end)
	}
	sequenced(t, addr, topic, id, 1, 5, 45, -1) // a new epoch begins at 0
	sequenced(t, addr, topic, id, 1, 0, 0, 11)
	sequenced(t, addr, topic, id, 0, 11, 47, -1) // an older epoch is fenced
	sequenced(t, addr, topic, id, -1, 0, 47, -1)
	sequenced(t, addr, topic, 424242, 0, 7, 0, 12) // a producer nobody knows may start anywhere (KIP-360)

	empty := topic + "-empty"
	createTopic(t, c, empty, 1, 1)
	sequenced(t, addr, empty, 424242, 0, 7, 0, 0)
	sequenced(t, addr, empty, 424242, 0, 9, 45, -1)
	sequenced(t, addr, empty, 424242, 0, 8, 0, 1)
}

func TestIdempotence_SequenceWrapsAround(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	sequenced(t, addr, topic, 515151, 0, 2147483647, 0, 0)
	sequenced(t, addr, topic, 515151, 0, 0, 0, 1)
	sequenced(t, addr, topic, 515151, 0, 2, 45, -1)
}

// TestIdempotence_StateBelongsToTheLog: what a partition knows about producers survives restarts and crashes and moves with the leadership.
func TestIdempotence_StateBelongsToTheLog(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 2, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2})
	first, second := c.Broker(1), c.Broker(2)
	id := producerID(t, first.Addr())
	for s := range int32(10) {
		sequenced(t, first.Addr(), topic, id, 0, s, 0, int64(s))
	}

	if err := first.Stop(); err != nil { // leadership moves
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 1)
	sequenced(t, second.Addr(), topic, id, 0, 9, 0, 9)
	sequenced(t, second.Addr(), topic, id, 0, 7, 0, 7)
	sequenced(t, second.Addr(), topic, id, 0, 10, 0, 10)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, 0, 30*time.Second, 1, 2)

	if err := second.Kill(); err != nil { // and back, after a crash
		t.Fatal(err)
	}
	if _, err := c.Tree.WaitState(topic, 0, 30*time.Second, "leader 1", func(s cluster.PartitionState) bool { return s.Leader == 1 }); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 1)
	sequenced(t, first.Addr(), topic, id, 0, 10, 0, 10)
	sequenced(t, first.Addr(), topic, id, 0, 13, 45, -1)
	sequenced(t, first.Addr(), topic, id, 0, 11, 0, 11)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c, first)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, topic, 1)
	sequenced(t, first.Addr(), topic, id, 0, 11, 0, 11)
	sequenced(t, first.Addr(), topic, id, 0, 12, 0, 12)
}

// TestIdempotence_Expiry_ItsOwnNotTheTransactionalOne: a producer that was silent for producer.id.expiration.ms is forgotten and let in
// at any sequence; transactional.id.expiration.ms is none of its business.
func TestIdempotence_Expiry_ItsOwnNotTheTransactionalOne(t *testing.T) {
	t.Parallel() // it mostly waits
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{
		"producer.id.expiration.ms":                                  "7000",
		"producer.id.expiration.check.interval.ms":                   "500",
		"transactional.id.expiration.ms":                             "1000",
		"transaction.remove.expired.transaction.cleanup.interval.ms": "500",
	}})
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	addr := c.Brokers[0].Addr()
	id := producerID(t, addr)
	sequenced(t, addr, topic, id, 0, 0, 0, 0)
	sequenced(t, addr, topic, id, 0, 1, 0, 1)
	pause(t, 2500*time.Millisecond)
	sequenced(t, addr, topic, id, 0, 99, 45, -1)
	pause(t, 6*time.Second)
	sequenced(t, addr, topic, id, 0, 99, 0, 2)
}
