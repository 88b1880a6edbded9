package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// ListOffsets (2), v0-9. Kafka: KafkaApis.handleListOffsetRequest. Max timestamp since v7 (KIP-734), tiers since v8 (KIP-405).
// Pipelined: no.   Cost: a look-up in the time index, and the batch that it finds.
func (b *Broker) handleListOffsets(r *network.Request) {
	req := r.Body.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	image := b.cache.Image()
	times := map[metadata.TopicPartition]int{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			times[metadata.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition}]++
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		refused := b.denied(r, acl.Describe, acl.Topic, t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			q := listOffsetQuery(req, t.Topic, p)
			out := kmsg.NewListOffsetsResponseTopicPartition()
			out.Partition, out.Timestamp, out.Offset, out.LeaderEpoch = p.Partition, -1, -1, -1
			out.OldStyleOffsets = []int64{}
			err := refused
			if err == nil {
				err = unknownPartition(image, q.TP)
			}
			if err == nil && times[q.TP] > 1 && req.Version >= 1 {
				err = fmt.Errorf("%s is asked for twice: %w", q.TP, kerr.InvalidRequest)
			}
			if err == nil {
				err = b.listOffset(req.Version, q, p.MaxNumOffsets, &out)
			}
			out.ErrorCode = listOffsetsError(req.Version, err)
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	r.Respond(resp)
}

func listOffsetQuery(req *kmsg.ListOffsetsRequest, topic string, p *kmsg.ListOffsetsRequestTopicPartition) replication.ListOffsetQuery {
	q := replication.ListOffsetQuery{
		TP:                 metadata.TopicPartition{Topic: topic, Partition: p.Partition},
		Replica:            metadata.BrokerID(req.ReplicaID),
		ReadCommitted:      req.Version >= 2 && req.IsolationLevel == 1,
		CurrentLeaderEpoch: metadata.NoEpoch,
		Timestamp:          p.Timestamp,
	}
	if req.Version >= 4 {
		q.CurrentLeaderEpoch = metadata.LeaderEpoch(p.CurrentLeaderEpoch)
	}
	return q
}

// firstVersionOf is the version that introduced each special timestamp.
var firstVersionOf = map[int64]int16{-1: 0, -2: 0, -3: 7, -4: 8, -5: 9}

func (b *Broker) listOffset(version int16, q replication.ListOffsetQuery, maxOffsets int32, out *kmsg.ListOffsetsResponseTopicPartition) error {
	if first, ok := firstVersionOf[q.Timestamp]; q.Timestamp < 0 && (!ok || version < first) {
		return fmt.Errorf("timestamp %d in ListOffsets v%d: %w", q.Timestamp, version, kerr.UnsupportedVersion)
	}
	if version == 0 {
		offsets, err := b.replicas.LegacyOffsets(q, int(maxOffsets))
		if err == nil {
			out.OldStyleOffsets = offsets
		}
		return err
	}
	found, err := b.replicas.ListOffset(q)
	if err != nil {
		return err
	}
	out.Timestamp, out.Offset, out.LeaderEpoch = found.Timestamp, found.Offset, int32(found.Epoch)
	return nil
}

// listOffsetsError maps OFFSET_NOT_AVAILABLE, which clients below v5 do not know.
func listOffsetsError(version int16, err error) int16 {
	code := protocol.ErrorCode(err)
	if version < 5 && code == kerr.OffsetNotAvailable.Code {
		return kerr.LeaderNotAvailable.Code
	}
	return code
}

// unknownPartition refuses what the controller has not told us of.
func unknownPartition(image *metadata.Image, tp metadata.TopicPartition) error {
	if _, ok := image.Partition(tp); !ok {
		return kerr.UnknownTopicOrPartition
	}
	return nil
}
