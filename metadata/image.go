package metadata

import (
	"maps"
	"slices"
)

// Partition is what the controller last told about one partition in UpdateMetadata.
type Partition struct {
	LeaderAndISR
	Replicas []BrokerID
	// Offline are the replicas on dead brokers and failed log directories.
	Offline []BrokerID
}

// Topic is one topic of an Image.
type Topic struct {
	Name string
	// ID is zero when the controller does not know topic ids (inter.broker.protocol.version below 2.8).
	ID         TopicID
	Partitions map[int32]Partition
}

// Image is the cluster as the controller last described it: immutable, replaced as a whole by Apply.
// Kafka: ZkMetadataCache.
type Image struct {
	// Controller is NoBroker until the first update.
	Controller      BrokerID
	ControllerEpoch int32
	brokers         map[BrokerID]Broker
	topics          map[string]*Topic
	names           map[TopicID]string
}

// NewImage returns the picture before the first UpdateMetadata: no brokers, no topics.
func NewImage() *Image {
	return &Image{Controller: NoBroker}
}

// Update is the content of one UpdateMetadata request.
type Update struct {
	Controller      BrokerID
	ControllerEpoch int32
	// Brokers are all live brokers; they replace those of the image.
	Brokers []Broker
	// Topics carry the partitions that changed. A partition whose leader is LeaderDuringDelete is removed.
	Topics []Topic
}

// Apply returns the image after the update. The receiver stays valid.
// Kafka: ZkMetadataCache.updateMetadata.
func (m *Image) Apply(u Update) *Image {
	next := &Image{
		Controller:      u.Controller,
		ControllerEpoch: u.ControllerEpoch,
		brokers:         make(map[BrokerID]Broker, len(u.Brokers)),
		topics:          m.topics,
		names:           m.names,
	}
	for _, b := range u.Brokers {
		next.brokers[b.ID] = b
	}
	if len(u.Topics) > 0 {
		next.topics = maps.Clone(m.topics)
		next.names = maps.Clone(m.names)
		if next.topics == nil {
			next.topics, next.names = map[string]*Topic{}, map[TopicID]string{}
		}
		for _, t := range u.Topics {
			next.applyTopic(t)
		}
	}
	return next
}

// applyTopic changes the maps of an image that nobody else has seen yet.
func (m *Image) applyTopic(u Topic) {
	old := m.topics[u.Name]
	t := &Topic{Name: u.Name, ID: u.ID, Partitions: map[int32]Partition{}}
	if old != nil {
		if u.ID.IsZero() {
			t.ID = old.ID
		}
		if t.ID == old.ID || old.ID.IsZero() {
			maps.Copy(t.Partitions, old.Partitions)
		}
		delete(m.names, old.ID)
	}
	for p, s := range u.Partitions {
		if s.Leader == LeaderDuringDelete {
			delete(t.Partitions, p)
			continue
		}
		t.Partitions[p] = s
	}
	if len(t.Partitions) == 0 {
		delete(m.topics, u.Name)
		return
	}
	m.topics[u.Name] = t
	if !t.ID.IsZero() {
		m.names[t.ID] = u.Name
	}
}

// Broker returns a live broker.
func (m *Image) Broker(id BrokerID) (Broker, bool) {
	b, ok := m.brokers[id]
	return b, ok
}

// Brokers returns all live brokers by rising id.
func (m *Image) Brokers() []Broker {
	out := slices.Collect(maps.Values(m.brokers))
	slices.SortFunc(out, func(a, b Broker) int { return int(a.ID) - int(b.ID) })
	return out
}

// IsAlive reports whether the broker is among the live ones.
func (m *Image) IsAlive(id BrokerID) bool {
	_, ok := m.brokers[id]
	return ok
}

// Topic returns a topic by name. The result is shared and must not be changed.
func (m *Image) Topic(name string) (*Topic, bool) {
	t, ok := m.topics[name]
	return t, ok
}

// TopicByID returns a topic by its id.
func (m *Image) TopicByID(id TopicID) (*Topic, bool) {
	name, ok := m.names[id]
	if !ok {
		return nil, false
	}
	return m.Topic(name)
}

// TopicNames returns all names, sorted.
func (m *Image) TopicNames() []string {
	return slices.Sorted(maps.Keys(m.topics))
}

// NumTopics returns how many topics there are.
func (m *Image) NumTopics() int { return len(m.topics) }

// Partition returns the state of one partition.
func (m *Image) Partition(tp TopicPartition) (Partition, bool) {
	t, ok := m.topics[tp.Topic]
	if !ok {
		return Partition{}, false
	}
	p, ok := t.Partitions[tp.Partition]
	return p, ok
}
