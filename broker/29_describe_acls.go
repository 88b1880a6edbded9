package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// DescribeAcls (29), v0-3. Kafka: AclApis.handleDescribeAcls. Without an authorizer there are no ACLs: SECURITY_DISABLED.
// Pipelined: no.   Cost: all ACLs in memory.
func (b *Broker) handleDescribeACLs(r *network.Request) {
	req := r.Body.(*kmsg.DescribeACLsRequest)
	if b.refused(r, b.deniedCluster(r, acl.Describe)) {
		return
	}
	if b.authorizer == nil {
		b.refused(r, protocol.WithMessage(kerr.SecurityDisabled, "No Authorizer is configured on the broker"))
		return
	}
	f, err := aclFilter(req.Version, int8(req.ResourceType), req.ResourceName, int8(req.ResourcePatternType), req.Principal, req.Host,
		int8(req.Operation), int8(req.PermissionType))
	if err != nil {
		r.Close(err)
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeACLsResponse)
	table := b.authorizer.Table()
	for _, p := range table.Patterns(f.PatternFilter) {
		out := kmsg.NewDescribeACLsResponseResource()
		out.ResourceType, out.ResourceName, out.ResourcePatternType = kmsg.ACLResourceType(p.Type), p.Name, kmsg.ACLResourcePatternType(p.Kind)
		for _, e := range table.Entries(p) {
			if f.EntryFilter.Selects(e) {
				out.ACLs = append(out.ACLs, kmsg.DescribeACLsResponseResourceACL{
					Principal: e.Principal, Host: e.Host, Operation: kmsg.ACLOperation(e.Operation), PermissionType: kmsg.ACLPermissionType(e.Permission),
				})
			}
		}
		if len(out.ACLs) > 0 {
			resp.Resources = append(resp.Resources, out)
		}
	}
	r.Respond(resp)
}
