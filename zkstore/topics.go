package zkstore

import (
	"context"
	"errors"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// TopicNode is a topic assignment and the ZooKeeper version of its node.
type TopicNode struct {
	znode.TopicAssignment
	Version int32
}

// Topics returns the names of all topics, in no order.
func (s *Session) Topics(ctx context.Context) ([]string, error) {
	return s.childrenIfAny(ctx, znode.TopicsPath)
}

// TopicDeletions lists the topics below /admin/delete_topics.
func (s *Session) TopicDeletions(ctx context.Context) ([]string, error) {
	return s.childrenIfAny(ctx, znode.DeleteTopicsPath)
}

func (s *Session) childrenIfAny(ctx context.Context, path string) ([]string, error) {
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// TopicAssignments reads the topics that exist among names. With watch, a data watch is left on each of them, whose
// events come to OnEvent.
func (s *Session) TopicAssignments(ctx context.Context, names []string, watch bool) (map[string]TopicNode, error) {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = znode.TopicPath(n)
	}
	read := s.GetMany
	if watch {
		read = s.GetManyW
	}
	got, err := read(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[string]TopicNode, len(names))
	for i, r := range got {
		if errors.Is(r.Err, ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return nil, r.Err
		}
		a, err := znode.DecodeTopicAssignment(r.Data)
		if err != nil {
			return nil, wrap("read", paths[i], err)
		}
		out[names[i]] = TopicNode{TopicAssignment: a, Version: r.Stat.Version}
	}
	return out, nil
}

// PartitionStates reads the states that exist among tps; PartitionEpoch is the version of the node.
func (s *Session) PartitionStates(ctx context.Context, tps []metadata.TopicPartition) (map[metadata.TopicPartition]metadata.LeaderAndISR, error) {
	states, _, err := s.WrittenStates(ctx, tps)
	return states, err
}

// WrittenStates is PartitionStates that also tells the transaction that wrote each state, to be compared with the epochs
// of brokers: a broker with a higher one registered after it.
func (s *Session) WrittenStates(ctx context.Context, tps []metadata.TopicPartition) (states map[metadata.TopicPartition]metadata.LeaderAndISR,
	written map[metadata.TopicPartition]int64, err error,
) {
	paths := make([]string, len(tps))
	for i, tp := range tps {
		paths[i] = znode.StatePath(tp)
	}
	got, err := s.GetMany(ctx, paths)
	if err != nil {
		return nil, nil, err
	}
	states = make(map[metadata.TopicPartition]metadata.LeaderAndISR, len(tps))
	written = make(map[metadata.TopicPartition]int64, len(tps))
	for i, r := range got {
		if errors.Is(r.Err, ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return nil, nil, r.Err
		}
		state, err := znode.DecodePartitionState(r.Data, r.Stat.Version)
		if err != nil {
			return nil, nil, wrap("read", paths[i], err)
		}
		states[tps[i]], written[tps[i]] = state, r.Stat.MZxid
	}
	return states, written, nil
}

// CreateTopic writes the configuration of a new topic and then its assignment, which makes the controller act.
// ErrNodeExists when the topic exists; its configuration is untouched then unless both were created at the same time.
// Kafka: AdminZkClient.createTopicWithAssignment.
func (s *Session) CreateTopic(ctx context.Context, name string, a znode.TopicAssignment, config map[string]string) error {
	path := znode.TopicPath(name)
	exists, _, err := s.Exists(ctx, path)
	if err != nil {
		return err
	}
	if exists {
		return wrap("create", path, ErrNodeExists)
	}
	configPath, data := znode.TopicConfigPath(name), znode.EncodeConfig(config)
	err = s.createAll(ctx, configPath, data)
	if errors.Is(err, ErrNodeExists) { // left by a creation that was cut off
		_, err = s.Set(ctx, configPath, data, AnyVersion)
	}
	if err != nil {
		return err
	}
	return s.createAll(ctx, path, a.Encode())
}

// AddPartitions rewrites the assignment of a topic without the check of the controller, as Kafka does for
// CreatePartitions. version is that of the assignment that a was made from. Kafka: AdminZkClient.createPartitionsWithAssignment.
func (s *Session) AddPartitions(ctx context.Context, topic string, a znode.TopicAssignment, version int32) error {
	_, err := s.Set(ctx, znode.TopicPath(topic), a.Encode(), version)
	return err
}

// RequestTopicDeletion asks the controller to delete a topic; ErrNodeExists when it was asked already.
func (s *Session) RequestTopicDeletion(ctx context.Context, topic string) error {
	return s.createAll(ctx, znode.DeleteTopicPath(topic), nil)
}
