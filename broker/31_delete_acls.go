package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// DeleteAcls (31), v0-3. Kafka: AclApis.handleDeleteAcls. See DescribeAcls.
// Pipelined: no.   Cost: none.
func (b *Broker) handleDeleteACLs(r *network.Request) {
	req := r.Body.(*kmsg.DeleteACLsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for range req.Filters {
		resp.Results = append(resp.Results, kmsg.DeleteACLsResponseResult{
			ErrorCode: kerr.SecurityDisabled.Code, ErrorMessage: optional(noAuthorizer),
		})
	}
	r.Respond(resp)
}
