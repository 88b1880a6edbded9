package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// DeleteGroups (42), v0-2. Kafka: KafkaApis.handleDeleteGroupsRequest; KIP-229.
// Pipelined: no.   Cost: tombstones in __consumer_offsets.
func (b *Broker) handleDeleteGroups(r *network.Request) {
	req := r.Body.(*kmsg.DeleteGroupsRequest)
	var refused []kmsg.DeleteGroupsResponseGroup
	allowed := *req
	allowed.Groups = nil
	for _, id := range req.Groups {
		if err := b.denied(r, acl.Delete, acl.Group, id); err == nil {
			allowed.Groups = append(allowed.Groups, id)
			continue
		}
		refused = append(refused, kmsg.DeleteGroupsResponseGroup{Group: id, ErrorCode: kerr.GroupAuthorizationFailed.Code})
	}
	resp := b.groups.Delete(r.Context(), &allowed)
	resp.Groups = append(resp.Groups, refused...)
	r.Respond(resp)
}
