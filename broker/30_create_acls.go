package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// CreateAcls (30), v0-3. Kafka: AclApis.handleCreateAcls. See DescribeAcls.
// Pipelined: no.   Cost: none.
func (b *Broker) handleCreateACLs(r *network.Request) {
	req := r.Body.(*kmsg.CreateACLsRequest)
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	for range req.Creations {
		resp.Results = append(resp.Results, kmsg.CreateACLsResponseResult{
			ErrorCode: kerr.SecurityDisabled.Code, ErrorMessage: optional(noAuthorizer),
		})
	}
	r.Respond(resp)
}

const noAuthorizer = "No Authorizer is configured."
