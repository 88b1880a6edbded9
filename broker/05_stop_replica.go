package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// StopReplica (5), v0-4. Kafka: KafkaApis.handleStopReplicaRequest.
// Pipelined: no.   Cost: per partition; deletion renames the directory and removes it later.
func (b *Broker) handleStopReplica(r *network.Request) {
	req := r.Body.(*kmsg.StopReplicaRequest)
	resp := req.ResponseKind().(*kmsg.StopReplicaResponse)
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	if err := b.checkBrokerEpoch(r.Context(), req.BrokerEpoch); err != nil {
		resp.ErrorCode = protocol.ErrorCode(err)
		r.Respond(resp)
		return
	}
	stops := stopReplicas(req)
	errs, err := b.replicas.StopReplicas(req.ControllerEpoch, stops)
	resp.ErrorCode = protocol.ErrorCode(err)
	if err == nil {
		for _, s := range stops {
			p := kmsg.NewStopReplicaResponsePartition()
			p.Topic, p.Partition = s.TP.Topic, s.TP.Partition
			p.ErrorCode = protocol.ErrorCode(errs[s.TP])
			resp.Partitions = append(resp.Partitions, p)
		}
	}
	r.Respond(resp)
}

// stopReplicas reads the three shapes of the request: a flat list (v0), partitions by topic (v1-2), states by topic (v3+).
func stopReplicas(req *kmsg.StopReplicaRequest) []replication.StopReplica {
	var out []replication.StopReplica
	add := func(topic string, p int32, epoch metadata.LeaderEpoch, remove bool) {
		out = append(out, replication.StopReplica{
			TP: metadata.TopicPartition{Topic: topic, Partition: p}, LeaderEpoch: epoch, Delete: remove,
		})
	}
	for _, t := range req.Topics {
		switch {
		case req.Version == 0:
			add(t.Topic, t.Partition, metadata.NoEpoch, req.DeletePartitions)
		case req.Version < 3:
			for _, p := range t.Partitions {
				add(t.Topic, p, metadata.NoEpoch, req.DeletePartitions)
			}
		default:
			for _, p := range t.PartitionStates {
				add(t.Topic, p.Partition, metadata.LeaderEpoch(p.LeaderEpoch), p.Delete)
			}
		}
	}
	return out
}
