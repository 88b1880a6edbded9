package controller

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// signal is a part of ZooKeeper that the controller watches.
type signal uint16

const (
	sigController signal = 1 << iota
	sigBrokers
	sigTopics
	sigDeletions
	sigReassign
	sigPreferred
	sigISR
	sigLogDirs
	// sigAllTopics stands for the data of every topic.
	sigAllTopics
	sigAll signal = 1<<iota - 1
)

// signals gathers what has changed until the loop has time to read it. Events that come fast become one.
type signals struct {
	// wake holds a token while something has changed.
	wake chan struct{}

	mu struct {
		sync.Mutex
		set signal
		// topics are those whose node changed.
		topics map[string]struct{}
	}
}

func newSignals() *signals {
	g := &signals{wake: make(chan struct{}, 1)}
	g.mu.topics = map[string]struct{}{}
	return g
}

// event takes a watch event; it is called by the ZooKeeper client and does not block.
func (g *signals) event(e zkstore.Event) {
	sig, topic := classify(e)
	if sig == 0 && topic == "" {
		return
	}
	g.mu.Lock()
	g.mu.set |= sig
	if topic != "" {
		g.mu.topics[topic] = struct{}{}
	}
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// classify tells what an event is about. After a new connection everything must be read again, since events may be lost.
func classify(e zkstore.Event) (signal, string) {
	if e.Type == zkstore.Reconnected {
		return sigAll, ""
	}
	switch e.Path {
	case znode.ControllerPath:
		return sigController, ""
	case znode.BrokerIDsPath:
		return sigBrokers, ""
	case znode.TopicsPath:
		return sigTopics, ""
	case znode.DeleteTopicsPath:
		return sigDeletions, ""
	case znode.ReassignPartitionsPath:
		return sigReassign, ""
	case znode.PreferredElectionPath:
		return sigPreferred, ""
	case znode.IsrChangePath:
		return sigISR, ""
	case znode.LogDirEventPath:
		return sigLogDirs, ""
	}
	if strings.HasPrefix(e.Path, znode.BrokerIDsPath+"/") {
		return sigBrokers, ""
	}
	if name, ok := strings.CutPrefix(e.Path, znode.TopicsPath+"/"); ok && !strings.Contains(name, "/") && e.Type == zkstore.NodeDataChanged {
		return 0, name
	}
	return 0, ""
}

// take returns what has changed since the last call.
func (g *signals) take() (signal, []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	set := g.mu.set
	g.mu.set = 0
	var topics []string
	for t := range g.mu.topics {
		topics = append(topics, t)
	}
	clear(g.mu.topics)
	return set, topics
}

// changed reads again what has changed and lets the state react. A step that ends the term makes the rest void.
func (c *Controller) changed(ctx context.Context) {
	set, topics := c.signals.take()
	if set&sigController != 0 {
		c.checkController(ctx)
	}
	if set&sigAllTopics != 0 && c.office != nil {
		topics = c.office.state.TopicNames()
	}
	for _, w := range []struct {
		sig    signal
		handle func(ctx context.Context)
	}{
		{sigBrokers, c.brokersChanged},
		{sigTopics, c.topicsChanged},
		{sigAllTopics, func(ctx context.Context) { c.topicDataChanged(ctx, topics) }},
		{sigDeletions, c.deletionsChanged},
		{sigReassign, c.legacyReassignments},
		{sigPreferred, c.legacyElections},
		{sigISR, c.isrChanged},
		{sigLogDirs, c.logDirsChanged},
	} {
		if c.office != nil && (set&w.sig != 0 || w.sig == sigAllTopics && len(topics) > 0) {
			w.handle(ctx)
		}
	}
}

func (c *Controller) brokersChanged(ctx context.Context) {
	brokers, err := readBrokers(ctx, c.office.session)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	c.office.state.SetBrokers(brokers)
	c.drain(ctx)
}

func (c *Controller) topicsChanged(ctx context.Context) {
	o := c.office
	names, err := childrenW(ctx, o.session, znode.TopicsPath)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	fresh, err := c.readTopics(ctx, o, o.state.Missing(names))
	if err != nil {
		c.fail(ctx, err)
		return
	}
	o.state.SetTopics(names, fresh)
	c.drain(ctx)
}

func (c *Controller) topicDataChanged(ctx context.Context, names []string) {
	o := c.office
	nodes, err := o.session.TopicAssignments(ctx, names, true)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	for name, n := range nodes {
		o.state.SetPartitions(name, snapshotOf(n.TopicAssignment).Partitions)
	}
	c.drain(ctx)
}

func (c *Controller) deletionsChanged(ctx context.Context) {
	o := c.office
	names, err := childrenW(ctx, o.session, znode.DeleteTopicsPath)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	if !c.cfg.DeleteTopicEnable {
		c.clearDeletions(ctx, names)
		return
	}
	unknown := o.state.DeleteTopics(names)
	if c.drain(ctx) {
		c.clearDeletions(ctx, unknown)
	}
}

// clearDeletions removes requests that will not be followed.
func (c *Controller) clearDeletions(ctx context.Context, names []string) bool {
	if len(names) == 0 {
		return true
	}
	c.lg.Warn("topic deletions are not carried out: no such topic, or delete.topic.enable is false", "topics", names)
	if err := c.office.writer.DeletePaths(ctx, deletionPaths(names)); err != nil {
		c.fail(ctx, err)
		return false
	}
	return true
}

func deletionPaths(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = znode.DeleteTopicPath(n)
	}
	return out
}

// isrChanged follows leaders that write their ISR themselves. Kafka: KafkaController.processIsrChangeNotification.
func (c *Controller) isrChanged(ctx context.Context) {
	o := c.office
	if _, err := childrenW(ctx, o.session, znode.IsrChangePath); err != nil {
		c.fail(ctx, err)
		return
	}
	tps, err := o.writer.TakeIsrChanges(ctx)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	states, err := o.session.PartitionStates(ctx, tps)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	o.state.StatesChanged(states)
	c.drain(ctx)
}

// logDirsChanged asks brokers that lost a log directory which replicas are concerned.
func (c *Controller) logDirsChanged(ctx context.Context) {
	o := c.office
	if _, err := childrenW(ctx, o.session, znode.LogDirEventPath); err != nil {
		c.fail(ctx, err)
		return
	}
	ids, err := o.writer.TakeLogDirEvents(ctx)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	if len(ids) > 0 {
		o.state.CheckLogDirs(ids)
		c.drain(ctx)
	}
}

// legacyReassignments takes over what an old tool wrote to /admin/reassign_partitions.
func (c *Controller) legacyReassignments(ctx context.Context) {
	o := c.office
	if o == nil {
		return
	}
	data, exists, err := dataW(ctx, o.session, znode.ReassignPartitionsPath)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	if !exists || len(o.legacy) > 0 {
		return
	}
	list, err := znode.DecodeReassignPartitions(data)
	if err != nil {
		c.lg.Error("reassignment node", "err", err)
	}
	for _, r := range list {
		if err := o.state.Reassign(r.TP, r.Replicas); err != nil {
			c.lg.Warn("reassignment refused", "topic", r.TP.Topic, "partition", r.TP.Partition, "err", err)
			continue
		}
		o.legacy[r.TP] = struct{}{}
	}
	if len(o.legacy) == 0 {
		c.removeLegacy(ctx)
		return
	}
	c.drain(ctx)
}

// trimLegacy forgets the partitions of /admin/reassign_partitions that are done, and the node with the last.
func (c *Controller) trimLegacy(ctx context.Context) {
	o := c.office
	if o == nil || len(o.legacy) == 0 {
		return
	}
	before := len(o.legacy)
	var rest []znode.Reassignment
	moving := map[metadata.TopicPartition]struct{}{}
	for _, tp := range o.state.Reassigning() {
		moving[tp] = struct{}{}
	}
	for tp := range o.legacy {
		if _, ok := moving[tp]; !ok {
			delete(o.legacy, tp)
			continue
		}
		a, _ := o.state.Assignment(tp)
		rest = append(rest, znode.Reassignment{TP: tp, Replicas: a.Target()})
	}
	switch {
	case len(o.legacy) == 0:
		c.removeLegacy(ctx)
	case len(o.legacy) < before:
		if err := o.writer.SetPath(ctx, znode.ReassignPartitionsPath, znode.EncodeReassignPartitions(rest)); err != nil {
			c.fail(ctx, err)
		}
	}
}

func (c *Controller) removeLegacy(ctx context.Context) {
	if err := c.office.writer.DeletePath(ctx, znode.ReassignPartitionsPath); err != nil {
		c.fail(ctx, err)
	}
}

// legacyElections does what an old tool wrote to /admin/preferred_replica_election.
func (c *Controller) legacyElections(ctx context.Context) {
	o := c.office
	if o == nil {
		return
	}
	data, exists, err := dataW(ctx, o.session, znode.PreferredElectionPath)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	if !exists {
		return
	}
	tps, err := znode.DecodePreferredElection(data)
	if err != nil {
		c.lg.Error("preferred election node", "err", err)
	}
	if len(tps) > 0 {
		o.state.ElectPreferred(tps)
		if !c.drain(ctx) {
			return
		}
	}
	if err := o.writer.DeletePath(ctx, znode.PreferredElectionPath); err != nil {
		c.fail(ctx, err)
	}
}

// readBrokers reads all registrations and leaves watches on their list and on each.
func readBrokers(ctx context.Context, s *zkstore.Session) ([]metadata.Broker, error) {
	names, err := childrenW(ctx, s, znode.BrokerIDsPath)
	if err != nil {
		return nil, err
	}
	var ids []metadata.BrokerID
	var paths []string
	for _, n := range names {
		id, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			continue // not a registration
		}
		ids = append(ids, metadata.BrokerID(id))
		paths = append(paths, znode.BrokerPath(metadata.BrokerID(id)))
	}
	got, err := s.GetManyW(ctx, paths)
	if err != nil {
		return nil, err
	}
	var out []metadata.Broker
	for i, r := range got {
		if errors.Is(r.Err, zkstore.ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return nil, r.Err
		}
		b, err := znode.DecodeBroker(ids[i], r.Data)
		if err != nil {
			return nil, err
		}
		b.Epoch = r.Stat.CZxid
		out = append(out, b.Broker)
	}
	return out, nil
}

// childrenW lists children and leaves a watch; a node that is not there has none, and its creation is watched.
func childrenW(ctx context.Context, s *zkstore.Session, path string) ([]string, error) {
	for {
		names, _, _, err := s.ChildrenW(ctx, path)
		if !errors.Is(err, zkstore.ErrNoNode) {
			return names, err
		}
		exists, _, _, err := s.ExistsW(ctx, path)
		if err != nil || !exists {
			return nil, err
		}
	}
}

// dataW reads a node and leaves a watch on its data or its creation.
func dataW(ctx context.Context, s *zkstore.Session, path string) (data []byte, exists bool, err error) {
	for {
		data, _, _, err = s.GetW(ctx, path)
		if !errors.Is(err, zkstore.ErrNoNode) {
			return data, err == nil, err
		}
		exists, _, _, err = s.ExistsW(ctx, path)
		if err != nil || !exists {
			return nil, false, err
		}
	}
}
