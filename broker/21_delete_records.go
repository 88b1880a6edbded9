package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// DeleteRecords (21), v0-2. Kafka: KafkaApis.handleDeleteRecordsRequest; KIP-107.
// Pipelined: no.   Cost: waits until the live replicas have raised their log start.
func (b *Broker) handleDeleteRecords(r *network.Request) {
	req := r.Body.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	image := b.cache.Image()
	var entries []replication.DeleteEntry
	var slots []*kmsg.DeleteRecordsResponseTopicPartition
	resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, topic := &req.Topics[i], &resp.Topics[i]
		topic.Topic = t.Topic
		refused := b.denied(r, acl.Delete, acl.Topic, t.Topic)
		topic.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p, out := &t.Partitions[j], &topic.Partitions[j]
			out.Partition, out.LowWatermark = p.Partition, -1
			tp := metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			err := refused
			if err == nil {
				err = unknownPartition(image, tp)
			}
			if err != nil {
				out.ErrorCode = protocol.ErrorCode(err)
				continue
			}
			entries = append(entries, replication.DeleteEntry{TP: tp, Offset: p.Offset})
			slots = append(slots, out)
		}
	}
	b.replicas.DeleteRecords(time.Duration(req.TimeoutMillis)*time.Millisecond, entries, func(results []replication.DeleteResult) {
		for i := range results {
			slots[i].ErrorCode = protocol.ErrorCode(results[i].Err)
			slots[i].LowWatermark = results[i].LowWatermark
		}
		r.Respond(resp)
	})
}
