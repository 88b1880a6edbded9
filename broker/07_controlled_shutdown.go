package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// ControlledShutdown (7), v0-3. Kafka: KafkaApis.handleControlledShutdownRequest.
// Pipelined: no.   Cost: one leader election per partition that the broker leads.
func (b *Broker) handleControlledShutdown(r *network.Request) {
	req := r.Body.(*kmsg.ControlledShutdownRequest)
	resp := req.ResponseKind().(*kmsg.ControlledShutdownResponse)
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	epoch := req.BrokerEpoch
	if req.Version < 2 {
		epoch = -1
	}
	remaining, err := b.controller.ControlledShutdown(r.Context(), metadata.BrokerID(req.BrokerID), epoch)
	resp.ErrorCode = protocol.ErrorCode(err)
	for _, tp := range remaining {
		p := kmsg.NewControlledShutdownResponsePartitionsRemaining()
		p.Topic, p.Partition = tp.Topic, tp.Partition
		resp.PartitionsRemaining = append(resp.PartitionsRemaining, p)
	}
	r.Respond(resp)
}
