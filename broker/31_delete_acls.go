package broker

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/security/authorizer"
	"jackdaw/zkstore"
)

// DeleteAcls (31), v0-3. Kafka: AclApis.handleDeleteAcls. See DescribeAcls.
// Pipelined: no.   Cost: a ZooKeeper write a pattern.
func (b *Broker) handleDeleteACLs(r *network.Request) {
	req := r.Body.(*kmsg.DeleteACLsRequest)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	if b.authorizer == nil {
		b.refused(r, protocol.WithMessage(kerr.SecurityDisabled, noAuthorizer))
		return
	}
	filters := make([]acl.Filter, len(req.Filters))
	for i := range req.Filters {
		in := &req.Filters[i]
		var err error
		filters[i], err = aclFilter(req.Version, int8(in.ResourceType), in.ResourceName, int8(in.ResourcePatternType), in.Principal, in.Host,
			int8(in.Operation), int8(in.PermissionType))
		if err != nil {
			r.Close(err)
			return
		}
	}
	session := b.zk.Session()
	if session == nil {
		b.refused(r, zkstore.ErrSessionExpired)
		return
	}
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for _, deleted := range b.authorizer.Delete(r.Context(), session, filters) {
		resp.Results = append(resp.Results, deletedACLs(deleted))
	}
	r.Respond(resp)
}

func deletedACLs(deleted []authorizer.Deletion) kmsg.DeleteACLsResponseResult {
	out := kmsg.DeleteACLsResponseResult{}
	for _, d := range deleted {
		out.MatchingACLs = append(out.MatchingACLs, kmsg.DeleteACLsResponseResultMatchingACL{
			ErrorCode: protocol.ErrorCode(d.Err), ErrorMessage: protocol.ErrorMessage(d.Err),
			ResourceType: kmsg.ACLResourceType(d.Type), ResourceName: d.Name, ResourcePatternType: kmsg.ACLResourcePatternType(d.Kind),
			Principal: d.Principal, Host: d.Host, Operation: kmsg.ACLOperation(d.Operation), PermissionType: kmsg.ACLPermissionType(d.Permission),
		})
	}
	return out
}

// aclFilter reads a filter. One that this version does not understand is as bad as one that cannot be read: it could mean
// more than was meant. Kafka: DescribeAclsRequest.normalizeAndValidate, DeleteAclsRequest.normalizeAndValidate.
func aclFilter(version int16, kind int8, name *string, pattern int8, principal, host *string, op, permission int8) (acl.Filter, error) {
	f := acl.Filter{
		PatternFilter: acl.PatternFilter{Type: acl.ResourceType(kind), Name: name, Kind: acl.PatternKind(pattern)},
		EntryFilter:   acl.EntryFilter{Principal: principal, Host: host, Operation: acl.Operation(op), Permission: acl.Permission(permission)},
	}
	if version == 0 {
		f.PatternFilter.Kind = acl.Literal
	}
	if f.Type == 0 || f.PatternFilter.Kind == 0 || f.Operation == 0 || f.Permission == 0 {
		return f, fmt.Errorf("%w: an acl filter with unknown elements", protocol.ErrMalformed)
	}
	return f, nil
}

// unreadable tells whether a request must end its connection.
func unreadable(err error) bool { return errors.Is(err, protocol.ErrMalformed) }
