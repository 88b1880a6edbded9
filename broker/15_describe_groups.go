package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// groupOperations are the bits of AclOperation of a group. Kafka: AclEntry.supportedOperations.
const groupOperations = 1<<3 | 1<<6 | 1<<8

// DescribeGroups (15), v0-5. Kafka: KafkaApis.handleDescribeGroupsRequest.
// Pipelined: no.   Cost: the members of the groups.
func (b *Broker) handleDescribeGroups(r *network.Request) {
	req := r.Body.(*kmsg.DescribeGroupsRequest)
	resp := b.groups.Describe(r.Context(), req)
	for i := range resp.Groups {
		resp.Groups[i].AuthorizedOperations = noOperations
		if req.IncludeAuthorizedOperations && resp.Groups[i].ErrorCode == 0 {
			resp.Groups[i].AuthorizedOperations = groupOperations
		}
	}
	r.Respond(resp)
}
