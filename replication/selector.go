package replication

import "jackdaw/metadata"

// ReplicaView is a replica that a consumer could read from: alive, in the ISR, and holding the wanted offset.
// Kafka: ReplicaView.
type ReplicaView struct {
	ID     metadata.BrokerID
	Rack   string
	LEO    int64
	Leader bool
}

// ReplicaSelector chooses where a consumer reads (KIP-392). It returns one of the candidates' ids, or NoBroker for the
// leader. It is called for each fetch of a partition and must not block. Kafka: ReplicaSelector.
type ReplicaSelector interface {
	Select(rack string, candidates []ReplicaView) metadata.BrokerID
}

// RackAware prefers the replica in the consumer's rack that has most, and the leader if it is there itself.
// Kafka: RackAwareReplicaSelector.
type RackAware struct{}

// Select implements ReplicaSelector.
func (RackAware) Select(rack string, candidates []ReplicaView) metadata.BrokerID {
	best := ReplicaView{ID: metadata.NoBroker, LEO: -1}
	if rack == "" {
		return metadata.NoBroker
	}
	for _, c := range candidates {
		if c.Rack != rack {
			continue
		}
		if c.Leader {
			return c.ID
		}
		if c.LEO > best.LEO {
			best = c
		}
	}
	return best.ID
}
