package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// Endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// DescribeCluster (60), v0-1. Kafka: KafkaApis.handleDescribeCluster; KIP-700, KIP-919.
// Pipelined: no.   Cost: the live brokers.
func (b *Broker) handleDescribeCluster(r *network.Request) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterAuthorizedOperations = noOperations
	resp.ControllerID = -1
	resp.EndpointType = brokerEndpoints
	if req.Version >= 1 && req.EndpointType != brokerEndpoints {
		err := fmt.Errorf("unsupported endpoint type %d: %w", req.EndpointType, kerr.UnsupportedEndpointType)
		if req.EndpointType == controllerEndpoints {
			err = fmt.Errorf("this is a broker: its controllers have no endpoints of their own: %w", kerr.MismatchedEndpointType)
		}
		resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
		r.Respond(resp)
		return
	}
	image := b.cache.Image()
	resp.ClusterID = b.clusterID
	resp.ControllerID = aliveController(image)
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = b.clusterOperationsOf(r)
	}
	for _, m := range metadataBrokers(image, r.Conn.Listener()) {
		d := kmsg.NewDescribeClusterResponseBroker()
		d.NodeID, d.Host, d.Port, d.Rack = m.NodeID, m.Host, m.Port, m.Rack
		resp.Brokers = append(resp.Brokers, d)
	}
	r.Respond(resp)
}
