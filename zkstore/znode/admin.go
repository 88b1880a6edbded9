package znode

import (
	"fmt"

	"jackdaw/metadata"
)

// Reassignment is the target of one partition in /admin/reassign_partitions.
type Reassignment struct {
	TP       metadata.TopicPartition
	Replicas []metadata.BrokerID
}

// EncodeReassignPartitions gives version 1 of /admin/reassign_partitions, the way in of old tools.
// Kafka: ReassignPartitionsZNode.
func EncodeReassignPartitions(list []Reassignment) []byte {
	out := append([]byte(nil), `{"version":1,"partitions":[`...)
	for i, r := range list {
		out = appendComma(out, i)
		out = appendString(append(out, `{"topic":`...), r.TP.Topic)
		out = fmt.Appendf(out, `,"partition":%d,"replicas":`, r.TP.Partition)
		out = append(appendInts(out, r.Replicas), '}')
	}
	return append(out, `]}`...)
}

// DecodeReassignPartitions reads /admin/reassign_partitions.
func DecodeReassignPartitions(data []byte) ([]Reassignment, error) {
	var j struct {
		Partitions []struct {
			Topic     text                `json:"topic"`
			Partition number              `json:"partition"`
			Replicas  []metadata.BrokerID `json:"replicas"`
		} `json:"partitions"`
	}
	if err := decode("reassign partitions", data, &j); err != nil {
		return nil, err
	}
	out := make([]Reassignment, 0, len(j.Partitions))
	for _, p := range j.Partitions {
		tp := metadata.TopicPartition{Topic: string(p.Topic), Partition: int32(p.Partition)}
		out = append(out, Reassignment{TP: tp, Replicas: p.Replicas})
	}
	return out, nil
}

// EncodePreferredElection gives version 1 of /admin/preferred_replica_election. Kafka: PreferredReplicaElectionZNode.
func EncodePreferredElection(list []metadata.TopicPartition) []byte { return encodePartitionList(list) }

// DecodePreferredElection reads /admin/preferred_replica_election.
func DecodePreferredElection(data []byte) ([]metadata.TopicPartition, error) {
	return decodePartitionList("preferred replica election", data)
}

// EncodeIsrChange gives version 1 of a node below /isr_change_notification, which brokers with an
// inter.broker.protocol.version below 2.7 write. Kafka: IsrChangeNotificationSequenceZNode.
func EncodeIsrChange(list []metadata.TopicPartition) []byte { return encodePartitionList(list) }

// DecodeIsrChange reads a node below /isr_change_notification.
func DecodeIsrChange(data []byte) ([]metadata.TopicPartition, error) {
	return decodePartitionList("isr change notification", data)
}

// encodePartitionList writes the form that elections and ISR changes share.
func encodePartitionList(list []metadata.TopicPartition) []byte {
	out := append([]byte(nil), `{"version":1,"partitions":[`...)
	for i, tp := range list {
		out = appendComma(out, i)
		out = appendString(append(out, `{"topic":`...), tp.Topic)
		out = fmt.Appendf(out, `,"partition":%d}`, tp.Partition)
	}
	return append(out, `]}`...)
}

// decodePartitionList reads what encodePartitionList writes. Null data is no partition.
func decodePartitionList(node string, data []byte) ([]metadata.TopicPartition, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var j struct {
		Partitions []struct {
			Topic     text   `json:"topic"`
			Partition number `json:"partition"`
		} `json:"partitions"`
	}
	if err := decode(node, data, &j); err != nil {
		return nil, err
	}
	out := make([]metadata.TopicPartition, 0, len(j.Partitions))
	for _, p := range j.Partitions {
		out = append(out, metadata.TopicPartition{Topic: string(p.Topic), Partition: int32(p.Partition)})
	}
	return out, nil
}

// LogDirFailure is the only event of LogDirEvent.
const LogDirFailure = 1

// LogDirEvent is a node below /log_dir_event_notification: a broker lost a log directory.
// Kafka: LogDirEventNotificationSequenceZNode.
type LogDirEvent struct {
	Broker metadata.BrokerID
	// Event is LogDirFailure.
	Event int
}

// Encode gives version 1 of the node.
func (e LogDirEvent) Encode() []byte {
	return fmt.Appendf(nil, `{"version":1,"broker":%d,"event":%d}`, e.Broker, e.Event)
}

// DecodeLogDirEvent reads the node.
func DecodeLogDirEvent(data []byte) (LogDirEvent, error) {
	var j struct {
		Broker *number `json:"broker"`
		Event  number  `json:"event"`
	}
	if err := decode("log dir event", data, &j); err != nil {
		return LogDirEvent{}, err
	}
	if j.Broker == nil {
		return LogDirEvent{}, &DecodeError{Node: "log dir event", Data: data, Err: errMissing("broker")}
	}
	return LogDirEvent{Broker: metadata.BrokerID(*j.Broker), Event: int(j.Event)}, nil
}
