package znode

import (
	"fmt"

	"jackdaw/metadata"
)

// EncodePartitionState gives the data of a partition's state node. The partition epoch is the node's version and not
// part of the data; leader_recovery_state is written only while the partition recovers.
// Kafka: TopicPartitionStateZNode.
func EncodePartitionState(s metadata.LeaderAndISR) []byte {
	out := fmt.Appendf(nil, `{"controller_epoch":%d,"leader":%d,"version":1,`, s.ControllerEpoch, s.Leader)
	if s.Recovery != metadata.Recovered {
		out = fmt.Appendf(out, `"leader_recovery_state":%d,`, s.Recovery)
	}
	out = fmt.Appendf(out, `"leader_epoch":%d,"isr":`, s.LeaderEpoch)
	out = appendInts(out, s.ISR)
	return append(out, '}')
}

// DecodePartitionState reads a state node; version is the node's ZooKeeper version and becomes the partition epoch.
func DecodePartitionState(data []byte, version int32) (metadata.LeaderAndISR, error) {
	var j struct {
		ControllerEpoch number               `json:"controller_epoch"`
		Leader          *number              `json:"leader"`
		LeaderEpoch     *number              `json:"leader_epoch"`
		Recovery        number               `json:"leader_recovery_state"`
		ISR             *[]metadata.BrokerID `json:"isr"`
	}
	const node = "partition state"
	if err := decode(node, data, &j); err != nil {
		return metadata.LeaderAndISR{}, err
	}
	switch {
	case j.Leader == nil:
		return metadata.LeaderAndISR{}, &DecodeError{Node: node, Data: data, Err: errMissing("leader")}
	case j.LeaderEpoch == nil:
		return metadata.LeaderAndISR{}, &DecodeError{Node: node, Data: data, Err: errMissing("leader_epoch")}
	case j.ISR == nil:
		return metadata.LeaderAndISR{}, &DecodeError{Node: node, Data: data, Err: errMissing("isr")}
	}
	return metadata.LeaderAndISR{
		ControllerEpoch: int32(j.ControllerEpoch),
		Leader:          metadata.BrokerID(*j.Leader),
		LeaderEpoch:     metadata.LeaderEpoch(*j.LeaderEpoch),
		ISR:             *j.ISR,
		Recovery:        metadata.RecoveryState(j.Recovery),
		PartitionEpoch:  version,
	}, nil
}
