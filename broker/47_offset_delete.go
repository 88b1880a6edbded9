package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// OffsetDelete (47), v0. Kafka: KafkaApis.handleOffsetDeleteRequest; KIP-496.
// Pipelined: no.   Cost: tombstones in __consumer_offsets.
func (b *Broker) handleOffsetDelete(r *network.Request) {
	req := r.Body.(*kmsg.OffsetDeleteRequest)
	if b.refused(r, b.denied(r, acl.Delete, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.OffsetDelete(r.Context(), req, b.deniedTopics(r, acl.Read)))
}
