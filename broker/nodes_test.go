package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
)

// Two partitions that moved to one broker name it once. A Java consumer ends with "Duplicate key" otherwise.
func TestLeaderHints_OneLeaderOfManyPartitions_NamedOnce(t *testing.T) {
	var fetch []protocol.FetchNode
	var produce []kmsg.ProduceResponseBroker
	for _, id := range []int32{1, 2, 1, 1, 2} {
		fetch = withFetchNode(fetch, protocol.FetchNode{NodeID: id})
		produce = withProduceNode(produce, kmsg.ProduceResponseBroker{NodeID: id})
	}
	if len(fetch) != 2 || len(produce) != 2 {
		t.Errorf("%d and %d nodes, want 2", len(fetch), len(produce))
	}
}
