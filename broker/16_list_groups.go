package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// ListGroups (16), v0-5. Kafka: KafkaApis.handleListGroupsRequest. States since v4 (KIP-518), types since v5 (KIP-848).
// Pipelined: no.   Cost: all groups of this broker.
func (b *Broker) handleListGroups(r *network.Request) {
	resp := b.groups.List(r.Context(), r.Body.(*kmsg.ListGroupsRequest))
	if !b.may(r, acl.Describe, acl.Cluster, acl.ClusterName) {
		resp.Groups = slices.DeleteFunc(resp.Groups, func(g kmsg.ListGroupsResponseGroup) bool {
			return !b.may(r, acl.Describe, acl.Group, g.Group)
		})
	}
	r.Respond(resp)
}
