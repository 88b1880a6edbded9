package isr

import (
	"slices"

	"jackdaw/metadata"
)

// Role returns what this broker is for the partition.
func (c *Core) Role() Role { return c.role }

// Committed returns the last committed state. Its slices must not be changed.
func (c *Core) Committed() State { return c.committed }

// LeaderEpoch returns the epoch of the last state that was applied, NoEpoch before the first.
func (c *Core) LeaderEpoch() metadata.LeaderEpoch { return c.committed.LeaderEpoch }

// EpochStart returns the log end at the start of our leadership, Unknown when we do not lead.
func (c *Core) EpochStart() int64 {
	if c.role != Leader {
		return Unknown
	}
	return c.epochStart
}

// HW returns the high watermark as the leader computed it.
func (c *Core) HW() int64 { return c.hw }

// MaximalISR returns all that may be in the ISR whatever becomes of the pending change: the high watermark waits for all
// of them. Kafka: PartitionState.maximalIsr.
func (c *Core) MaximalISR() []metadata.BrokerID {
	if c.pending.kind == expanding {
		return c.pending.prop.ISR
	}
	return c.committed.ISR
}

// Pending reports whether a proposal is under way.
func (c *Core) Pending() bool { return c.pending.kind != noChange }

// IsPending reports whether the proposal with this number still waits for its end, so that a repetition makes sense.
func (c *Core) IsPending(seq uint64) bool {
	return c.pending.kind != noChange && c.pending.prop.Seq == seq
}

// Stuck reports whether the pending proposal was found stale, so that Observed may help.
func (c *Core) Stuck() bool { return c.pending.stale }

// MinISR returns the effective min.insync.replicas: never more than there are replicas.
func (c *Core) MinISR() int { return min(c.minInsync, max(len(c.committed.Replicas), 1)) }

// UnderMinISR reports whether the committed ISR is too small for acks=all.
func (c *Core) UnderMinISR() bool { return c.role == Leader && len(c.committed.ISR) < c.MinISR() }

// AtMinISR reports whether the loss of one more member stops acks=all.
func (c *Core) AtMinISR() bool { return c.role == Leader && len(c.committed.ISR) == c.MinISR() }

// UnderReplicated reports whether replicas are missing from the ISR, not counting those that a reassignment adds.
func (c *Core) UnderReplicated() bool {
	if c.role != Leader {
		return false
	}
	wanted := 0
	for _, id := range c.committed.Replicas {
		if !slices.Contains(c.committed.Adding, id) {
			wanted++
		}
	}
	return len(c.committed.ISR) < wanted
}

// Reached tells a producer with acks=all whether everything below offset is committed, and whether the ISR, in the
// hopeful view of the maximal one, is still large enough. Kafka: Partition.checkEnoughReplicasReachOffset.
func (c *Core) Reached(offset int64) (committed, enough bool) {
	if c.hw < offset {
		return false, true
	}
	return true, len(c.MaximalISR()) >= c.MinISR()
}

// LowWatermark returns the offset below which no live replica has records, for a leader whose log starts at logStart
// (KIP-107). Kafka: Partition.lowWatermarkIfLeader.
func (c *Core) LowWatermark(logStart int64) int64 {
	low := logStart
	for i := range c.remotes {
		if r := &c.remotes[i]; r.Alive {
			low = min(low, r.LogStart)
		}
	}
	return low
}

// Remotes returns the other replicas, and members of the ISR that are no longer assigned. The slice is the Core's own.
func (c *Core) Remotes() []Replica { return c.remotes }

// Outsiders reports whether there are replicas outside of the ISR, whose liveness matters for the high watermark.
func (c *Core) Outsiders() bool {
	return c.role == Leader && len(c.committed.ISR) < len(c.remotes)+1
}

func (c *Core) remote(id metadata.BrokerID) *Replica {
	for i := range c.remotes {
		if c.remotes[i].ID == id {
			return &c.remotes[i]
		}
	}
	return nil
}

// assigned reports whether a broker is a replica.
func (c *Core) assigned(id metadata.BrokerID) bool { return slices.Contains(c.committed.Replicas, id) }
