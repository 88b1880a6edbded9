package controller

import (
	"context"
	"errors"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// SessionStarted takes part in the election with a new ZooKeeper session. It is a hook of zkstore.Client.OnSession, to be
// registered after the one that registers the broker.
func (c *Controller) SessionStarted(ctx context.Context, s *zkstore.Session) error {
	s.OnEvent(c.signals.event)
	return c.submit(ctx, "session start", func(ctx context.Context) {
		c.session = s
		c.checkController(ctx)
	})
}

// SessionExpired returns when nothing of this controller acts under the old session any more: no event that was queued for
// it can write under the next one. It is the other hook of zkstore.Client.OnSession.
func (c *Controller) SessionExpired() {
	if !c.running.Load() {
		return // nothing acts yet; when Run begins, the start event of this session finds it expired
	}
	done := make(chan struct{})
	expire := func(context.Context) {
		defer close(done)
		c.session = nil
		c.leave()
		c.dismiss()
	}
	select {
	case c.events <- event{name: "session expiry", at: c.cfg.Now(), run: expire}:
	case <-c.stopped:
		return
	}
	select {
	case <-done:
	case <-c.stopped:
	}
}

// checkController looks who is controller, leaves a watch on that, stands for election when nobody is, and steps down when it is
// another. Kafka: KafkaController.processControllerChange, processReelect.
func (c *Controller) checkController(ctx context.Context) {
	s := c.session
	if s == nil {
		return
	}
	data, exists, err := dataW(ctx, s, znode.ControllerPath)
	if err != nil {
		c.retryLater(err)
		return
	}
	current := metadata.NoBroker
	if exists {
		node, err := znode.DecodeController(data)
		if err != nil {
			c.retryLater(err)
			return
		}
		current = node.Broker
	}
	switch {
	case current == c.cfg.BrokerID && c.office != nil:
	case current == c.cfg.BrokerID || current == metadata.NoBroker:
		c.stepDown("the controller node is gone")
		if !c.retired {
			c.elect(ctx, s)
		}
	default:
		c.stepDown("another broker is controller", "controller", current)
		c.watchOver(ctx, s, current)
	}
}

func (c *Controller) stepDown(why string, args ...any) {
	if c.office != nil {
		c.lg.Info("controller steps down", append(args, "reason", why, "epoch", c.office.election.Epoch)...)
		c.leave()
	}
}

func (c *Controller) elect(ctx context.Context, s *zkstore.Session) {
	e, won, current, err := s.ElectController(ctx, c.cfg.BrokerID)
	switch {
	case err != nil:
		c.retryLater(err)
	case !won && current == c.cfg.BrokerID:
		c.dropOwnNode(ctx, s)
	case !won:
		c.lg.Debug("another broker was elected controller", "controller", current)
	default:
		c.lg.Info("elected controller", "epoch", e.Epoch)
		c.takeOffice(ctx, s, e)
	}
}

// dropOwnNode removes a controller node of this very session that is left from a term that ended by an error, and tries again.
func (c *Controller) dropOwnNode(ctx context.Context, s *zkstore.Session) {
	_, st, err := s.Get(ctx, znode.ControllerPath)
	if err == nil && st.EphemeralOwner == s.ID() {
		err = s.Delete(ctx, znode.ControllerPath, st.Version)
	}
	if err != nil {
		c.lg.Error("own controller node", "err", err)
	}
	c.retry.Reset(electionRetry)
}

// retryLater plans another look at the election after an error of ZooKeeper; a new session comes with one of its own.
func (c *Controller) retryLater(err error) {
	if errors.Is(err, zkstore.ErrSessionExpired) || errors.Is(err, context.Canceled) {
		return
	}
	c.lg.Error("controller election", "err", err)
	c.retry.Reset(electionRetry)
}

// takeOffice reads everything and sets the brokers to work. Kafka: KafkaController.onControllerFailover.
func (c *Controller) takeOffice(ctx context.Context, s *zkstore.Session, e zkstore.Election) {
	o := &office{
		session: s, election: e, writer: s.Controller(e),
		senders: map[metadata.BrokerID]*sender{},
		probes:  map[metadata.BrokerID]*probe{},
		legacy:  map[metadata.TopicPartition]struct{}{},
	}
	o.state = state.New(state.Config{
		ID: c.cfg.BrokerID, Epoch: e.Epoch, IBP: c.ibp, Listener: c.cfg.InterBrokerListener, Unclean: c.cfg.UncleanElection,
	})
	c.office = o
	c.epoch.Store(e.Epoch)
	snap, err := c.read(ctx, o)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	unknown := o.state.Load(snap)
	c.inherit(o)
	c.active.Store(true)
	if !c.drain(ctx) || !c.clearDeletions(ctx, unknown) {
		return
	}
	c.lg.Info("controller is in office", "epoch", e.Epoch, "brokers", len(snap.Brokers), "topics", len(snap.Topics), "partitions", len(snap.States))
	if c.cfg.AutoLeaderRebalance {
		c.rebalance.Reset(min(firstRebalance, c.cfg.RebalanceInterval))
	}
	c.legacyReassignments(ctx)
	c.legacyElections(ctx)
}

// read loads the state of the cluster and leaves watches on all of it.
func (c *Controller) read(ctx context.Context, o *office) (state.Snapshot, error) {
	s := o.session
	var snap state.Snapshot
	if err := s.EnsureFeature(ctx); err != nil {
		return snap, err
	}
	// Notifications of the past are of no use: everything is read, and each broker is asked for its replicas.
	for _, path := range []string{znode.IsrChangePath, znode.LogDirEventPath} {
		if _, err := childrenW(ctx, s, path); err != nil {
			return snap, err
		}
	}
	if _, err := o.writer.TakeIsrChanges(ctx); err != nil {
		return snap, err
	}
	if _, err := o.writer.TakeLogDirEvents(ctx); err != nil {
		return snap, err
	}
	brokers, err := readBrokers(ctx, s)
	if err != nil {
		return snap, err
	}
	names, err := childrenW(ctx, s, znode.TopicsPath)
	if err != nil {
		return snap, err
	}
	topics, err := c.readTopics(ctx, o, names)
	if err != nil {
		return snap, err
	}
	states, written, err := s.WrittenStates(ctx, partitionsOf(topics))
	if err != nil {
		return snap, err
	}
	deletions, err := childrenW(ctx, s, znode.DeleteTopicsPath)
	if err != nil {
		return snap, err
	}
	if !c.cfg.DeleteTopicEnable {
		if err := o.writer.DeletePaths(ctx, deletionPaths(deletions)); err != nil {
			return snap, err
		}
		deletions = nil
	}
	return state.Snapshot{Brokers: brokers, Topics: topics, States: states, Written: written, Deleting: deletions}, nil
}

// readTopics reads topics with a watch on each. Topics without an id, which older brokers made, get one.
// Kafka: KafkaController.processTopicIds.
func (c *Controller) readTopics(ctx context.Context, o *office, names []string) (map[string]state.TopicSnapshot, error) {
	nodes, err := o.session.TopicAssignments(ctx, names, true)
	if err != nil {
		return nil, err
	}
	out := make(map[string]state.TopicSnapshot, len(nodes))
	for name, n := range nodes {
		if n.TopicID.IsZero() && c.ibp.TopicIDs() {
			n.TopicID = newTopicID()
			if _, err := o.writer.SetTopicAssignment(ctx, name, n.TopicAssignment, n.Version); err != nil {
				return nil, err
			}
		}
		out[name] = snapshotOf(n.TopicAssignment)
	}
	return out, nil
}

func partitionsOf(topics map[string]state.TopicSnapshot) []metadata.TopicPartition {
	var out []metadata.TopicPartition
	for name, t := range topics {
		for p := range t.Partitions {
			out = append(out, metadata.TopicPartition{Topic: name, Partition: p})
		}
	}
	return out
}

// snapshotOf converts the content of a topic znode.
func snapshotOf(a znode.TopicAssignment) state.TopicSnapshot {
	t := state.TopicSnapshot{ID: a.TopicID, Partitions: make(map[int32]state.Assignment, len(a.Partitions))}
	for p, replicas := range a.Partitions {
		t.Partitions[p] = state.Assignment{Replicas: replicas, Adding: a.Adding[p], Removing: a.Removing[p]}
	}
	return t
}

// nodeOf is the reverse of snapshotOf.
func nodeOf(id metadata.TopicID, ps map[int32]state.Assignment) znode.TopicAssignment {
	a := znode.TopicAssignment{
		TopicID:    id,
		Partitions: make(map[int32][]metadata.BrokerID, len(ps)),
		Adding:     map[int32][]metadata.BrokerID{},
		Removing:   map[int32][]metadata.BrokerID{},
	}
	for p, as := range ps {
		a.Partitions[p] = as.Replicas
		if len(as.Adding) > 0 {
			a.Adding[p] = as.Adding
		}
		if len(as.Removing) > 0 {
			a.Removing[p] = as.Removing
		}
	}
	return a
}

// leave gives up the role in memory: senders end, and with them what was still to be sent.
func (c *Controller) leave() {
	if c.office == nil {
		return
	}
	c.active.Store(false)
	for _, s := range c.office.senders {
		s.stop()
	}
	for _, p := range c.office.probes {
		p.stop()
	}
	c.office = nil
	c.rebalance.Stop()
	c.publishStats()
}

// fail ends a term by an error of ZooKeeper. What was done in part is done again from a new start, here or on another broker.
func (c *Controller) fail(ctx context.Context, err error) {
	o := c.office
	if o == nil {
		return
	}
	c.leave()
	if errors.Is(err, zkstore.ErrSessionExpired) || errors.Is(err, context.Canceled) {
		return
	}
	c.lg.Warn("controller gives up its term", "epoch", o.election.Epoch, "err", err)
	if errors.Is(err, zkstore.ErrControllerMoved) {
		c.checkController(ctx)
		return
	}
	if err := o.session.Resign(ctx, o.election); err != nil && !errors.Is(err, zkstore.ErrSessionExpired) {
		c.lg.Error("resignation", "err", err)
	}
	c.retry.Reset(electionRetry)
}

// rebalanceLeaders gives brokers back the partitions that prefer them.
func (c *Controller) rebalanceLeaders(ctx context.Context) {
	if c.office == nil {
		return
	}
	c.office.state.Rebalance(c.cfg.ImbalancePercent)
	c.drain(ctx)
	c.rebalance.Reset(c.cfg.RebalanceInterval)
}
