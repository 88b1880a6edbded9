package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// AlterReplicaLogDirs (34), v0-2. Kafka: KafkaApis.handleAlterReplicaLogDirsRequest; KIP-113.
// Pipelined: no.   Cost: a directory for each partition; the copying goes on afterwards.
func (b *Broker) handleAlterReplicaLogDirs(r *network.Request) {
	req := r.Body.(*kmsg.AlterReplicaLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	moves := logDirMoves(req)
	topics := map[string]int{}
	for i, err := range b.replicas.AlterLogDirs(moves) {
		tp := moves[i].TP
		at, ok := topics[tp.Topic]
		if !ok {
			at = len(resp.Topics)
			topics[tp.Topic] = at
			resp.Topics = append(resp.Topics, kmsg.AlterReplicaLogDirsResponseTopic{Topic: tp.Topic})
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{
			Partition: tp.Partition, ErrorCode: protocol.ErrorCode(err),
		})
	}
	r.Respond(resp)
}

// logDirMoves lists what is asked for; of a partition that is named more than once the last directory counts.
func logDirMoves(req *kmsg.AlterReplicaLogDirsRequest) []replication.LogDirMove {
	var moves []replication.LogDirMove
	at := map[metadata.TopicPartition]int{}
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				mv := replication.LogDirMove{TP: metadata.TopicPartition{Topic: t.Topic, Partition: p}, Dir: d.Dir}
				if i, ok := at[mv.TP]; ok {
					moves[i] = mv
					continue
				}
				at[mv.TP] = len(moves)
				moves = append(moves, mv)
			}
		}
	}
	return moves
}
