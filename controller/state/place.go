package state

import "jackdaw/metadata"

// BrokerLoad is a live broker and what it carries already, over all topics of the cluster.
type BrokerLoad struct {
	ID metadata.BrokerID
	// Rack is empty when the broker has none.
	Rack string
	// Leaders and Replicas count the partitions it is the preferred leader of and the replicas it holds.
	Leaders, Replicas int
}

// Place assigns replicas to partitions [firstPartition, firstPartition+partitions), least used brokers first.
func Place(brokers []BrokerLoad, firstPartition int32, partitions, rf int) (map[int32][]metadata.BrokerID, error) {
	return nil, nil
}
