//go:build compat

package compat

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// fetchSizes runs one Fetch and returns the bytes by partition; an error anywhere fails the test.
func fetchSizes(t *testing.T, addr string, version int16, maxBytes, partitionBytes int32, topic string, order ...int32) map[int32]int {
	t.Helper()
	var positions []wire.Position
	for _, p := range order {
		positions = append(positions, wire.Position{Topic: topic, Partition: p, MaxBytes: partitionBytes})
	}
	req := wire.NewFetch(positions...)
	req.MaxBytes = maxBytes
	r := ask[*kmsg.FetchResponse](t, addr, req, version)
	sizes := map[int32]int{}
	for _, p := range r.Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Errorf("partition %d: error %d", p.Partition, p.ErrorCode)
		}
		sizes[p.Partition] = len(p.RecordBatches)
	}
	if len(sizes) != len(order) {
		t.Errorf("%d partitions answered, want %d", len(sizes), len(order))
	}
	return sizes
}

func TestFetchSize_FirstPartitionMakesProgress(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 5, 1)
	big := sized(t, 1<<20-200)
	if p := produceOne(t, addr, topic, 0, 1, big); p.ErrorCode != 0 {
		t.Fatalf("error %d", p.ErrorCode)
	}
	small := wire.Values("small").Encode()
	for p := int32(1); p <= 3; p++ {
		produceOne(t, addr, topic, p, 1, small)
	}
	// The first partition with data gives its first batch though it is larger than both limits; nothing is left for the others.
	if got := fetchSizes(t, addr, 11, 1024, 1024, topic, 0, 1, 2, 3); got[0] != len(big) || got[1]+got[2]+got[3] != 0 {
		t.Errorf("order 0 1 2 3: %v bytes, want the whole batch of partition 0 alone", got)
	}
	if got := fetchSizes(t, addr, 11, 1024, 1024, topic, 4, 0, 1); got[4] != 0 || got[0] != len(big) || got[1] != 0 {
		t.Errorf("order 4 0 1: %v bytes, want the empty one to be passed over", got)
	}
	// A later partition gives data only within what is left.
	if got := fetchSizes(t, addr, 11, 1024, 1024, topic, 1, 0, 2, 3); got[1] != len(small) || got[0] != 0 || got[2] != len(small) || got[3] != len(small) {
		t.Errorf("order 1 0 2 3: %v bytes, want %d of each but partition 0", got, len(small))
	}
	if got := fetchSizes(t, addr, 11, 0, 1<<20, topic, 1, 2); got[1] != len(small) || got[2] != 0 {
		t.Errorf("max_bytes 0: %v bytes", got)
	}
	if got := fetchSizes(t, addr, 11, 1<<20, 1, topic, 2, 1); got[2] != len(small) || got[1] != 0 {
		t.Errorf("partition_max_bytes 1: %v bytes", got)
	}
}

func TestFetchSize_OldVersions_CutHard(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	needVersion(t, addr, kmsg.Fetch, 2)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	mustProduce(t, addr, topic, 0, 1, wire.Values(string(make([]byte, 100000))))
	if got := fetchSizes(t, addr, 2, 1024, 1024, topic, 0); got[0] > 1024 {
		t.Errorf("%d bytes at v2 with a limit of 1024", got[0])
	}
}

func TestFetchSize_Waits(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	fetch := func(minBytes, maxWait int32) time.Duration {
		req := wire.NewFetch(wire.Position{Topic: topic})
		req.MinBytes, req.MaxWaitMillis = minBytes, maxWait
		began := time.Now()
		p := ask[*kmsg.FetchResponse](t, addr, req, 11).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || len(p.RecordBatches) != 0 {
			t.Errorf("error %d, %d bytes", p.ErrorCode, len(p.RecordBatches))
		}
		return time.Since(began)
	}
	if took := fetch(0, 3000); took > 1500*time.Millisecond {
		t.Errorf("min_bytes 0 waited %v", took)
	}
	if took := fetch(1, 0); took > 1500*time.Millisecond {
		t.Errorf("max_wait 0 waited %v", took)
	}
	if took := fetch(1, 700); took < 650*time.Millisecond || took > 3*time.Second {
		t.Errorf("max_wait 700 ms waited %v", took)
	}
	// Data ends the wait.
	req := wire.NewFetch(wire.Position{Topic: topic})
	req.MaxWaitMillis = 12000
	conn := dial(t, addr)
	began := time.Now()
	id, err := conn.WriteRequest(req, 11)
	if err != nil {
		t.Fatal(err)
	}
	mustProduce(t, addr, topic, 0, 1, wire.Values("v"))
	r, err := conn.ReadResponse(req, id, wire.Timeout)
	if err != nil || len(r.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Fatalf("woken fetch: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("data woke the fetch after %v", took)
	}
}

// TestFetchSize_BrokerCap: the broker's fetch.max.bytes bounds an answer whatever the request says.
func TestFetchSize_BrokerCap(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"fetch.max.bytes": "1048576"}})
	b := c.Brokers[0]
	topic := topicName(t)
	const partitions = 200
	createTopic(t, c, topic, partitions, 1)
	chunk := wire.Values(string(make([]byte, 100<<10))).Encode()
	var order []int32
	for p := range int32(partitions) {
		order = append(order, p)
	}
	for ids := range slices.Chunk(order, 50) {
		var parts []wire.Part
		for _, p := range ids {
			parts = append(parts, wire.Part{Topic: topic, Partition: p, Records: chunk})
		}
		ask[*kmsg.ProduceResponse](t, b.Addr(), wire.NewProduce(1, parts...), 9)
	}
	before := rss(t, b)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			total := 0
			for _, n := range fetchSizes(t, b.Addr(), 11, 0x7fffffff, 10<<20, topic, order...) {
				total += n
			}
			if total == 0 || total > 1<<20+len(chunk) {
				t.Errorf("an answer of %d bytes with a cap of 1 MiB", total)
			}
		})
	}
	all.Wait()
	if grown := rss(t, b) - before; grown > 200<<20 && cluster.Target() == cluster.Jackdaw {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
}
