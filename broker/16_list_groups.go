package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// ListGroups (16), v0-5. Kafka: KafkaApis.handleListGroupsRequest. States since v4 (KIP-518), types since v5 (KIP-848).
// Pipelined: no.   Cost: all groups of this broker.
func (b *Broker) handleListGroups(r *network.Request) {
	r.Respond(b.groups.List(r.Context(), r.Body.(*kmsg.ListGroupsRequest)))
}
