//go:build compat

package compat

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// fetchBatches reads all batches of a partition from an offset up to the high watermark, as a consumer at Fetch v11.
func fetchBatches(t *testing.T, addr, topic string, partition int32, from int64) []kmsg.RecordBatch {
	t.Helper()
	var all []kmsg.RecordBatch
	for {
		r := ask[*kmsg.FetchResponse](t, addr, wire.NewFetch(wire.Position{Topic: topic, Partition: partition, Offset: from}), 11)
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			t.Fatalf("fetch %s-%d at %d: %v", topic, partition, from, kerr.ErrorForCode(p.ErrorCode))
		}
		batches, err := wire.Batches(p.RecordBatches)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, batches...)
		if len(batches) == 0 {
			return all
		}
		last := batches[len(batches)-1]
		if from = last.FirstOffset + int64(last.LastOffsetDelta) + 1; from >= p.HighWatermark {
			return all
		}
	}
}
