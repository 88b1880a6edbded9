package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// DescribeAcls (29), v0-3. Kafka: AclApis.handleDescribeAcls. Without an authorizer there are no ACLs: SECURITY_DISABLED.
// Pipelined: no.   Cost: none.
func (b *Broker) handleDescribeACLs(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.DescribeACLsResponse)
	resp.ErrorCode = kerr.SecurityDisabled.Code
	resp.ErrorMessage = optional("No Authorizer is configured on the broker")
	r.Respond(resp)
}
