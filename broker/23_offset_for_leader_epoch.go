package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// OffsetForLeaderEpoch (23), v0-4. Kafka: KafkaApis.handleOffsetForLeaderEpochRequest; KIP-101, KIP-279, KIP-320.
// Pipelined: no.   Cost: a look-up in the epoch cache a partition.
func (b *Broker) handleOffsetForLeaderEpoch(r *network.Request) {
	req := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	image := b.cache.Image()
	broker := b.may(r, acl.ClusterAction, acl.Cluster, acl.ClusterName)
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = t.Topic
		var refused error
		if !broker {
			refused = b.denied(r, acl.Describe, acl.Topic, t.Topic)
		}
		for j := range t.Partitions {
			topic.Partitions = append(topic.Partitions, b.offsetForLeaderEpoch(image, req.Version, t.Topic, &t.Partitions[j], refused))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	r.Respond(resp)
}

func (b *Broker) offsetForLeaderEpoch(image *metadata.Image, version int16, topic string,
	p *kmsg.OffsetForLeaderEpochRequestTopicPartition, err error,
) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.LeaderEpoch, out.EndOffset = p.Partition, -1, -1
	q := replication.EpochQuery{
		TP:                 metadata.TopicPartition{Topic: topic, Partition: p.Partition},
		CurrentLeaderEpoch: metadata.NoEpoch,
		LeaderEpoch:        metadata.LeaderEpoch(p.LeaderEpoch),
	}
	if version >= 2 {
		q.CurrentLeaderEpoch = metadata.LeaderEpoch(p.CurrentLeaderEpoch)
	}
	if err == nil {
		err = unknownPartition(image, q.TP)
	}
	if err == nil {
		end, e := b.replicas.OffsetForLeaderEpoch(q)
		if err = e; err == nil {
			out.LeaderEpoch, out.EndOffset = int32(end.Epoch), end.EndOffset
		}
	}
	out.ErrorCode = protocol.ErrorCode(err)
	return out
}
