package znode

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"jackdaw/metadata"
)

// TopicAssignment is /brokers/topics/T: which brokers hold which partition. Kafka: TopicZNode, ReplicaAssignment.
type TopicAssignment struct {
	// TopicID is zero for a topic that a broker older than 2.8 made.
	TopicID metadata.TopicID
	// Partitions lists the replicas of each partition, the preferred leader first. During a reassignment these are the
	// target in its order and then those being removed.
	Partitions map[int32][]metadata.BrokerID
	// Adding and Removing are filled for partitions under reassignment only (KIP-455).
	Adding, Removing map[int32][]metadata.BrokerID
}

// Encode gives version 3 of the node, partitions in rising order.
func (t TopicAssignment) Encode() []byte {
	out := append([]byte(nil), `{"partitions":`...)
	out = appendReplicas(out, t.Partitions)
	if !t.TopicID.IsZero() {
		out = fmt.Appendf(out, `,"topic_id":"%s"`, t.TopicID)
	}
	out = append(out, `,"adding_replicas":`...)
	out = appendReplicas(out, t.Adding)
	out = append(out, `,"removing_replicas":`...)
	out = appendReplicas(out, t.Removing)
	return append(out, `,"version":3}`...)
}

// appendReplicas writes an object from partition to list of brokers.
func appendReplicas(dst []byte, m map[int32][]metadata.BrokerID) []byte {
	dst = append(dst, '{')
	for i, p := range slices.Sorted(maps.Keys(m)) {
		dst = appendComma(dst, i)
		dst = fmt.Appendf(dst, `"%d":`, p)
		dst = appendInts(dst, m[p])
	}
	return append(dst, '}')
}

// DecodeTopicAssignment reads versions 1 to 3.
func DecodeTopicAssignment(data []byte) (TopicAssignment, error) {
	var j struct {
		Partitions map[string][]metadata.BrokerID `json:"partitions"`
		TopicID    text                           `json:"topic_id"`
		Adding     map[string][]metadata.BrokerID `json:"adding_replicas"`
		Removing   map[string][]metadata.BrokerID `json:"removing_replicas"`
	}
	const node = "topic assignment"
	if err := decode(node, data, &j); err != nil {
		return TopicAssignment{}, err
	}
	var t TopicAssignment
	var err error
	if j.TopicID != "" {
		if t.TopicID, err = metadata.ParseTopicID(string(j.TopicID)); err != nil {
			return TopicAssignment{}, &DecodeError{Node: node, Data: data, Err: err}
		}
	}
	for dst, src := range map[*map[int32][]metadata.BrokerID]map[string][]metadata.BrokerID{
		&t.Partitions: j.Partitions, &t.Adding: j.Adding, &t.Removing: j.Removing,
	} {
		if *dst, err = byPartition(src); err != nil {
			return TopicAssignment{}, &DecodeError{Node: node, Data: data, Err: err}
		}
	}
	return t, nil
}

// byPartition turns the keys of a JSON object into partition numbers.
func byPartition(src map[string][]metadata.BrokerID) (map[int32][]metadata.BrokerID, error) {
	out := make(map[int32][]metadata.BrokerID, len(src))
	for k, v := range src {
		p, err := strconv.ParseInt(k, 10, 32)
		if err != nil || p < 0 {
			return nil, fmt.Errorf("partition %q is not a number", k)
		}
		out[int32(p)] = v
	}
	return out, nil
}
