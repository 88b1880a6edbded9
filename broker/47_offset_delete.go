package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// OffsetDelete (47), v0. Kafka: KafkaApis.handleOffsetDeleteRequest; KIP-496.
// Pipelined: no.   Cost: tombstones in __consumer_offsets.
func (b *Broker) handleOffsetDelete(r *network.Request) {
	r.Respond(b.groups.OffsetDelete(r.Context(), r.Body.(*kmsg.OffsetDeleteRequest)))
}
