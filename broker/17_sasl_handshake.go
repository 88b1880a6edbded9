package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// SaslHandshake (17), v0-1. Kafka: KafkaApis.handleSaslHandshakeRequest. It belongs to authentication: on a listener without, or after
// it, the answer is ILLEGAL_SASL_STATE.   Pipelined: no.   Cost: none.
func (b *Broker) handleSASLHandshake(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.ErrorCode = kerr.IllegalSaslState.Code
	resp.SupportedMechanisms = []string{}
	r.Respond(resp)
}
