package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// OffsetCommit (8), v0-9. Kafka: KafkaApis.handleOffsetCommitRequest. v0 keeps offsets in ZooKeeper.
// Pipelined: no.   Cost: one batch in __consumer_offsets, replicated.
func (b *Broker) handleOffsetCommit(r *network.Request) {
	req := r.Body.(*kmsg.OffsetCommitRequest)
	if b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.OffsetCommit(r.Context(), req, b.deniedTopics(r, acl.Read)))
}
