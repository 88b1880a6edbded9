package zkstore

import (
	"context"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// Session is one ZooKeeper session. Its methods may be called from any goroutine; after Done they fail with
// ErrSessionExpired.
type Session struct{ id int64 }

// ID is the session id that ZooKeeper gave, the owner of the session's ephemeral nodes.
func (s *Session) ID() int64 { return s.id }

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return nil }

// Connected reports whether there is a connection that carries the session right now.
func (s *Session) Connected() bool { return false }

func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) { panic("todo") }
func (s *Session) GetW(ctx context.Context, path string) ([]byte, Stat, <-chan Event, error) {
	panic("todo")
}
func (s *Session) Exists(ctx context.Context, path string) (bool, Stat, error) { panic("todo") }
func (s *Session) ExistsW(ctx context.Context, path string) (bool, Stat, <-chan Event, error) {
	panic("todo")
}
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) { panic("todo") }
func (s *Session) ChildrenW(ctx context.Context, path string) ([]string, Stat, <-chan Event, error) {
	panic("todo")
}
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode) (string, error) {
	panic("todo")
}
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	panic("todo")
}
func (s *Session) Delete(ctx context.Context, path string, version int32) error     { panic("todo") }
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]OpResult, error)         { panic("todo") }
func (s *Session) Sync(ctx context.Context, path string) error                      { panic("todo") }
func (s *Session) GetMany(ctx context.Context, paths []string) ([]GetResult, error) { panic("todo") }
func (s *Session) GetManyW(ctx context.Context, paths []string) ([]GetResult, error) {
	panic("todo") // watches fire OnEvent callbacks
}

// DoMany runs each group as one Multi, pipelined; results[i] belongs to groups[i].
func (s *Session) DoMany(ctx context.Context, groups [][]Op) ([]GroupResult, error) { panic("todo") }

// GroupResult is the result of one group of DoMany.
type GroupResult struct {
	Ops []OpResult
	Err error
}

// OnEvent calls f for every watch event of the session, for each Reconnected and for SessionOver; f must not block.
func (s *Session) OnEvent(f func(Event)) (remove func()) { panic("todo") }

// WatchChildren calls f with the children (unsorted) now and after each change, until ctx or the session ends.
// A missing node is reported as no children.
func (s *Session) WatchChildren(ctx context.Context, path string, f func(children []string)) error {
	panic("todo")
}

// WatchData calls f with the data now and after each change; exists is false while there is no node.
func (s *Session) WatchData(ctx context.Context, path string, f func(data []byte, st Stat, exists bool)) error {
	panic("todo")
}

// WatchConfigChanges calls f for each new notification below /config/changes, and purges old ones.
func (s *Session) WatchConfigChanges(ctx context.Context, f func(entityType, entityName string)) error {
	panic("todo")
}

func (s *Session) EnsurePersistentPaths(ctx context.Context) error { panic("todo") }

// ClusterID returns the id in /cluster/id, which it makes when there is none.
func (s *Session) ClusterID(ctx context.Context) (string, error) { panic("todo") }
func (s *Session) GenerateBrokerID(ctx context.Context, reservedMax int32) (metadata.BrokerID, error) {
	panic("todo")
}

// RegisterBroker creates /brokers/ids/N and returns its czxid, the broker epoch.
func (s *Session) RegisterBroker(ctx context.Context, info znode.BrokerInfo) (epoch int64, err error) {
	panic("todo")
}

// UpdateBroker rewrites the registration of this session (listeners changed).
func (s *Session) UpdateBroker(ctx context.Context, info znode.BrokerInfo) error { panic("todo") }

// LiveBrokers returns the registered brokers; Epoch is filled.
func (s *Session) LiveBrokers(ctx context.Context) (map[metadata.BrokerID]znode.BrokerInfo, error) {
	panic("todo")
}

// Election is the right to write as controller. Kafka: the controller epoch and its zkVersion.
type Election struct {
	// Epoch is the controller epoch.
	Epoch int32
	// EpochZKVersion is the ZooKeeper version of /controller_epoch after the election.
	EpochZKVersion int32
}

// ElectController tries to become controller. When another one is, won is false and current names it.
func (s *Session) ElectController(ctx context.Context, id metadata.BrokerID) (e Election, won bool, current metadata.BrokerID, err error) {
	panic("todo")
}

// CurrentController returns who is controller, metadata.NoBroker when nobody is.
func (s *Session) CurrentController(ctx context.Context) (metadata.BrokerID, error) { panic("todo") }

// Resign deletes /controller if this session owns it and the election still holds.
func (s *Session) Resign(ctx context.Context, e Election) error { panic("todo") }

// Topics returns the names of all topics, unsorted.
func (s *Session) Topics(ctx context.Context) ([]string, error) { panic("todo") }

// TopicNode is a topic assignment and the ZooKeeper version of its node.
type TopicNode struct {
	znode.TopicAssignment
	Version int32
}

// TopicAssignments reads the topics that exist among names. With watch, a data watch is left on each (see OnEvent).
func (s *Session) TopicAssignments(ctx context.Context, names []string, watch bool) (map[string]TopicNode, error) {
	panic("todo")
}

// PartitionStates reads the states that exist among tps; PartitionEpoch is the version of the node.
func (s *Session) PartitionStates(ctx context.Context, tps []metadata.TopicPartition) (map[metadata.TopicPartition]metadata.LeaderAndISR, error) {
	panic("todo")
}

// CreateTopic writes /config/topics/T and then /brokers/topics/T; ErrNodeExists when the topic exists.
func (s *Session) CreateTopic(ctx context.Context, name string, a znode.TopicAssignment, config map[string]string) error {
	panic("todo")
}

// RequestTopicDeletion creates /admin/delete_topics/T; ErrNodeExists when it is asked already.
func (s *Session) RequestTopicDeletion(ctx context.Context, topic string) error { panic("todo") }

// TopicDeletions lists the topics below /admin/delete_topics.
func (s *Session) TopicDeletions(ctx context.Context) ([]string, error) { panic("todo") }

// TopicConfigs reads the configurations of topics; a topic without one has an empty map.
func (s *Session) TopicConfigs(ctx context.Context, names []string) (map[string]map[string]string, error) {
	panic("todo")
}

// EntityConfig reads one configuration; empty when there is no node.
func (s *Session) EntityConfig(ctx context.Context, entityType, name string) (map[string]string, error) {
	panic("todo")
}

// EntityConfigs reads all configurations of a type.
func (s *Session) EntityConfigs(ctx context.Context, entityType string) (map[string]map[string]string, error) {
	panic("todo")
}

// SetEntityConfig writes a whole configuration and then the change notification.
func (s *Session) SetEntityConfig(ctx context.Context, entityType, name string, config map[string]string) error {
	panic("todo")
}

// AddPartitions rewrites the topic assignment without the controller check, as Kafka does for CreatePartitions.
func (s *Session) AddPartitions(ctx context.Context, topic string, a znode.TopicAssignment) error {
	panic("todo")
}

// AllocateProducerIDs reserves the next block of ids for a broker: ids first to first+count-1.
func (s *Session) AllocateProducerIDs(ctx context.Context, broker metadata.BrokerID) (first int64, count int32, err error) {
	panic("todo")
}

// NotifyLogDirFailure tells the controller that this broker lost a log directory.
func (s *Session) NotifyLogDirFailure(ctx context.Context, broker metadata.BrokerID) error {
	panic("todo")
}

// EnsureFeature creates /feature when it is not there.
func (s *Session) EnsureFeature(ctx context.Context) error { panic("todo") }
