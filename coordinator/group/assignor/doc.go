// Package assignor decides which partitions each member of a consumer group is to own (KIP-848): pure functions of the
// members, what they subscribe to, and what they were given last time.
//
// Where Kafka goes through a hash map and any order will do, the order here is fixed, so that the same input gives the same
// result on every broker.
//
// Kafka: ConsumerGroupPartitionAssignor, UniformAssignor, RangeAssignor.
package assignor
