package replication

import (
	"time"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// proposeRetry is the pause before a proposal of unknown fate is repeated. Kafka: AlterPartitionManager.
const proposeRetry = 50 * time.Millisecond

// propose hands a new ISR to the store.
func (p *Partition) propose(pr *isr.Proposal) {
	v := p.view.Load()
	if v.log == nil {
		return
	}
	p.mu.Lock()
	controllerEpoch := p.mu.core.Committed().ControllerEpoch
	p.mu.Unlock()
	p.m.cfg.ISR.Propose(Proposal{
		TP:      p.tp,
		TopicID: v.topicID,
		State: metadata.LeaderAndISR{
			ControllerEpoch: controllerEpoch, Leader: p.m.cfg.BrokerID, LeaderEpoch: pr.LeaderEpoch, ISR: pr.ISR,
			Recovery: metadata.Recovered, PartitionEpoch: pr.PartitionEpoch,
		},
		BrokerEpochs: pr.BrokerEpochs,
	}, func(s metadata.LeaderAndISR, err error) { p.proposalDone(pr, s, err) })
	p.logProposal(v, pr)
}

func (p *Partition) logProposal(v *view, pr *isr.Proposal) {
	lg := p.m.cfg.StateChange.With("partition", p.tp, "isr", pr.ISR, "leaderEpoch", pr.LeaderEpoch,
		"partitionEpoch", pr.PartitionEpoch, "highWatermark", v.log.HighWatermark(), "endOffset", v.log.EndOffset())
	if pr.Expand {
		lg.Info("Expanding ISR")
	} else {
		lg.Info("Shrinking ISR")
	}
}

// proposalDone takes the store's answer.
func (p *Partition) proposalDone(pr *isr.Proposal, s metadata.LeaderAndISR, err error) {
	out := isr.OutcomeOf(err)
	if err != nil {
		p.m.metrics.isrUpdateFailures.Inc()
		p.m.cfg.StateChange.Warn("ISR change not confirmed", "partition", p.tp, "isr", pr.ISR,
			"partitionEpoch", pr.PartitionEpoch, "err", err)
	}
	p.mu.Lock()
	v := p.view.Load()
	if v.log == nil {
		p.mu.Unlock()
		return
	}
	p.prepareLocked(v)
	before := p.mu.core.Committed()
	e := p.mu.core.ProposalDone(pr.Seq, out, s, p.m.cfg.Now())
	p.logISRLocked(before, e)
	left := p.settleLocked(v, e)
	p.mu.Unlock()
	if left.Propose != nil {
		p.m.retries.Watch(&retryProposal{p: p, pr: left.Propose}, p.m.cfg.Now().Add(proposeRetry))
		left.Propose = nil
	}
	p.m.wakeOne(left)
}

// logISRLocked says that the committed ISR has changed.
func (p *Partition) logISRLocked(before isr.State, e isr.Effects) {
	after := p.mu.core.Committed()
	if e.Joined+e.Left == 0 && after.PartitionEpoch == before.PartitionEpoch {
		return
	}
	p.m.cfg.StateChange.Info("ISR updated", "partition", p.tp, "isr", after.ISR, "was", before.ISR,
		"partitionEpoch", after.PartitionEpoch, "underMinISR", p.mu.core.UnderMinISR())
}

// retryProposal repeats a proposal after a pause. It implements purgatory.Op and has no condition but time.
type retryProposal struct {
	p  *Partition
	pr *isr.Proposal
}

// TryComplete implements purgatory.Op.
func (*retryProposal) TryComplete() bool { return false }

// Complete implements purgatory.Op.
func (*retryProposal) Complete() {}

// Expire implements purgatory.Op.
func (r *retryProposal) Expire() {
	r.p.mu.Lock()
	pending := r.p.mu.core.IsPending(r.pr.Seq)
	r.p.mu.Unlock()
	if pending {
		r.p.propose(r.pr)
	}
}
