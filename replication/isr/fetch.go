package isr

import (
	"slices"
	"time"

	"jackdaw/metadata"
)

// Fetch is a fetch of a follower that has been found valid: its offset lies in the leader's log and its epochs agree
// with the leader's history.
type Fetch struct {
	Replica metadata.BrokerID
	// Offset proves that the replica holds everything below it.
	Offset   int64
	LogStart int64
	// BrokerEpoch is -1 when the follower does not tell.
	BrokerEpoch int64
	// Alive is whether the metadata cache has the broker.
	Alive bool
}

// Verdict says whether a fetch was counted.
type Verdict uint8

// Verdicts.
const (
	// Counted is the normal case.
	Counted Verdict = iota
	// NotAssigned is a broker that is no replica of the partition.
	NotAssigned
	// FormerLife is a fetch with a lower broker epoch than one before: it was sent before the broker restarted.
	FormerLife
	// NotLeader means that this broker leads no more.
	NotLeader
)

// FollowerFetched records a follower's position. The high watermark may rise, and the follower may be proposed for the
// ISR. Kafka: Partition.updateFollowerFetchState.
func (c *Core) FollowerFetched(f Fetch, now time.Time) (Effects, Verdict) {
	none := Effects{HW: c.hw}
	if c.role != Leader {
		return none, NotLeader
	}
	r := c.remote(f.Replica)
	if r == nil {
		return none, NotAssigned
	}
	if f.BrokerEpoch >= 0 && f.BrokerEpoch < r.BrokerEpoch {
		return none, FormerLife
	}
	c.SetAlive(f.Replica, f.Alive, f.BrokerEpoch)
	if f.BrokerEpoch >= 0 {
		r.BrokerEpoch = f.BrokerEpoch
	}
	before := r.LEO
	r.fetched(f.Offset, f.LogStart, c.leo, now)
	prop := c.expand(r)
	e := none
	if r.LEO != before {
		e = c.tryHW(now)
	}
	e.Propose = prop
	return e, Counted
}

// expand proposes the replica for the ISR if it may join: it is alive, it reaches the high watermark, and it reaches the
// start of our epoch. Only the last keeps what the former leader committed beyond the mark that we know: in
//
//	leader 1 commits offset 9 (ISR 1, 2), and dies before 2 learns of it; 2 is elected at LEO 10 with HW 8;
//	3 fetches at 8, which is the HW of 2;
//
// an ISR with 3 could elect it, and offset 9 would be lost. Kafka: Partition.maybeExpandIsr.
func (c *Core) expand(r *Replica) *Proposal {
	if c.pending.kind != noChange || !r.Alive || r.LEO < c.hw || r.LEO < c.epochStart ||
		slices.Contains(c.committed.ISR, r.ID) || !c.assigned(r.ID) {
		return nil
	}
	next := make([]metadata.BrokerID, 0, len(c.committed.ISR)+1)
	next = append(append(next, c.committed.ISR...), r.ID)
	return c.propose(expanding, next)
}

// Tick proposes an ISR without those who have not been caught up for the lag time, and looks at the high watermark anew, as
// replicas outside of the ISR may have died or fallen behind. The shell calls it every half of the lag time.
// Kafka: Partition.maybeShrinkIsr.
func (c *Core) Tick(now time.Time) Effects {
	if c.role != Leader {
		return Effects{HW: c.hw}
	}
	e := c.tryHW(now)
	if c.pending.kind != noChange || !c.anyLagging(now) {
		return e
	}
	next := make([]metadata.BrokerID, 0, len(c.committed.ISR))
	for _, id := range c.committed.ISR {
		if !c.lagging(id, now) {
			next = append(next, id)
		}
	}
	e.Propose = c.propose(shrinking, next)
	return e
}

func (c *Core) anyLagging(now time.Time) bool {
	for _, id := range c.committed.ISR {
		if c.lagging(id, now) {
			return true
		}
	}
	return false
}

func (c *Core) lagging(id metadata.BrokerID, now time.Time) bool {
	if id == c.self {
		return false
	}
	r := c.remote(id)
	return r == nil || !c.assigned(id) || !r.caughtUp(c.leo, now, c.lagMax)
}

func (c *Core) propose(kind change, isr []metadata.BrokerID) *Proposal {
	c.seq++
	p := &Proposal{
		Seq:            c.seq,
		LeaderEpoch:    c.committed.LeaderEpoch,
		PartitionEpoch: c.committed.PartitionEpoch,
		ISR:            isr,
		BrokerEpochs:   make([]int64, len(isr)),
		Expand:         kind == expanding,
	}
	for i, id := range isr {
		p.BrokerEpochs[i] = -1
		if r := c.remote(id); r != nil {
			p.BrokerEpochs[i] = r.BrokerEpoch
		}
	}
	c.pending.kind, c.pending.prop, c.pending.stale = kind, p, false
	return p
}

// ProposalDone tells how a proposal ended; s is the committed state when it was accepted. An answer to a proposal that is
// no longer pending is ignored. "Failed" never means "not applied", unless the outcome is Refused.
// Kafka: Partition.submitAlterPartition, handleAlterPartitionUpdate.
func (c *Core) ProposalDone(seq uint64, out Outcome, s metadata.LeaderAndISR, now time.Time) Effects {
	none := Effects{HW: c.hw}
	if c.pending.kind == noChange || c.pending.prop.Seq != seq {
		return none
	}
	switch out {
	case Accepted:
		return c.commit(s, now)
	case Refused:
		c.clearPending()
		c.forgetStrangers()
		return c.tryHW(now) // who was to join holds it back no more, unless it has caught up and lives
	case Stale:
		c.pending.stale = true
		return none
	default:
		return Effects{HW: c.hw, Propose: c.pending.prop}
	}
}

// Observed tells a state that the controller announced to all brokers. It frees a leader whose proposal was found stale
// when no LeaderAndIsr follows, since its leadership did not change; otherwise it is ignored. The shell gives what the
// metadata cache has with each tick.
// Differs from Kafka: Kafka waits for LeaderAndIsr alone, and is stuck if only the version of the znode changed.
func (c *Core) Observed(s metadata.LeaderAndISR, now time.Time) Effects {
	if !c.pending.stale || s.Leader != c.self || s.PartitionEpoch <= c.committed.PartitionEpoch {
		return Effects{HW: c.hw}
	}
	return c.commit(s, now)
}

// commit makes the ISR of s the committed one, if s belongs to our leadership.
func (c *Core) commit(s metadata.LeaderAndISR, now time.Time) Effects {
	if s.LeaderEpoch != c.committed.LeaderEpoch || s.PartitionEpoch < c.committed.PartitionEpoch {
		return Effects{HW: c.hw}
	}
	joined, left := c.isrDelta(s.ISR)
	c.clearPending()
	c.committed.ISR = s.ISR
	c.committed.PartitionEpoch = s.PartitionEpoch
	c.forgetStrangers()
	e := c.tryHW(now)
	e.Joined, e.Left = joined, left
	return e
}
