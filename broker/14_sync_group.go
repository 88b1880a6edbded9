package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// SyncGroup (14), v0-5. Kafka: KafkaApis.handleSyncGroupRequest.
// Pipelined: no.   Cost: one batch in __consumer_offsets for the leader; the others wait.
func (b *Broker) handleSyncGroup(r *network.Request) {
	req := r.Body.(*kmsg.SyncGroupRequest)
	if b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.Sync(r.Context(), req))
}
