package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// DescribeDelegationToken (41), v0-3. Kafka: KafkaApis.handleDescribeTokensRequest. See CreateDelegationToken.
// Pipelined: no.   Cost: none.
func (b *Broker) handleDescribeDelegationToken(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.DescribeDelegationTokenResponse)
	resp.ErrorCode = protocol.ErrorCode(tokenRefusal(r))
	r.Respond(resp)
}
