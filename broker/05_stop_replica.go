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
	b.control(r, req.BrokerEpoch, req.ControllerEpoch, func(err error) {
		if err == nil {
			resp.Partitions, err = b.stopReplicas(req)
		}
		resp.ErrorCode = protocol.ErrorCode(err)
		r.Respond(resp)
	})
}

func (b *Broker) stopReplicas(req *kmsg.StopReplicaRequest) ([]kmsg.StopReplicaResponsePartition, error) {
	stops := stopsAsked(req)
	errs, err := b.replicas.StopReplicas(req.ControllerEpoch, stops)
	if err != nil {
		return nil, err
	}
	out := make([]kmsg.StopReplicaResponsePartition, 0, len(stops))
	for _, s := range stops {
		p := kmsg.NewStopReplicaResponsePartition()
		p.Topic, p.Partition = s.TP.Topic, s.TP.Partition
		p.ErrorCode = protocol.ErrorCode(errs[s.TP])
		out = append(out, p)
	}
	return out, nil
}

// stopsAsked reads the three shapes of the request: a flat list (v0), partitions by topic (v1-2), states by topic (v3+).
func stopsAsked(req *kmsg.StopReplicaRequest) []replication.StopReplica {
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
