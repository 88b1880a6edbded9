package replication

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// Partition is one hosted partition: the lock, the log and the shell around the rules in isr.Core. Kafka: Partition.
type Partition struct {
	tp metadata.TopicPartition
	m  *ReplicaManager
	// tenure is held for reading while a leader appends, and for writing by what begins, raises or ends a role: no record
	// of an epoch gets in after the epoch is over. It comes before mu; see docs/adr/0006.
	tenure sync.RWMutex
	// stats is set before the manager makes the partition known.
	stats *topicStats
	// view is what readers need, without a lock. It is replaced under mu.
	view atomic.Pointer[view]
	mu   struct {
		sync.Mutex
		core *isr.Core
	}
	// moving is held while the future log is filled, and by what cuts or replaces either log. It comes after mu, before Log.mu;
	// see docs/adr/0009.
	moving struct {
		sync.Mutex
		// future is the copy of the log in another directory, nil when there is none.
		future *log.Log
	}
}

// view is the state of a partition between two transitions. It is never changed after it was published.
type view struct {
	role isr.Role
	// log is nil until the first LeaderAndIsr and after deletion.
	log     *log.Log
	topicID metadata.TopicID // of the log
	leader  metadata.BrokerID
	epoch   metadata.LeaderEpoch
	// epochStart is the log end at the start of our leadership epoch, isr.Unknown on a follower.
	epochStart int64
	// term counts the leaderships of this broker, and since is the leader epoch that began the current one. A leader whose
	// epoch is raised in place stays in its term: nothing was truncated in between.
	term  uint64
	since metadata.LeaderEpoch
	// offline is set when the log directory has failed.
	offline bool
}

func newPartition(m *ReplicaManager, tp metadata.TopicPartition) *Partition {
	p := &Partition{tp: tp, m: m}
	p.mu.core = isr.New(m.cfg.BrokerID, m.cfg.LagTimeMax)
	p.view.Store(&view{leader: metadata.NoBroker, epoch: metadata.NoEpoch, epochStart: isr.Unknown})
	return p
}

// TP returns the name of the partition.
func (p *Partition) TP() metadata.TopicPartition { return p.tp }

// Log returns the log, nil while the replica is offline or not yet told its role.
func (p *Partition) Log() *log.Log { return p.view.Load().log }

// Leads reports whether this broker leads the partition, and in which epoch.
func (p *Partition) Leads() (metadata.LeaderEpoch, bool) {
	v := p.view.Load()
	return v.epoch, v.role == isr.Leader
}

// Offline reports whether the log directory of the replica has failed.
func (p *Partition) Offline() bool { return p.view.Load().offline }

// publishLocked replaces the view by one that change has edited.
func (p *Partition) publishLocked(change func(v *view)) *view {
	next := *p.view.Load()
	change(&next)
	p.view.Store(&next)
	return &next
}

// check returns the view if a request with this epoch may use it: kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
// kerr.NotLeaderForPartition, kerr.KafkaStorageError. NoEpoch skips the comparison of epochs.
// Kafka: Partition.localLogWithEpochOrThrow.
func (p *Partition) check(current metadata.LeaderEpoch, leaderOnly bool) (*view, error) {
	v := p.view.Load()
	switch {
	case v.offline:
		return v, kerr.KafkaStorageError
	case current != metadata.NoEpoch && current < v.epoch:
		return v, kerr.FencedLeaderEpoch
	case current != metadata.NoEpoch && current > v.epoch:
		return v, kerr.UnknownLeaderEpoch
	case v.role == isr.None || v.log == nil || leaderOnly && v.role != isr.Leader:
		return v, kerr.NotLeaderForPartition
	}
	return v, nil
}

// hint names the leader for answers that carry it.
func (v *view) hint() LeaderHint { return LeaderHint{ID: v.leader, Epoch: v.epoch} }

// effects is what is left to do after the partition's lock was released.
type effects struct {
	p *Partition
	isr.Effects
	// appended tells that the log end moved.
	appended bool
}

// settleLocked carries out what belongs under the lock, after the log moved or a core mutator ran.
func (p *Partition) settleLocked(v *view, e isr.Effects) effects {
	if e.HWMoved {
		v.log.SetHighWatermark(e.HW)
	}
	return effects{p: p, Effects: e}
}

// prepareLocked tells the core what its high watermark rule depends on.
func (p *Partition) prepareLocked(v *view) {
	core := p.mu.core
	core.SetMinInsync(int(v.log.Config().MinInsyncReplicas))
	if core.Outsiders() {
		p.aliveLocked(core)
	}
}

// aliveLocked tells the core which replicas the metadata cache has for alive.
func (p *Partition) aliveLocked(core *isr.Core) {
	img := p.m.cfg.Image()
	for _, r := range core.Remotes() {
		b, alive := img.Broker(r.ID)
		epoch := int64(-1)
		if alive {
			epoch = b.Epoch
		}
		core.SetAlive(r.ID, alive, epoch)
	}
}

// tick looks for lagging followers, and for news about a proposal that was found stale.
func (p *Partition) tick(now time.Time) effects {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.view.Load()
	if v.role != isr.Leader || v.log == nil {
		return effects{p: p}
	}
	p.prepareLocked(v)
	core := p.mu.core
	if core.Stuck() {
		if s, ok := p.m.cfg.Image().Partition(p.tp); ok {
			before := core.Committed()
			e := core.Observed(s.LeaderAndISR, now)
			p.logISRLocked(before, e)
			return p.settleLocked(v, e)
		}
	}
	e := core.Tick(now)
	return p.settleLocked(v, e)
}

// reached tells whether everything below offset is committed. The error ends the wait: kerr.NotLeaderForPartition when the
// leadership in which the records were appended is over, kerr.NotEnoughReplicasAfterAppend.
func (p *Partition) reached(term uint64, offset int64) (bool, error) {
	v := p.view.Load()
	if v.term != term || v.role != isr.Leader {
		return true, kerr.NotLeaderForPartition
	}
	if v.log.HighWatermark() < offset {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.core.SetMinInsync(int(v.log.Config().MinInsyncReplicas))
	if _, enough := p.mu.core.Reached(offset); !enough {
		return true, kerr.NotEnoughReplicasAfterAppend
	}
	return true, nil
}

// Status is a picture of a partition for metrics, describe requests and tests.
type Status struct {
	TP      metadata.TopicPartition
	TopicID metadata.TopicID
	State   isr.State
	Leads   bool
	Offline bool
	// Offsets are -1 without a log.
	LogStart, HighWatermark, LogEnd        int64
	UnderReplicated, UnderMinISR, AtMinISR bool
	ISRChangePending                       bool
	Replicas                               []isr.Replica
}

// Status describes the partition now.
func (p *Partition) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, core := p.view.Load(), p.mu.core
	s := Status{
		TP: p.tp, State: core.Committed(), Leads: v.role == isr.Leader, Offline: v.offline,
		LogStart: -1, HighWatermark: -1, LogEnd: -1,
	}
	if v.log != nil {
		core.SetMinInsync(int(v.log.Config().MinInsyncReplicas))
		s.TopicID = v.topicID
		s.LogStart, s.HighWatermark, s.LogEnd = v.log.StartOffset(), v.log.HighWatermark(), v.log.EndOffset()
	}
	s.UnderReplicated, s.UnderMinISR, s.AtMinISR = core.UnderReplicated(), core.UnderMinISR(), core.AtMinISR()
	s.ISRChangePending = core.Pending()
	s.Replicas = slices.Clone(core.Remotes())
	return s
}

// wrap names the partition in an error; nil stays nil.
func (p *Partition) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, p.tp, err)
}
