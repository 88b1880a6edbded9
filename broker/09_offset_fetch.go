package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/coordinator/service"
	"jackdaw/security/acl"
)

// OffsetFetch (9), v0-9. Kafka: KafkaApis.handleOffsetFetchRequest. Many groups since v8 (KIP-709).
// Pipelined: no.   Cost: map look-ups.
func (b *Broker) handleOffsetFetch(r *network.Request) {
	denied := service.FetchDenied{Topic: b.deniedTopics(r, acl.Describe)}
	if b.authorizer != nil {
		denied.Group = func(id string) bool { return b.denied(r, acl.Describe, acl.Group, id) != nil }
	}
	r.Respond(b.groups.OffsetFetch(r.Context(), r.Body.(*kmsg.OffsetFetchRequest), denied))
}
