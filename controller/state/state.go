package state

import (
	"maps"
	"slices"

	"jackdaw/metadata"
)

// Config is what does not change while a controller is in office.
type Config struct {
	ID metadata.BrokerID
	// Epoch is the controller epoch.
	Epoch int32
	IBP   IBP
	// Listener names the listener by which brokers reach each other.
	Listener string
	// Unclean tells whether an out-of-sync replica of a topic may lead. It is a look-up and changes nothing.
	Unclean func(topic string) bool
}

// State is all that the active controller knows. It belongs to one goroutine. Kafka: ControllerContext, with
// PartitionStateMachine, ReplicaStateMachine and TopicDeletionManager.
type State struct {
	cfg     Config
	brokers map[metadata.BrokerID]*broker
	// suspects are registered brokers that are treated as dead: see Suspect. None of them is in brokers.
	suspects map[metadata.BrokerID]*broker
	topics   map[string]*topic
	names    map[metadata.TopicID]string
	// reassigning holds the partitions with a reassignment that runs.
	reassigning map[metadata.TopicPartition]struct{}

	steps   []step
	planned []Write
	batch   batch
	out     []Request
	changes []Change
	deposed bool
}

// topic is a topic and its partitions.
type topic struct {
	name       string
	id         metadata.TopicID
	partitions map[int32]*partition
	// deletion is nil unless the topic is to be deleted.
	deletion *deletion
}

// broker is a live broker.
type broker struct {
	metadata.Broker
	// stopping is set by a controlled shutdown: it still gets requests, but may neither lead nor join an ISR.
	stopping bool
	// offline holds the partitions whose log directory failed there.
	offline map[metadata.TopicPartition]struct{}
}

// New returns the state of a controller that knows nothing yet; Load fills it.
func New(cfg Config) *State {
	return &State{
		cfg:         cfg,
		brokers:     map[metadata.BrokerID]*broker{},
		suspects:    map[metadata.BrokerID]*broker{},
		topics:      map[string]*topic{},
		names:       map[metadata.TopicID]string{},
		reassigning: map[metadata.TopicPartition]struct{}{},
	}
}

// Deposed reports whether a state was found that a later controller wrote.
func (s *State) Deposed() bool { return s.deposed }

// online reports whether the replica works and may lead: its broker lives and does not stop, its log directory is well.
func (s *State) online(id metadata.BrokerID, tp metadata.TopicPartition) bool {
	b := s.brokers[id]
	return b != nil && !b.stopping && !b.lost(tp)
}

// present is online that also accepts a stopping broker.
func (s *State) present(id metadata.BrokerID, tp metadata.TopicPartition) bool {
	b := s.brokers[id]
	return b != nil && !b.lost(tp)
}

// lose notes that a replica is offline while its broker lives.
func (b *broker) lose(tp metadata.TopicPartition) {
	if b.offline == nil {
		b.offline = map[metadata.TopicPartition]struct{}{}
	}
	b.offline[tp] = struct{}{}
}

func (b *broker) lost(tp metadata.TopicPartition) bool {
	_, ok := b.offline[tp]
	return ok
}

// eligible reports whether a broker may join an ISR: stopping counts as dead (KIP-841).
func (s *State) eligible(id metadata.BrokerID) bool {
	b := s.brokers[id]
	return b != nil && !b.stopping
}

func (s *State) partition(tp metadata.TopicPartition) *partition {
	t := s.topics[tp.Topic]
	if t == nil {
		return nil
	}
	return t.partitions[tp.Partition]
}

// dying reports whether the topic is to be deleted.
func (s *State) dying(name string) bool {
	t := s.topics[name]
	return t != nil && t.deletion != nil
}

// brokerIDs returns the live brokers by rising id, those that stop among them.
func (s *State) brokerIDs() []metadata.BrokerID { return slices.Sorted(maps.Keys(s.brokers)) }

// partitions returns those that keep accepts, by topic and number. Topics to be deleted are left out, unless they wait for a
// reassignment: without elections that might never end.
func (s *State) partitions(keep func(*partition) bool) []*partition {
	var out []*partition
	for _, t := range s.topics {
		if t.deletion != nil && !s.moving(t) {
			continue
		}
		for _, p := range t.partitions {
			if keep(p) {
				out = append(out, p)
			}
		}
	}
	sortPartitions(out)
	return out
}

func sortPartitions(ps []*partition) {
	slices.SortFunc(ps, func(a, b *partition) int { return a.Compare(b.TopicPartition) })
}

// sorted returns the partitions of a topic by number.
func (t *topic) sorted() []*partition {
	out := slices.Collect(maps.Values(t.partitions))
	sortPartitions(out)
	return out
}

// assignments returns the content of the topic znode.
func (t *topic) assignments() map[int32]Assignment {
	out := make(map[int32]Assignment, len(t.partitions))
	for n, p := range t.partitions {
		out[n] = p.Assignment
	}
	return out
}

// take replaces the state of a partition by a newer one.
func (p *partition) take(li metadata.LeaderAndISR) { p.li, p.known, p.refused = li, true, nil }

// change notes a decision for the state change log and takes it over.
func (s *State) change(p *partition, to metadata.LeaderAndISR, unclean bool) {
	c := Change{Partition: p.TopicPartition, To: to, Unclean: unclean}
	if p.known {
		from := p.li
		c.From = &from
	}
	s.changes = append(s.changes, c)
	p.take(to)
}

// fail notes that nothing could be decided.
func (s *State) fail(p *partition, why string) {
	s.changes = append(s.changes, Change{Partition: p.TopicPartition, To: p.li, Failure: why})
}

// conflict takes over what was found in ZooKeeper instead of what we expected, and reports whether it makes sense to try
// again: the ISR may have been changed by a leader that writes itself (inter.broker.protocol.version below 2.7).
func (s *State) conflict(p *partition, r Result) bool {
	if r.Current == nil {
		s.fail(p, "its state is gone from ZooKeeper")
		return false
	}
	if r.Current.ControllerEpoch > s.cfg.Epoch {
		s.deposed = true
		return false
	}
	p.take(*r.Current)
	return true
}

// next returns the state for a new leader or a new ISR of the same leader: the leader epoch grows, the version is the one to
// be replaced.
func (s *State) next(li metadata.LeaderAndISR, leader metadata.BrokerID, isr []metadata.BrokerID) metadata.LeaderAndISR {
	li.ControllerEpoch = s.cfg.Epoch
	li.Leader = leader
	li.LeaderEpoch++
	li.ISR = isr
	return li
}

// written returns the state as it is in ZooKeeper after a successful write.
func written(w Write, r Result) metadata.LeaderAndISR {
	li := w.State
	li.PartitionEpoch = r.Version
	return li
}
