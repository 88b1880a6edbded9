// Package znode knows where Kafka keeps its state in ZooKeeper and how each node is written: paths and JSON.
//
// Encoders give the bytes that Apache Kafka 3.9 writes, key order included, so that both can be members of one
// cluster and a diff of two dumps shows only what differs in meaning. Decoders are tolerant: they take every version of
// a node that Kafka has written since 0.8, ignore unknown keys, and accept a number where a string is usual and the
// other way round. A decoder that fails returns *DecodeError.
//
// The package is pure: no IO, no clock.
package znode
