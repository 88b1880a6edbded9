package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/protocol"
)

// AlterConfigs (33), v0-2. Kafka: KafkaApis.handleAlterConfigsRequest; KIP-133. It replaces all settings of a resource.
// Pipelined: no.   Cost: ZooKeeper reads and writes a resource.
func (b *Broker) handleAlterConfigs(r *network.Request) {
	req := r.Body.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	all := make([]alteration, 0, len(req.Resources))
	for i := range req.Resources {
		resource := &req.Resources[i]
		a := alteration{kind: resource.ResourceType, name: resource.ResourceName, whole: true}
		for _, c := range resource.Configs {
			if c.Value == nil {
				a.nulls = append(a.nulls, c.Name)
			}
			a.changes = append(a.changes, config.Change{Name: c.Name, Op: config.Set, Value: value(c.Value)})
		}
		all = append(all, a)
	}
	for i, err := range b.alterConfigs(r, all, req.ValidateOnly) {
		resp.Resources = append(resp.Resources, kmsg.AlterConfigsResponseResource{
			ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ClientMessage(err),
			ResourceType: all[i].kind, ResourceName: all[i].name,
		})
	}
	r.Respond(resp)
}
