package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// AllocateProducerIds (67), v0. Kafka: KafkaApis.handleAllocateProducerIdsRequest; KIP-730.
// Pipelined: no.   Cost: one conditional ZooKeeper write.
func (b *Broker) handleAllocateProducerIDs(r *network.Request) {
	req := r.Body.(*kmsg.AllocateProducerIDsRequest)
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	start, n, err := b.controller.AllocateProducerIDs(r.Context(), metadata.BrokerID(req.BrokerID), req.BrokerEpoch)
	resp.ErrorCode = protocol.ErrorCode(err)
	resp.ProducerIDStart, resp.ProducerIDLen = start, n
	r.Respond(resp)
}
