package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// JoinGroup (11), v0-9. Kafka: KafkaApis.handleJoinGroupRequest; KIP-345, KIP-394, KIP-814.
// Pipelined: no.   Cost: waits for the other members.
func (b *Broker) handleJoinGroup(r *network.Request) {
	r.Respond(b.groups.Join(r.Context(), r.Body.(*kmsg.JoinGroupRequest), r.ClientID, r.Conn.RemoteHost()))
}
