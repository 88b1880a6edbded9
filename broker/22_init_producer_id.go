package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/zkstore"
)

// InitProducerId (22), v0-5. Kafka: KafkaApis.handleInitProducerIdRequest; KIP-98, KIP-360.
// Differs from Kafka: waits for the first id block instead of COORDINATOR_LOAD_IN_PROGRESS.   Pipelined: no.
func (b *Broker) handleInitProducerID(r *network.Request) {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	if b.refused(r, b.deniedProducerID(r, req.TransactionalID)) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.cfg.Network.RequestTimeout)
	defer cancel()
	r.Respond(b.transactions.InitProducerID(ctx, req))
}

// allocateProducerIDs asks the controller for a block, or, where the controller may not know how to answer, takes one out of
// ZooKeeper. Kafka: RPCProducerIdManager, ZkProducerIdManager.
func (b *Broker) allocateProducerIDs(ctx context.Context) (int64, int32, error) {
	if !b.ibp.AllocateProducerIDs() {
		session := b.zk.Session()
		if session == nil {
			return 0, 0, zkstore.ErrSessionExpired
		}
		return session.AllocateProducerIDs(ctx, b.id)
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(b.id), b.brokerEpoch.Load()
	resp, err := b.toController.Request(ctx, req)
	if err != nil {
		return 0, 0, err
	}
	ids := resp.(*kmsg.AllocateProducerIDsResponse)
	return ids.ProducerIDStart, ids.ProducerIDLen, kerr.ErrorForCode(ids.ErrorCode)
}
