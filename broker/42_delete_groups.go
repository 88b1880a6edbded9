package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// DeleteGroups (42), v0-2. Kafka: KafkaApis.handleDeleteGroupsRequest; KIP-229.
// Pipelined: no.   Cost: tombstones in __consumer_offsets.
func (b *Broker) handleDeleteGroups(r *network.Request) {
	r.Respond(b.groups.Delete(r.Context(), r.Body.(*kmsg.DeleteGroupsRequest)))
}
