package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// ExpireDelegationToken (40), v0-2. Kafka: KafkaApis.handleExpireTokenRequest. See CreateDelegationToken.
// Pipelined: no.   Cost: none.
func (b *Broker) handleExpireDelegationToken(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = protocol.ErrorCode(tokenRefusal(r)), -1
	r.Respond(resp)
}
