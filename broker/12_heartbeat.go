package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// Heartbeat (12), v0-4. Kafka: KafkaApis.handleHeartbeatRequest.
// Pipelined: no.   Cost: a map look-up.
func (b *Broker) handleHeartbeat(r *network.Request) {
	r.Respond(b.groups.Heartbeat(r.Context(), r.Body.(*kmsg.HeartbeatRequest)))
}
