// Package group is the consumer group coordinator as a pure state machine: Shard holds the groups and offsets of one
// partition of __consumer_offsets.
//
// Operations take the time as an argument and return coordinator.Effects: batches to append and answers to give. Nothing
// here blocks, locks, logs or reads a clock. The classic protocol of Kafka 3.9 is whole: dynamic and static members, pending
// members, rebalance with initial delay, offsets with expiry, transactional offsets. The files consumer_*.go are the groups of
// KIP-848, and how groups change from one protocol to the other.
//
// coordinator/service is the shell that handlers call.
//
// Kafka: GroupCoordinator, GroupMetadataManager, GroupMetadata; ConsumerGroup.
package group
