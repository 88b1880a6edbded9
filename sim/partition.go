package sim

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// proposeRetry is the pause before a proposal of unknown fate is repeated, as in replication.
const proposeRetry = 50 * time.Millisecond

// partition is the shell around isr.Core and a log: replication.Partition without locks.
type partition struct {
	p    *process
	tp   metadata.TopicPartition
	core *isr.Core
	// view of the present role, as replication.view.
	role   isr.Role
	log    *log.Log
	id     metadata.TopicID
	leader metadata.BrokerID
	epoch  metadata.LeaderEpoch
	term   int

	waits  []*produceWait
	parked []*parkedFetch
	follow *fetcher
	// lastHW is the mark after the last step in which this process led in lastEpoch.
	lastHW    int64
	lastEpoch metadata.LeaderEpoch
	// unconfirmed is used while the rule of the maximal ISR is broken: a proposal is under way of which core knows nothing.
	unconfirmed bool
}

// produceWait is a Produce request with acks=all that waits for the high watermark.
type produceWait struct {
	term   int
	need   int64
	answer func(error)
	timer  *event
	over   bool
}

// removal is the deletion of a replica, as replication.removal.
type removal struct {
	id    metadata.TopicID
	epoch metadata.LeaderEpoch
}

// kafkaError finds the *kerr.Error in an error, nil when there is none.
func kafkaError(err error) *kerr.Error {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke
	}
	return nil
}

// apply is ReplicaManager.apply: one partition of a LeaderAndIsr request.
func (p *process) apply(tp metadata.TopicPartition, id metadata.TopicID, s isr.State) error {
	part := p.parts[tp]
	fresh := part == nil
	if fresh {
		if r, ok := p.removed[tp]; ok && r.id == id && s.LeaderEpoch <= r.epoch {
			return kerr.StaleControllerEpoch
		}
		part = &partition{p: p, tp: tp, core: isr.New(p.id, p.w.plan.lagMax), leader: metadata.NoBroker, epoch: metadata.NoEpoch}
	}
	switch {
	case part.log != nil && part.id != id:
		return kerr.InconsistentTopicID
	case s.LeaderEpoch < part.epoch:
		return kerr.StaleControllerEpoch
	case !slices.Contains(s.Replicas, p.id):
		return kerr.UnknownTopicOrPartition
	}
	l, err := p.openLog(part, id)
	if err != nil {
		return err
	}
	delete(p.removed, tp)
	p.parts[tp] = part
	if s.Leader == p.id {
		part.lead(s, l, id)
	} else {
		part.becomeFollower(s, l, id)
	}
	return nil
}

// openLog is ReplicaManager.openLog.
func (p *process) openLog(part *partition, id metadata.TopicID) (*log.Log, error) {
	if part.log != nil {
		return part.log, nil
	}
	if l, ok := p.logs.Get(part.tp); ok && l.TopicID() != id && !l.TopicID().IsZero() {
		return nil, kerr.InconsistentTopicID
	}
	l, err := p.logs.GetOrCreate(part.tp, id)
	if err != nil {
		p.w.violate("broker %d: log of %s: %v", p.id, part.tp, err)
		return nil, err
	}
	l.SetHighWatermark(p.marks[part.tp])
	return l, nil
}

// lead is Partition.lead.
func (t *partition) lead(s isr.State, l *log.Log, id metadata.TopicID) {
	was, wasEpoch := t.role, t.epoch
	t.core.SetMinInsync(t.p.minISR(t.tp.Topic))
	leo, hw := l.EndOffset(), l.HighWatermark()
	start := leo
	if t.p.w.o.broken.epochStart {
		start = hw // the core takes this for the log end at the start of its epoch
	}
	e, ok := t.core.BecomeLeader(s, start, hw, t.p.now())
	if !ok {
		return
	}
	if start != leo {
		more := t.core.LocalAppended(leo, t.p.now())
		e.HW, e.HWMoved = more.HW, e.HWMoved || more.HWMoved
	}
	if e.NewEpoch {
		if latest, known := l.LatestEpoch(); !known || latest < s.LeaderEpoch {
			if err := l.AssignEpochStart(s.LeaderEpoch, leo); err != nil {
				t.p.w.violate("broker %d: epoch of %s: %v", t.p.id, t.tp, err)
				return
			}
		}
	}
	t.role, t.log, t.id, t.leader, t.epoch = isr.Leader, l, id, s.Leader, s.LeaderEpoch
	t.unconfirmed = false
	if was != isr.Leader {
		t.term++
		t.follow = nil
	}
	if e.NewEpoch {
		t.p.note("leads %s epoch=%d from=%d hw=%d isr=%v version=%d recovery=%d", t.tp, s.LeaderEpoch, leo, hw, s.ISR, s.PartitionEpoch, s.Recovery)
		t.p.w.oracle.leads(t, s)
	}
	t.settle(e, false)
	if was != isr.Leader || wasEpoch != t.epoch {
		t.wakeAll()
	}
}

// becomeFollower is Partition.follow.
func (t *partition) becomeFollower(s isr.State, l *log.Log, id metadata.TopicID) {
	newEpoch, ok := t.core.BecomeFollower(s)
	if !ok {
		return
	}
	t.role, t.log, t.id, t.leader, t.epoch = isr.Follower, l, id, s.Leader, s.LeaderEpoch
	t.unconfirmed = false
	t.p.w.oracle.touch(t)
	if !newEpoch {
		return
	}
	t.p.note("follows %d in %s epoch=%d leo=%d hw=%d isr=%v version=%d", s.Leader, t.tp, s.LeaderEpoch, l.EndOffset(), l.HighWatermark(), s.ISR, s.PartitionEpoch)
	t.wakeAll()
	t.follow = nil
	if s.Leader >= 0 {
		t.startFetching()
	}
}

// stopPartition is ReplicaManager.stopOne.
func (p *process) stopPartition(tp metadata.TopicPartition, e metadata.LeaderEpoch, remove bool) error {
	t := p.parts[tp]
	if t != nil {
		if e != metadata.EpochDuringDelete && e != metadata.NoEpoch && e < t.epoch {
			return kerr.FencedLeaderEpoch
		}
		t.follow = nil
		t.core.Stop()
		t.role = isr.None
		p.note("stops %s delete=%v", tp, remove)
		t.wakeAll()
		p.w.oracle.touch(t)
	}
	if !remove {
		return nil
	}
	if t != nil {
		r := removal{id: t.id, epoch: max(t.epoch, e)}
		if e == metadata.EpochDuringDelete {
			r.epoch = math.MaxInt32
		}
		p.removed[tp] = r
	}
	delete(p.parts, tp)
	delete(p.marks, tp)
	l, ok := p.logs.Get(tp)
	if !ok {
		return nil
	}
	p.w.oracle.deleted(p.id, l)
	if err := p.logs.Delete(tp); err != nil {
		p.w.violate("broker %d: delete %s: %v", p.id, tp, err)
	}
	if t != nil {
		t.log = nil
	}
	return nil
}

func (p *process) minISR(topic string) int { return int(p.settings[topic].minISR) }

// prepare is Partition.prepareLocked.
func (t *partition) prepare() {
	t.core.SetMinInsync(t.p.minISR(t.tp.Topic))
	if !t.core.Outsiders() {
		return
	}
	for _, r := range t.core.Remotes() {
		b, alive := t.p.image.Broker(r.ID)
		known := int64(-1)
		if alive {
			known = b.Epoch
		}
		t.core.SetAlive(r.ID, alive, known)
	}
}

// settle carries out effects: what Partition.settleLocked and ReplicaManager.wakeOne do.
func (t *partition) settle(e isr.Effects, appended bool) {
	t.p.w.oracle.touch(t)
	if e.HWMoved {
		t.log.SetHighWatermark(e.HW)
		t.p.w.oracle.committed(t, e.HW)
	}
	if appended || e.HWMoved {
		t.wakeFetches()
	}
	if e.HWMoved {
		t.wakeProduces()
	}
	if e.Propose != nil {
		t.propose(e.Propose)
	}
}

// check is Partition.check for requests that only a leader answers.
func (t *partition) check(current metadata.LeaderEpoch) error {
	switch {
	case current != metadata.NoEpoch && current < t.epoch:
		return kerr.FencedLeaderEpoch
	case current != metadata.NoEpoch && current > t.epoch:
		return kerr.UnknownLeaderEpoch
	case t.role != isr.Leader || t.log == nil:
		return kerr.NotLeaderForPartition
	}
	return nil
}

// produce is ReplicaManager.Append for one partition. answer is called once.
func (p *process) produce(tp metadata.TopicPartition, acks int16, records []byte, timeout time.Duration, answer func(int64, error)) {
	t := p.parts[tp]
	if t == nil {
		answer(-1, kerr.NotLeaderForPartition)
		return
	}
	if err := t.check(metadata.NoEpoch); err != nil {
		answer(-1, err)
		return
	}
	if acks == -1 {
		t.prepare()
		if t.core.UnderMinISR() {
			answer(-1, kerr.NotEnoughReplicas)
			return
		}
	}
	sent := p.w.oracle.sent(records)
	info, err := t.log.AppendAsLeader(records, t.epoch, log.AppendOptions{Origin: log.Client})
	if err != nil {
		if kafkaError(err) == kerr.KafkaStorageError {
			p.w.violate("broker %d: append to %s: %v", p.id, tp, err)
		}
		answer(-1, err)
		return
	}
	p.note("appends %s %d-%d epoch=%d acks=%d duplicate=%v", tp, info.FirstOffset, info.LastOffset, t.epoch, acks, info.Duplicate)
	p.w.oracle.sync(t)
	term := t.term
	t.prepare()
	e := t.core.LocalAppended(t.log.EndOffset(), p.now())
	t.settle(e, !info.Duplicate)
	if acks != -1 {
		answer(info.FirstOffset, nil)
		return
	}
	wait := &produceWait{term: term, need: info.LastOffset + 1, answer: func(err error) {
		if err == nil {
			p.w.oracle.acknowledged(t, info.FirstOffset, sent)
		}
		answer(info.FirstOffset, err)
	}}
	wait.timer = p.w.after(p, timeout, func() { t.finishWait(wait, kerr.RequestTimedOut) })
	t.waits = append(t.waits, wait)
	t.wakeProduces()
}

func (t *partition) finishWait(w *produceWait, err error) {
	if w.over {
		return
	}
	w.over = true
	w.timer.cancel()
	w.answer(err)
}

// wakeProduces is delayedProduce.TryComplete for all that wait, with Partition.reached.
func (t *partition) wakeProduces() {
	waits := t.waits
	t.waits = nil
	for _, w := range waits {
		switch {
		case w.over:
			continue
		case w.term != t.term || t.role != isr.Leader:
			t.finishWait(w, kerr.NotLeaderForPartition)
		case t.log.HighWatermark() < w.need:
			t.waits = append(t.waits, w)
		default:
			t.core.SetMinInsync(t.p.minISR(t.tp.Topic))
			if _, enough := t.core.Reached(w.need); !enough {
				t.finishWait(w, kerr.NotEnoughReplicasAfterAppend)
				continue
			}
			t.finishWait(w, nil)
		}
	}
}

// wakeAll looks at everything that waits, after the role changed.
func (t *partition) wakeAll() {
	t.wakeProduces()
	t.wakeFetches()
}

// tick is Partition.tick.
func (t *partition) tick() {
	if t.role != isr.Leader || t.log == nil {
		return
	}
	t.prepare()
	if t.core.Stuck() {
		if s, ok := t.p.image.Partition(t.tp); ok {
			t.settle(t.core.Observed(s.LeaderAndISR, t.p.now()), false)
			return
		}
	}
	t.settle(t.core.Tick(t.p.now()), false)
}

// propose is Partition.propose.
func (t *partition) propose(pr *isr.Proposal) {
	if t.p.w.o.broken.maximalISR && pr.Expand {
		t.proposeForgetting(pr)
		return
	}
	t.p.note("proposes isr %v for %s, version %d, expand=%v", pr.ISR, t.tp, pr.PartitionEpoch, pr.Expand)
	t.p.proposer.propose(&proposal{part: t, id: t.id, pr: pr, done: func(s metadata.LeaderAndISR, err error) { t.proposalDone(pr, s, err) }})
}

// proposeForgetting is propose without the rule of the maximal ISR: the core takes the expansion for refused at once, and
// hears of it again when it is confirmed.
func (t *partition) proposeForgetting(pr *isr.Proposal) {
	t.core.ProposalDone(pr.Seq, isr.Refused, metadata.LeaderAndISR{}, t.p.now())
	if t.unconfirmed {
		return
	}
	t.unconfirmed = true
	t.p.note("proposes isr %v for %s, version %d, and forgets it", pr.ISR, t.tp, pr.PartitionEpoch)
	epoch := t.epoch
	t.p.proposer.propose(&proposal{part: t, id: t.id, pr: pr, done: func(s metadata.LeaderAndISR, err error) {
		if t.epoch != epoch || t.role != isr.Leader {
			return
		}
		t.unconfirmed = false
		if err != nil {
			return
		}
		next := t.core.Committed()
		next.ISR, next.PartitionEpoch = s.ISR, s.PartitionEpoch
		if e, ok := t.core.BecomeLeader(next, t.log.EndOffset(), t.log.HighWatermark(), t.p.now()); ok {
			t.settle(e, false)
		}
	}})
}

// proposalDone is Partition.proposalDone.
func (t *partition) proposalDone(pr *isr.Proposal, s metadata.LeaderAndISR, err error) {
	if t.log == nil {
		return
	}
	t.p.note("proposal %v for %s: isr %v version %d, %v", pr.ISR, t.tp, s.ISR, s.PartitionEpoch, err)
	t.prepare()
	e := t.core.ProposalDone(pr.Seq, isr.OutcomeOf(err), s, t.p.now())
	if again := e.Propose; again != nil {
		e.Propose = nil
		t.p.w.after(t.p, proposeRetry, func() {
			if t.core.IsPending(again.Seq) {
				t.propose(again)
			}
		})
	}
	t.settle(e, false)
}
