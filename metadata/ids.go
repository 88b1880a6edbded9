package metadata

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// BrokerID names a broker, broker.id in its configuration. NoBroker where there is none.
type BrokerID int32

const (
	// NoBroker stands for "no leader" and "no controller" on the wire and in znodes.
	NoBroker BrokerID = -1
	// LeaderDuringDelete is the leader of a partition whose topic is being deleted. Kafka: LeaderAndIsr.LeaderDuringDelete.
	LeaderDuringDelete BrokerID = -2
)

// LeaderEpoch counts the leaders of a partition; it grows with each election. NoEpoch where it is not known.
type LeaderEpoch int32

// NoEpoch means that an epoch is unknown, or that the sender asks for no check.
const NoEpoch LeaderEpoch = -1

// EpochDuringDelete comes in StopReplica for a topic that is being deleted and switches the epoch check off.
// Kafka: LeaderAndIsr.EpochDuringDelete.
const EpochDuringDelete LeaderEpoch = -2

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String gives the name that Kafka uses in logs and for directories: topic-partition.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.FormatInt(int64(tp.Partition), 10)
}

// Compare orders by topic, then by partition number.
func (tp TopicPartition) Compare(o TopicPartition) int {
	switch {
	case tp.Topic < o.Topic:
		return -1
	case tp.Topic > o.Topic:
		return 1
	default:
		return int(tp.Partition) - int(o.Partition)
	}
}

// TopicID is the id that distinguishes a topic from an earlier one of the same name (KIP-516). The zero value means "none".
type TopicID [16]byte

// String gives the 22 characters of base64url without padding that Kafka writes into znodes and partition.metadata.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports whether there is no id.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID reads what String wrote.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("topic id %q: not 16 bytes of base64url", s)
	}
	copy(id[:], b)
	return id, nil
}
