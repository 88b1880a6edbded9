package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// Heartbeat (12), v0-4. Kafka: KafkaApis.handleHeartbeatRequest.
// Pipelined: no.   Cost: a map look-up.
func (b *Broker) handleHeartbeat(r *network.Request) {
	req := r.Body.(*kmsg.HeartbeatRequest)
	if b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.Heartbeat(r.Context(), req))
}
