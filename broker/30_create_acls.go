package broker

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
)

// CreateAcls (30), v0-3. Kafka: AclApis.handleCreateAcls. See DescribeAcls.
// Differs from Kafka: a principal without a type, and what is for filters only, is INVALID_REQUEST.   Pipelined: no.   Cost: a ZooKeeper write a pattern.
func (b *Broker) handleCreateACLs(r *network.Request) {
	req := r.Body.(*kmsg.CreateACLsRequest)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	if b.authorizer == nil {
		b.refused(r, protocol.WithMessage(kerr.SecurityDisabled, noAuthorizer))
		return
	}
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	resp.Results = make([]kmsg.CreateACLsResponseResult, len(req.Creations))
	var bindings []acl.Binding
	var places []int
	for i := range req.Creations {
		binding, err := newBinding(req.Version, &req.Creations[i])
		if unreadable(err) {
			r.Close(err)
			return
		}
		resp.Results[i] = createdACL(err)
		if err == nil {
			bindings, places = append(bindings, binding), append(places, i)
		}
	}
	session := b.zk.Session()
	if session == nil {
		b.refused(r, zkstore.ErrSessionExpired)
		return
	}
	for i, err := range b.authorizer.Create(r.Context(), session, bindings) {
		resp.Results[places[i]] = createdACL(err)
	}
	r.Respond(resp)
}

const noAuthorizer = "No Authorizer is configured."

func createdACL(err error) kmsg.CreateACLsResponseResult {
	return kmsg.CreateACLsResponseResult{ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err)}
}

// newBinding checks what is to be created. Kafka: CreateAclsRequest.validate, AclApis.handleCreateAcls,
// AclAuthorizer.validateAclBinding.
func newBinding(version int16, c *kmsg.CreateACLsRequestCreation) (acl.Binding, error) {
	out := acl.Binding{
		Pattern: acl.Pattern{Type: acl.ResourceType(c.ResourceType), Name: c.ResourceName, Kind: acl.PatternKind(c.ResourcePatternType)},
		Entry:   acl.Entry{Principal: c.Principal, Host: c.Host, Operation: acl.Operation(c.Operation), Permission: acl.Permission(c.PermissionType)},
	}
	if version == 0 {
		out.Kind = acl.Literal
	}
	_, badPrincipal := security.ParsePrincipal(c.Principal)
	switch {
	case out.Type == 0 || out.Kind == 0 || out.Operation == 0 || out.Permission == 0:
		return out, fmt.Errorf("%w: an acl with unknown elements", protocol.ErrMalformed)
	case out.Type == acl.Cluster && out.Name != acl.ClusterName:
		return out, invalidRequest("The only valid name for the CLUSTER resource is %s", acl.ClusterName)
	case out.Name == "":
		return out, invalidRequest("Invalid empty resource name")
	case !out.Known() || strings.Contains(out.Name, "/"):
		return out, invalidRequest("Failed to create ACL")
	case badPrincipal != nil:
		return out, invalidRequest("%s", badPrincipal)
	}
	return out, nil
}
