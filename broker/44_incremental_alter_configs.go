package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/protocol"
)

// IncrementalAlterConfigs (44), v0-1. Kafka: KafkaApis.handleIncrementalAlterConfigsRequest; KIP-339, KIP-412.
// Differs from Kafka: an operation that does not exist is INVALID_REQUEST; a change that could not take effect is refused.
// Pipelined: no.   Cost: ZooKeeper reads and writes a resource.
func (b *Broker) handleIncrementalAlterConfigs(r *network.Request) {
	req := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	all := make([]alteration, 0, len(req.Resources))
	for i := range req.Resources {
		all = append(all, incrementalAlteration(&req.Resources[i]))
	}
	for i, err := range b.alterConfigs(r, all, req.ValidateOnly) {
		resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{
			ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ClientMessage(err),
			ResourceType: all[i].kind, ResourceName: all[i].name,
		})
	}
	r.Respond(resp)
}

func incrementalAlteration(resource *kmsg.IncrementalAlterConfigsRequestResource) alteration {
	a := alteration{kind: resource.ResourceType, name: resource.ResourceName}
	for _, c := range resource.Configs {
		op := config.Op(c.Op)
		switch {
		case !op.Known():
			a.badOp = invalidRequest("Unknown operations type %d", op)
		case op != config.Delete && c.Value == nil:
			a.nulls = append(a.nulls, c.Name)
		}
		a.changes = append(a.changes, config.Change{Name: c.Name, Op: op, Value: value(c.Value)})
	}
	return a
}
