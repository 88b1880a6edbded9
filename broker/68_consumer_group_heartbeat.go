package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// ConsumerGroupHeartbeat (68), v0. Kafka: KafkaApis.handleConsumerGroupHeartbeat; KIP-848. The new protocol needs KRaft: listed as Kafka
// lists it, and answered UNSUPPORTED_VERSION.   Pipelined: no.   Cost: none.
func (b *Broker) handleConsumerGroupHeartbeat(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	r.Respond(resp)
}
