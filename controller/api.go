package controller

import (
	"jackdaw/metadata"
)

// NewTopic asks for a topic. Kafka: CreatableTopic.
type NewTopic struct {
	Name string
	// NumPartitions and RF are -1 with a manual Assignment. The caller has put its defaults in already.
	NumPartitions, RF int32
	// Assignment gives the replicas of each partition, the preferred leader first. Empty: the controller places them.
	Assignment map[int32][]metadata.BrokerID
	// Configs are the topic's own settings, already validated.
	Configs map[string]string
}

// CreateResult is the answer for one NewTopic.
type CreateResult struct {
	Name string
	// ID is zero when the topic was not created.
	ID metadata.TopicID
	// NumPartitions and RF are what was, or with validateOnly would be, created.
	NumPartitions, RF int32
	// Err wraps a *kerr.Error; its text, up to the code's own, is for the client.
	Err error
}

// NewPartitions asks for more partitions of a topic. Kafka: CreatePartitionsTopic.
type NewPartitions struct {
	Topic string
	// Count is the total wanted, not the increase.
	Count int32
	// Assignment has the replicas of each new partition in order; nil: the controller places them.
	Assignment [][]metadata.BrokerID
}

// PartitionsResult is the answer for one NewPartitions.
type PartitionsResult struct {
	Topic string
	Err   error
}

// ElectionType chooses the rule of ElectLeaders.
type ElectionType int8

const (
	// PreferredElection makes the first replica of the assignment the leader, if it is in sync.
	PreferredElection ElectionType = 0
	// UncleanElection lets a replica lead that is not in sync, for partitions that have no leader.
	UncleanElection ElectionType = 1
)

// Reassignment asks to move a partition.
type Reassignment struct {
	metadata.TopicPartition
	// Target is the wanted assignment; nil cancels a reassignment that runs.
	Target []metadata.BrokerID
}

// OngoingReassignment describes a partition that is being moved.
type OngoingReassignment struct {
	metadata.TopicPartition
	Replicas, Adding, Removing []metadata.BrokerID
}
