package replication

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// StopReplicas carries out a StopReplica request: the replicas end their role and, where asked, are deleted, also those
// that were on disk but not yet told a role. The request as a whole is refused with kerr.StaleControllerEpoch, a
// partition with a lower leader epoch with kerr.FencedLeaderEpoch. When it returns, no mark of a deleted replica is left on
// the disk. Kafka: ReplicaManager.stopReplicas.
//
// Differs from Kafka: the high watermarks are written at once, not with the next checkpoint. After a crash in between, a
// topic of the same name would take the old mark for its own, and a leader would show and keep what is not committed.
func (m *ReplicaManager) StopReplicas(controllerEpoch int32, stops []StopReplica) (map[metadata.TopicPartition]error, error) {
	m.control <- struct{}{}
	defer func() { <-m.control }()
	if err := m.CheckControllerEpoch(controllerEpoch); err != nil {
		m.cfg.StateChange.Warn("StopReplica from a former controller ignored", "err", err)
		return nil, err
	}
	errs := make(map[metadata.TopicPartition]error, len(stops))
	var tps []metadata.TopicPartition
	var changes []LeadershipChange
	deleted := false
	for i := range stops {
		s := &stops[i]
		err := m.stopOne(s)
		errs[s.TP] = err
		if err != nil {
			m.cfg.StateChange.Warn("StopReplica for partition not applied", "partition", s.TP, "leaderEpoch", s.LeaderEpoch, "err", err)
			continue
		}
		tps = append(tps, s.TP)
		changes = append(changes, LeadershipChange{TP: s.TP, Epoch: s.LeaderEpoch, Removed: s.Delete})
		deleted = deleted || s.Delete
	}
	if deleted {
		m.forgetRemovals()
		m.saveMarks()
	}
	m.wakeAll(tps)
	if len(changes) > 0 {
		m.cfg.OnLeadership(changes)
	}
	return errs, nil
}

// stopOne ends one replica. Its fetcher is told first, but may be amid an append: that takes the partition's lock and
// finds the role ended.
func (m *ReplicaManager) stopOne(s *StopReplica) error {
	p := m.hosted(s.TP)
	if p != nil {
		if err := p.stoppable(s); err != nil {
			return err
		}
		m.fetchers.remove(s.TP)
		m.movers.remove(s.TP)
		p.stop(s.Delete)
	}
	m.cfg.StateChange.Info("Replica stopped", "partition", s.TP, "leaderEpoch", s.LeaderEpoch, "delete", s.Delete)
	if !s.Delete {
		return nil
	}
	m.forget(p, s)
	if p != nil {
		m.metrics.release(s.TP.Topic)
	}
	return m.cfg.Logs.Delete(s.TP)
}

// removal is the deletion of a replica: of which topic, in which leader epoch, and when.
type removal struct {
	topicID metadata.TopicID
	epoch   metadata.LeaderEpoch
	at      time.Time
}

// removalMemory is how long a deletion is remembered: longer than any request may be under way.
const removalMemory = 10 * time.Minute

// forget drops all that is known of a deleted replica but the fact of its deletion. When its whole topic goes, no state of it
// is welcome any more.
func (m *ReplicaManager) forget(p *Partition, s *StopReplica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.partitions, s.TP)
	delete(m.mu.checkpointed, s.TP)
	if p == nil {
		return
	}
	v := p.view.Load()
	if v.topicID.IsZero() {
		return // a topic that is made again could not be told apart
	}
	r := removal{topicID: v.topicID, epoch: max(v.epoch, s.LeaderEpoch), at: m.cfg.Now()}
	if s.LeaderEpoch == metadata.EpochDuringDelete {
		r.epoch = math.MaxInt32
	}
	m.mu.removed[s.TP] = r
}

// forgetRemovals drops the memory of deletions of long ago.
func (m *ReplicaManager) forgetRemovals() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Now()
	maps.DeleteFunc(m.mu.removed, func(_ metadata.TopicPartition, r removal) bool { return now.Sub(r.at) > removalMemory })
}

// stoppable checks the epoch. While a topic is deleted its epoch is not raised: then, and in old requests, there is none.
func (p *Partition) stoppable(s *StopReplica) error {
	v := p.view.Load()
	switch {
	case v.offline:
		return kerr.KafkaStorageError
	case s.LeaderEpoch == metadata.EpochDuringDelete || s.LeaderEpoch == metadata.NoEpoch:
		return nil
	case s.LeaderEpoch < v.epoch:
		return fmt.Errorf("leader epoch %d, replica has %d: %w", s.LeaderEpoch, v.epoch, kerr.FencedLeaderEpoch)
	}
	return nil
}

// stop ends the role; a replica that is to be deleted gives up its log.
func (p *Partition) stop(deleted bool) {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.core.Stop()
	if deleted {
		p.setFuture(nil)
	}
	p.publishLocked(func(v *view) {
		v.role, v.epochStart = isr.None, isr.Unknown
		if deleted {
			v.log = nil
		}
	})
}
