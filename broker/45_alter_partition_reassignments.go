package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// AlterPartitionReassignments (45), v0. Kafka: KafkaApis.handleAlterPartitionReassignmentsRequest; KIP-455.
// Pipelined: no.   Cost: two ZooKeeper writes a partition; the data moves later.
func (b *Broker) handleAlterPartitionReassignments(r *network.Request) {
	req := r.Body.(*kmsg.AlterPartitionAssignmentsRequest)
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	var moves []controller.Reassignment
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			moves = append(moves, controller.Reassignment{
				TopicPartition: metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Target: brokerIDs(p.Replicas),
			})
		}
	}
	errs, err := b.controller.AlterReassignments(r.Context(), moves)
	resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), new(string)
	if err != nil {
		resp.ErrorMessage = protocol.ErrorMessage(err)
		r.Respond(resp)
		return
	}
	for _, t := range req.Topics {
		if len(t.Partitions) == 0 {
			continue
		}
		topic := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			err := errs[metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}]
			topic.Partitions = append(topic.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: p.Partition, ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err),
			})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	r.Respond(resp)
}
