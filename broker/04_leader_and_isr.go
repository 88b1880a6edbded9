package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// LeaderAndIsr (4), v0-7. Kafka: KafkaApis.handleLeaderAndIsrRequest. Topic ids since v5 (KIP-516).
// Pipelined: no.   Cost: per partition that changes its role.
func (b *Broker) handleLeaderAndISR(r *network.Request) {
	req := r.Body.(*kmsg.LeaderAndISRRequest)
	resp := req.ResponseKind().(*kmsg.LeaderAndISRResponse)
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	b.control(r, req.BrokerEpoch, req.ControllerEpoch, func(err error) {
		var errs map[metadata.TopicPartition]error
		if err == nil {
			states := partitionStates(req)
			b.learnTopics(r.Context(), states)
			errs, err = b.replicas.ApplyLeaderAndISR(metadata.BrokerID(req.ControllerID), req.ControllerEpoch, states)
		}
		resp.ErrorCode = protocol.ErrorCode(err)
		if err == nil {
			fillLeaderAndISRResponse(resp, req, errs)
		}
		r.Respond(resp)
	})
}

// learnTopics reads the settings of topics that are new here, before their logs are made.
func (b *Broker) learnTopics(ctx context.Context, states []replication.PartitionState) {
	names := make([]string, 0, len(states))
	for i := range states {
		names = append(names, states[i].TP.Topic)
	}
	slices.Sort(names)
	b.topics.Learn(ctx, b.zk.Session(), slices.Compact(names))
}

func partitionStates(req *kmsg.LeaderAndISRRequest) []replication.PartitionState {
	var states []replication.PartitionState
	add := func(topic string, id metadata.TopicID, p *kmsg.LeaderAndISRRequestTopicPartition) {
		states = append(states, replication.PartitionState{
			TP:      metadata.TopicPartition{Topic: topic, Partition: p.Partition},
			TopicID: id,
			LeaderAndISR: metadata.LeaderAndISR{
				ControllerEpoch: p.ControllerEpoch,
				Leader:          metadata.BrokerID(p.Leader),
				LeaderEpoch:     metadata.LeaderEpoch(p.LeaderEpoch),
				ISR:             brokerIDs(p.ISR),
				Recovery:        metadata.RecoveryState(p.LeaderRecoveryState),
				PartitionEpoch:  p.ZKVersion,
			},
			Replicas: brokerIDs(p.Replicas),
			Adding:   brokerIDs(p.AddingReplicas),
			Removing: brokerIDs(p.RemovingReplicas),
			IsNew:    p.IsNew,
		})
	}
	for i := range req.PartitionStates {
		add(req.PartitionStates[i].Topic, metadata.TopicID{}, &req.PartitionStates[i])
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		for j := range t.PartitionStates {
			add(t.Topic, t.TopicID, &t.PartitionStates[j])
		}
	}
	return states
}

// fillLeaderAndISRResponse answers for every partition asked about, by name below v5 and by topic id from then on.
func fillLeaderAndISRResponse(resp *kmsg.LeaderAndISRResponse, req *kmsg.LeaderAndISRRequest, errs map[metadata.TopicPartition]error) {
	answer := func(topic string, p int32) kmsg.LeaderAndISRResponseTopicPartition {
		out := kmsg.NewLeaderAndISRResponseTopicPartition()
		out.Partition = p
		out.ErrorCode = protocol.ErrorCode(errs[metadata.TopicPartition{Topic: topic, Partition: p}])
		return out
	}
	for i := range req.PartitionStates {
		p := &req.PartitionStates[i]
		out := answer(p.Topic, p.Partition)
		out.Topic = p.Topic
		resp.Partitions = append(resp.Partitions, out)
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		topic := kmsg.NewLeaderAndISRResponseTopic()
		topic.TopicID = t.TopicID
		for j := range t.PartitionStates {
			out := answer(t.Topic, t.PartitionStates[j].Partition)
			if resp.Version < 5 {
				out.Topic = t.Topic
				resp.Partitions = append(resp.Partitions, out)
				continue
			}
			topic.Partitions = append(topic.Partitions, out)
		}
		if resp.Version >= 5 {
			resp.Topics = append(resp.Topics, topic)
		}
	}
}
