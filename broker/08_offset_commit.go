package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// OffsetCommit (8), v0-9. Kafka: KafkaApis.handleOffsetCommitRequest. v0 keeps offsets in ZooKeeper.
// Pipelined: no.   Cost: one batch in __consumer_offsets, replicated.
func (b *Broker) handleOffsetCommit(r *network.Request) {
	r.Respond(b.groups.OffsetCommit(r.Context(), r.Body.(*kmsg.OffsetCommitRequest)))
}
