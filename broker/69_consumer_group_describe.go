package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// ConsumerGroupDescribe (69), v0. Kafka: KafkaApis.handleConsumerGroupDescribe. See ConsumerGroupHeartbeat.
// Differs from Kafka: which serves it with KRaft only.
// Pipelined: no.   Cost: the members of the groups.
func (b *Broker) handleConsumerGroupDescribe(r *network.Request) {
	req := r.Body.(*kmsg.ConsumerGroupDescribeRequest)
	var refused []kmsg.ConsumerGroupDescribeResponseGroup
	allowed := *req
	allowed.Groups = nil
	for _, id := range req.Groups {
		if !b.cfg.Groups.Consumer.Enabled || b.denied(r, acl.Describe, acl.Group, id) == nil {
			allowed.Groups = append(allowed.Groups, id)
			continue
		}
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group, out.ErrorCode = id, kerr.GroupAuthorizationFailed.Code
		refused = append(refused, out)
	}
	resp := b.groups.DescribeConsumers(r.Context(), &allowed)
	for i := range resp.Groups {
		out := &resp.Groups[i]
		if req.IncludeAuthorizedOperations && out.ErrorCode == 0 {
			out.AuthorizedOperations = b.operations(r, acl.Group, out.Group, groupOperations)
		}
	}
	resp.Groups = append(refused, resp.Groups...)
	r.Respond(resp)
}
