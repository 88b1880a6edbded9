package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// ConsumerGroupDescribe (69), v0. Kafka: KafkaApis.handleConsumerGroupDescribe. See ConsumerGroupHeartbeat.
// Pipelined: no.   Cost: none.
func (b *Broker) handleConsumerGroupDescribe(r *network.Request) {
	req := r.Body.(*kmsg.ConsumerGroupDescribeRequest)
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	for _, g := range req.Groups {
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group, out.ErrorCode = g, kerr.UnsupportedVersion.Code
		resp.Groups = append(resp.Groups, out)
	}
	r.Respond(resp)
}
