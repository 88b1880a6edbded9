package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// LeaveGroup (13), v0-5. Kafka: KafkaApis.handleLeaveGroupRequest. Many members since v3 (KIP-345).
// Pipelined: no.   Cost: may start a rebalance.
func (b *Broker) handleLeaveGroup(r *network.Request) {
	req := r.Body.(*kmsg.LeaveGroupRequest)
	if b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.Leave(r.Context(), req))
}
