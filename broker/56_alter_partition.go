package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// AlterPartition (56), v0-3. Kafka: KafkaApis.handleAlterPartitionRequest; KIP-497.
// Differs from Kafka: broker epochs of the new ISR are checked (KIP-903).   Pipelined: no.   Cost: one ZooKeeper write a partition.
func (b *Broker) handleAlterPartition(r *network.Request) {
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	r.Respond(b.controller.AlterPartition(r.Context(), r.Body.(*kmsg.AlterPartitionRequest)))
}
