package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// DescribeProducers (61), v0. Kafka: KafkaApis.handleDescribeProducersRequest, ReplicaManager.activeProducerState; KIP-664.
// Pipelined: no.   Cost: the active producers of each partition.
func (b *Broker) handleDescribeProducers(r *network.Request) {
	req := r.Body.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	image := b.cache.Image()
	for _, t := range req.Topics {
		topic := kmsg.DescribeProducersResponseTopic{Topic: t.Topic}
		refusal := controller.ValidateTopicName(t.Topic)
		if refusal == nil {
			refusal = b.denied(r, acl.Read, acl.Topic, t.Topic)
		}
		if refusal == nil && !knownTopic(image, t.Topic) {
			refusal = kerr.UnknownTopicOrPartition
		}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, b.describeProducers(metadata.TopicPartition{Topic: t.Topic, Partition: p}, refusal))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	r.Respond(resp)
}

// describeProducers tells about a partition, or gives the reason for which its topic is refused.
func (b *Broker) describeProducers(tp metadata.TopicPartition, refusal error) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.NewDescribeProducersResponseTopicPartition()
	out.Partition = tp.Partition
	if refusal != nil {
		out.ErrorCode, out.ErrorMessage = protocol.ErrorCode(refusal), protocol.ErrorMessage(refusal)
		return out
	}
	_, err := b.replicas.Partition(tp)
	l, ok := b.logs.Get(tp)
	switch {
	case err != nil:
		out.ErrorCode = protocol.ErrorCode(err)
	case !ok:
		out.ErrorCode = kerr.KafkaStorageError.Code
	default:
		for _, s := range l.ActiveProducers() {
			out.ActiveProducers = append(out.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
				ProducerID: s.ProducerID, ProducerEpoch: int32(s.ProducerEpoch), LastSequence: s.LastSequence, LastTimestamp: s.LastTimestamp,
				CoordinatorEpoch: s.CoordinatorEpoch, CurrentTxnStartOffset: s.CurrentTxnStart,
			})
		}
	}
	return out
}
