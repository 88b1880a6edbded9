package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// RenewDelegationToken (39), v0-2. Kafka: KafkaApis.handleRenewTokenRequest. See CreateDelegationToken.
// Pipelined: no.   Cost: none.
func (b *Broker) handleRenewDelegationToken(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
	resp.ErrorCode, resp.ExpiryTimestamp = protocol.ErrorCode(tokenRefusal(r)), -1
	r.Respond(resp)
}
