package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// OffsetFetch (9), v0-9. Kafka: KafkaApis.handleOffsetFetchRequest. Many groups since v8 (KIP-709).
// Pipelined: no.   Cost: map look-ups.
func (b *Broker) handleOffsetFetch(r *network.Request) {
	r.Respond(b.groups.OffsetFetch(r.Context(), r.Body.(*kmsg.OffsetFetchRequest)))
}
