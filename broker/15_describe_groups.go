package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// groupOperations are the bits of AclOperation of a group. Kafka: AclEntry.supportedOperations.
const groupOperations = 1<<3 | 1<<6 | 1<<8

// DescribeGroups (15), v0-5. Kafka: KafkaApis.handleDescribeGroupsRequest.
// Pipelined: no.   Cost: the members of the groups.
func (b *Broker) handleDescribeGroups(r *network.Request) {
	req := r.Body.(*kmsg.DescribeGroupsRequest)
	var refused []kmsg.DescribeGroupsResponseGroup
	allowed := *req
	allowed.Groups = nil
	for _, id := range req.Groups {
		if err := b.denied(r, acl.Describe, acl.Group, id); err == nil {
			allowed.Groups = append(allowed.Groups, id)
			continue
		}
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.ErrorCode = id, kerr.GroupAuthorizationFailed.Code
		refused = append(refused, out)
	}
	resp := b.groups.Describe(r.Context(), &allowed)
	for i := range resp.Groups {
		out := &resp.Groups[i]
		out.AuthorizedOperations = noOperations
		if req.IncludeAuthorizedOperations && out.ErrorCode == 0 {
			out.AuthorizedOperations = b.operations(r, acl.Group, out.Group, groupOperations)
		}
	}
	resp.Groups = append(refused, resp.Groups...)
	r.Respond(resp)
}
