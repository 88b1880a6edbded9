package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// ListPartitionReassignments (46), v0. Kafka: KafkaApis.handleListPartitionReassignmentsRequest; KIP-455.
// Pipelined: no.   Cost: the reassignments that run.
func (b *Broker) handleListPartitionReassignments(r *network.Request) {
	req := r.Body.(*kmsg.ListPartitionReassignmentsRequest)
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	if b.refused(r, b.deniedCluster(r, acl.Describe)) {
		return
	}
	var tps []metadata.TopicPartition
	if req.Topics != nil {
		tps = []metadata.TopicPartition{}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				tps = append(tps, metadata.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
	}
	moves, err := b.controller.ListReassignments(r.Context(), tps)
	resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
	if err == nil {
		resp.ErrorMessage = new(string)
	}
	slices.SortFunc(moves, func(x, y controller.OngoingReassignment) int { return x.Compare(y.TopicPartition) })
	for _, m := range moves {
		if len(resp.Topics) == 0 || resp.Topics[len(resp.Topics)-1].Topic != m.Topic {
			resp.Topics = append(resp.Topics, kmsg.ListPartitionReassignmentsResponseTopic{Topic: m.Topic})
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ListPartitionReassignmentsResponseTopicPartition{
			Partition: m.Partition, Replicas: wireIDs(m.Replicas), AddingReplicas: wireIDs(m.Adding), RemovingReplicas: wireIDs(m.Removing),
		})
	}
	r.Respond(resp)
}
