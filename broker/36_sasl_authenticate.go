package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// SaslAuthenticate (36), v0-2. Kafka: KafkaApis.handleSaslAuthenticateRequest. See SaslHandshake.
// Pipelined: no.   Cost: none.
func (b *Broker) handleSASLAuthenticate(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.ErrorCode = kerr.IllegalSaslState.Code
	resp.ErrorMessage = optional("SaslAuthenticate request received after successful authentication")
	r.Respond(resp)
}
