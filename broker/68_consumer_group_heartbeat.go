package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// ConsumerGroupHeartbeat (68), v0. Kafka: KafkaApis.handleConsumerGroupHeartbeat; KIP-848. Listed always, as Kafka lists it, and
// UNSUPPORTED_VERSION unless group.coordinator.rebalance.protocols has consumer.
// Differs from Kafka: which serves it with KRaft only.
// Pipelined: no.   Cost: map look-ups; what changes, one batch in __consumer_offsets.
func (b *Broker) handleConsumerGroupHeartbeat(r *network.Request) {
	req := r.Body.(*kmsg.ConsumerGroupHeartbeatRequest)
	if b.cfg.Groups.Consumer.Enabled && b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.ConsumerHeartbeat(r.Context(), req, r.ClientID, r.Conn.RemoteHost()))
}
