package replication

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// ApplyLeaderAndISR carries out a LeaderAndIsr request and returns an entry for each partition, nil when it was applied
// or skipped for being no news. The request as a whole is refused with kerr.StaleControllerEpoch. When it returns,
// leaders serve, followers are being fetched for, and OnLeadership has been called.
// Errors of a partition: kerr.InconsistentTopicID, kerr.StaleControllerEpoch for a lower leader epoch,
// kerr.UnknownTopicOrPartition when this broker is not assigned, kerr.KafkaStorageError.
// Kafka: ReplicaManager.becomeLeaderOrFollower.
func (m *ReplicaManager) ApplyLeaderAndISR(controller metadata.BrokerID, controllerEpoch int32, states []PartitionState) (map[metadata.TopicPartition]error, error) {
	m.control <- struct{}{}
	defer func() { <-m.control }()
	if err := m.CheckControllerEpoch(controllerEpoch); err != nil {
		m.cfg.StateChange.Warn("LeaderAndIsr from a former controller ignored", "controller", controller, "err", err)
		return nil, err
	}
	m.loadHWCheckpoints()
	m.createLogs(states)
	errs := make(map[metadata.TopicPartition]error, len(states))
	var t transitions
	for i := range states {
		s := &states[i]
		errs[s.TP] = m.apply(s, &t)
		if err := errs[s.TP]; err != nil {
			m.cfg.StateChange.Warn("LeaderAndIsr for partition not applied", "partition", s.TP, "controller", controller,
				"controllerEpoch", controllerEpoch, "leaderEpoch", s.LeaderEpoch, "err", err)
		}
	}
	m.wake(&t.wakeups)
	m.wakeAll(t.resigned)
	m.fetchers.apply(t.follow, t.unfollow)
	if len(t.changes) > 0 {
		m.cfg.OnLeadership(t.changes)
	}
	return errs, nil
}

// transitions collects what is left to do once all partitions of a request have their new role.
type transitions struct {
	wakeups
	changes []LeadershipChange
	// resigned are those that this broker leads no more, or not in the same epoch.
	resigned []metadata.TopicPartition
	follow   []followed
	unfollow []metadata.TopicPartition
}

// loadHWCheckpoints reads the marks of the last run before the first replica takes its role. Marks without a log were left
// by a deletion that was cut off, and marks above the end of their log by a power cut or a truncation. Both are put right
// on the disk before anything is appended or created: after the next start they would be taken for what was committed.
func (m *ReplicaManager) loadHWCheckpoints() {
	m.mu.RLock()
	loaded := m.mu.checkpointed != nil
	m.mu.RUnlock()
	if loaded {
		return
	}
	marks, wrong := m.cfg.Logs.ReadHWCheckpoints()
	for tp, hw := range marks {
		if l, ok := m.cfg.Logs.Get(tp); ok && l.EndOffset() < hw {
			marks[tp], wrong = l.EndOffset(), true
		}
	}
	m.mu.Lock()
	m.mu.checkpointed = marks
	m.mu.Unlock()
	if wrong {
		m.saveMarks()
	}
}

// saveMarks writes the high watermarks outside of the usual rhythm, because what is on the disk is too high.
func (m *ReplicaManager) saveMarks() {
	if err := m.CheckpointHW(); err != nil {
		m.cfg.Logger.Error("high watermarks not written", "err", err)
	}
}

// apply carries out the state of one partition.
func (m *ReplicaManager) apply(s *PartitionState, t *transitions) error {
	p := m.hosted(s.TP)
	fresh := p == nil
	if fresh {
		if err := m.outlived(s); err != nil {
			return err
		}
		p = newPartition(m, s.TP)
	}
	if err := p.acceptable(s); err != nil {
		return err
	}
	l, err := m.openLog(p, s)
	if err != nil {
		if fresh && isStorage(err) {
			m.host(p)
			p.goOffline()
		}
		return err
	}
	if fresh {
		m.host(p)
	}
	if s.Leader == m.cfg.BrokerID {
		err = p.lead(s, l, t)
	} else {
		p.follow(s, l, t)
	}
	m.resumeMove(p)
	return err
}

// host makes a new partition known.
func (m *ReplicaManager) host(p *Partition) {
	p.stats = m.metrics.acquire(p.tp.Topic)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.removed, p.tp)
	m.mu.partitions[p.tp] = p
}

// outlived refuses a state that is older than the deletion of the replica here: one that was sent again, since its answer was
// late, and arrives on its first connection after all that the controller sent on the second. It would make an empty log
// that leads.
func (m *ReplicaManager) outlived(s *PartitionState) error {
	m.mu.RLock()
	r, ok := m.mu.removed[s.TP]
	m.mu.RUnlock()
	if ok && r.topicID == s.TopicID && s.LeaderEpoch <= r.epoch {
		return fmt.Errorf("leader epoch %d, replica was deleted in %d: %w", s.LeaderEpoch, r.epoch, kerr.StaleControllerEpoch)
	}
	return nil
}

// acceptable checks a state before anything is touched.
func (p *Partition) acceptable(s *PartitionState) error {
	v := p.view.Load()
	switch {
	case v.offline:
		return kerr.KafkaStorageError
	case v.log != nil && !sameTopic(s.TopicID, v.topicID):
		return fmt.Errorf("topic id %s, replica has %s: %w", s.TopicID, v.topicID, kerr.InconsistentTopicID)
	case s.LeaderEpoch < v.epoch:
		return fmt.Errorf("leader epoch %d, replica has %d: %w", s.LeaderEpoch, v.epoch, kerr.StaleControllerEpoch)
	case !slices.Contains(s.Replicas, p.m.cfg.BrokerID):
		return fmt.Errorf("broker %d is not among the replicas %v: %w", p.m.cfg.BrokerID, s.Replicas, kerr.UnknownTopicOrPartition)
	}
	return nil
}

// sameTopic compares ids, of which either may be unknown.
func sameTopic(a, b metadata.TopicID) bool { return a == b || a.IsZero() || b.IsZero() }

// openLog returns the partition's log, created if it is new, with the topic id written and the high watermark of the
// last run. A log of another topic of that name is never touched.
func (m *ReplicaManager) openLog(p *Partition, s *PartitionState) (*log.Log, error) {
	if l := p.Log(); l != nil {
		return l, l.SetTopicID(s.TopicID)
	}
	l, ok := m.cfg.Logs.Get(s.TP)
	if ok && !sameTopic(l.TopicID(), s.TopicID) {
		return nil, fmt.Errorf("topic id %s, log has %s: %w", s.TopicID, l.TopicID(), kerr.InconsistentTopicID)
	}
	if !ok {
		if !s.IsNew && !m.cfg.Logs.AllDirsLive() {
			return nil, fmt.Errorf("replica is not new and may be in a failed log directory: %w", kerr.KafkaStorageError)
		}
		var err error
		if l, err = m.cfg.Logs.GetOrCreate(s.TP, s.TopicID); err != nil {
			return nil, err
		}
	}
	if err := l.SetTopicID(s.TopicID); err != nil {
		return nil, err
	}
	m.mu.RLock()
	mark := m.mu.checkpointed[s.TP]
	m.mu.RUnlock()
	l.SetHighWatermark(mark)
	return l, nil
}

// state is the core's form of a partition state.
func (s *PartitionState) state() isr.State {
	return isr.State{LeaderAndISR: s.LeaderAndISR, Replicas: s.Replicas, Adding: s.Adding}
}

// lead makes this broker the leader, or updates its leadership. A log that has one by now stays, as it may have replaced l.
func (p *Partition) lead(s *PartitionState, l *log.Log, t *transitions) error {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.Log(); now != nil {
		l = now
	}
	core := p.mu.core
	core.SetMinInsync(int(l.Config().MinInsyncReplicas))
	was := p.view.Load()
	e, ok := core.BecomeLeader(s.state(), l.EndOffset(), l.HighWatermark(), p.m.cfg.Now())
	if !ok {
		p.logSkipped(s)
		return nil
	}
	if e.NewEpoch {
		if err := p.startEpoch(s, l, e.EpochStart); err != nil {
			return err
		}
	}
	v := p.publishLocked(func(v *view) {
		v.role, v.log, v.topicID = isr.Leader, l, l.TopicID()
		v.leader, v.epoch, v.epochStart = s.Leader, s.LeaderEpoch, core.EpochStart()
		if was.role != isr.Leader {
			v.term, v.since = was.term+1, s.LeaderEpoch
		}
	})
	t.add(p.settleLocked(v, e))
	if was.epoch != v.epoch || was.role != isr.Leader {
		t.resigned = append(t.resigned, p.tp)
	}
	if was.role != isr.Leader {
		t.unfollow = append(t.unfollow, p.tp)
		t.changes = append(t.changes, LeadershipChange{TP: p.tp, Leader: true, Epoch: s.LeaderEpoch})
	}
	if e.NewEpoch {
		p.logLeader(s, was, v)
	}
	return nil
}

// startEpoch writes the start of a new leader epoch into the log's history, unless it is there already.
func (p *Partition) startEpoch(s *PartitionState, l *log.Log, start int64) error {
	if latest, ok := l.LatestEpoch(); ok && latest >= s.LeaderEpoch {
		return nil
	}
	if err := l.AssignEpochStart(s.LeaderEpoch, start); err != nil {
		p.mu.core.Stop()
		p.publishLocked(func(v *view) { v.role, v.offline = isr.None, isStorage(err) })
		return err
	}
	return nil
}

func (p *Partition) logLeader(s *PartitionState, was, v *view) {
	lg := p.m.cfg.StateChange
	lg.Info("Leader starts", "partition", p.tp, "topicID", s.TopicID, "leaderEpoch", s.LeaderEpoch, "offset", v.epochStart,
		"partitionEpoch", s.PartitionEpoch, "highWatermark", v.log.HighWatermark(), "isr", s.ISR, "adding", s.Adding,
		"removing", s.Removing, "previousLeader", was.leader, "previousEpoch", was.epoch, "underMinISR", p.mu.core.UnderMinISR())
	if s.Recovery == metadata.Recovering {
		lg.Warn("Unclean leader election: records of other replicas that are not here are lost", "partition", p.tp,
			"leaderEpoch", s.LeaderEpoch, "fromOffset", v.epochStart, "highWatermark", v.log.HighWatermark(),
			"previousLeader", was.leader)
	}
}

func (p *Partition) logSkipped(s *PartitionState) {
	have := p.mu.core.Committed()
	p.m.cfg.StateChange.Info("LeaderAndIsr skipped, as it is older than what is known", "partition", p.tp,
		"leaderEpoch", s.LeaderEpoch, "partitionEpoch", s.PartitionEpoch, "knownLeaderEpoch", have.LeaderEpoch,
		"knownPartitionEpoch", have.PartitionEpoch)
}

// follow makes this broker a follower. Nothing is cut here: where the logs part is found out with the first fetch.
func (p *Partition) follow(s *PartitionState, l *log.Log, t *transitions) {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.view.Load()
	if was.log != nil {
		l = was.log
	}
	newEpoch, ok := p.mu.core.BecomeFollower(s.state())
	if !ok {
		p.logSkipped(s)
		return
	}
	v := p.publishLocked(func(v *view) {
		v.role, v.log, v.topicID = isr.Follower, l, l.TopicID()
		v.leader, v.epoch, v.epochStart = s.Leader, s.LeaderEpoch, isr.Unknown
	})
	if !newEpoch {
		return
	}
	p.m.cfg.StateChange.Info("Follower starts", "partition", p.tp, "topicID", s.TopicID, "leaderEpoch", s.LeaderEpoch,
		"offset", l.EndOffset(), "partitionEpoch", s.PartitionEpoch, "highWatermark", l.HighWatermark(), "leader", s.Leader,
		"previousLeader", was.leader, "previousEpoch", was.epoch)
	t.resigned = append(t.resigned, p.tp)
	t.changes = append(t.changes, LeadershipChange{TP: p.tp, Epoch: s.LeaderEpoch})
	if s.Leader < 0 {
		t.unfollow = append(t.unfollow, p.tp)
		return
	}
	t.follow = append(t.follow, followed{p: p, leader: s.Leader, epoch: v.epoch, topicID: v.topicID})
}

// leaveDir takes the replica offline if its log is in a directory that has failed, and ends its move there.
func (p *Partition) leaveDir(dir string) (offline, unmoved bool) {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving.Lock()
	defer p.moving.Unlock()
	l, f := p.Log(), p.moving.future
	offline, unmoved = l != nil && l.Dir() == dir, f != nil && f.Dir() == dir
	if offline {
		p.goOfflineLocked()
	}
	if offline || unmoved {
		p.moving.future = nil
	}
	return offline, unmoved
}

// goOffline ends the role of a replica whose log directory has failed.
func (p *Partition) goOffline() {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.goOfflineLocked()
}

func (p *Partition) goOfflineLocked() {
	p.mu.core.Stop()
	p.publishLocked(func(v *view) { v.role, v.log, v.offline, v.epochStart = isr.None, nil, true, isr.Unknown })
}
