package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// InitProducerId (22), v0-5. Kafka: KafkaApis.handleInitProducerIdRequest; KIP-98, KIP-360.
// Differs from Kafka: waits for the first id block instead of COORDINATOR_LOAD_IN_PROGRESS.   Pipelined: no.
func (b *Broker) handleInitProducerID(r *network.Request) {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if err := b.initProducerID(r.Context(), req, resp); err != nil {
		resp.ErrorCode = protocol.ErrorCode(err)
	}
	r.Respond(resp)
}

func (b *Broker) initProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest, resp *kmsg.InitProducerIDResponse) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Network.RequestTimeout)
	defer cancel()
	if req.TransactionalID != nil {
		return fmt.Errorf("transactional ids are not served yet: %w", kerr.CoordinatorNotAvailable)
	}
	if req.Version >= 3 && (req.ProducerID == -1) != (req.ProducerEpoch == -1) {
		return fmt.Errorf("producer id and epoch must be given together: %w", kerr.InvalidRequest)
	}
	id, err := b.producerIDs.Next(ctx)
	if err != nil {
		b.log.Warn("no producer id block", "err", err)
		return fmt.Errorf("producer id block: %w", kerr.CoordinatorLoadInProgress)
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return nil
}

// allocateProducerIDs asks the controller for a block.
func (b *Broker) allocateProducerIDs(ctx context.Context) (int64, int32, error) {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(b.id), b.brokerEpoch.Load()
	resp, err := b.toController.Request(ctx, req)
	if err != nil {
		return 0, 0, err
	}
	ids := resp.(*kmsg.AllocateProducerIDsResponse)
	return ids.ProducerIDStart, ids.ProducerIDLen, kerr.ErrorForCode(ids.ErrorCode)
}
