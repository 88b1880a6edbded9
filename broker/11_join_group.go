package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// JoinGroup (11), v0-9. Kafka: KafkaApis.handleJoinGroupRequest; KIP-345, KIP-394, KIP-814.
// Pipelined: no.   Cost: waits for the other members.
func (b *Broker) handleJoinGroup(r *network.Request) {
	req := r.Body.(*kmsg.JoinGroupRequest)
	if b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.Join(r.Context(), req, r.ClientID, r.Conn.RemoteHost()))
}
