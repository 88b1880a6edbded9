package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// SyncGroup (14), v0-5. Kafka: KafkaApis.handleSyncGroupRequest.
// Pipelined: no.   Cost: one batch in __consumer_offsets for the leader; the others wait.
func (b *Broker) handleSyncGroup(r *network.Request) {
	r.Respond(b.groups.Sync(r.Context(), r.Body.(*kmsg.SyncGroupRequest)))
}
