package isr

import (
	"slices"
	"time"

	"jackdaw/internal/assert"
	"jackdaw/metadata"
)

// Role is what this broker is for a partition.
type Role uint8

// Roles.
const (
	// None is the role before the first LeaderAndIsr, and after StopReplica.
	None Role = iota
	Leader
	Follower
)

// change is the kind of a pending proposal.
type change uint8

const (
	noChange change = iota
	expanding
	shrinking
)

// State is what the controller decided about a partition.
type State struct {
	metadata.LeaderAndISR
	// Replicas is the assignment; Adding are its members that a reassignment brings.
	Replicas, Adding []metadata.BrokerID
}

// Core is the state machine of one partition on one broker. It is not safe for concurrent use. Kafka: Partition.
type Core struct {
	self      metadata.BrokerID
	lagMax    time.Duration
	role      Role
	committed State // as of the last LeaderAndIsr or accepted proposal; its slices are shared, never changed in place
	minInsync int
	hw, leo   int64
	// epochStart is the log end at the beginning of our leadership epoch.
	epochStart int64
	remotes    []Replica

	pending struct {
		kind  change
		stale bool // the controller refused it for something newer, which has not come yet
		prop  *Proposal
	}
	seq uint64
}

// New returns a partition in role None, of which this broker knows nothing but its own id.
// lagMax is replica.lag.time.max.ms.
func New(self metadata.BrokerID, lagMax time.Duration) *Core {
	c := &Core{self: self, lagMax: lagMax, minInsync: 1}
	c.committed.Leader = metadata.NoBroker
	c.committed.LeaderEpoch = metadata.NoEpoch
	c.committed.PartitionEpoch = -1
	return c
}

// SetMinInsync gives the topic's min.insync.replicas, before any call whose effects depend on it.
func (c *Core) SetMinInsync(n int) { c.minInsync = n }

// SetLagMax gives replica.lag.time.max.ms anew.
func (c *Core) SetLagMax(d time.Duration) { c.lagMax = d }

// BecomeLeader takes over a state in which this broker leads; leo and hw are those of the log. ok is false when the
// state is older than ours and was ignored. In a new leader epoch all that is known of the followers' times is forgotten.
// A state with our own epoch updates the ISR and the assignment, and ends a pending change.
// Kafka: Partition.makeLeader.
func (c *Core) BecomeLeader(s State, leo, hw int64, now time.Time) (e Effects, ok bool) {
	if c.older(s) {
		return Effects{HW: c.hw}, false
	}
	newEpoch := s.LeaderEpoch > c.committed.LeaderEpoch
	newLeader := c.role != Leader
	c.adopt(s)
	c.leo, c.hw = leo, hw
	if newEpoch || newLeader {
		c.epochStart = leo
		for i := range c.remotes {
			r := &c.remotes[i]
			r.elected(now, leo, newLeader, slices.Contains(s.ISR, r.ID))
		}
	}
	c.role = Leader
	e = c.tryHW(now)
	e.NewEpoch, e.EpochStart = newEpoch || newLeader, leo
	return e, true
}

// BecomeFollower takes over a state in which another broker leads, or none. ok is false when the state is older than
// ours. newEpoch tells that fetching has to start anew, whether the leader is another or not.
// Kafka: Partition.makeFollower.
func (c *Core) BecomeFollower(s State) (newEpoch, ok bool) {
	if c.older(s) {
		return false, false
	}
	newEpoch = s.LeaderEpoch > c.committed.LeaderEpoch || c.role != Follower
	c.adopt(s)
	c.role = Follower
	c.epochStart = Unknown
	return newEpoch, true
}

// Stop ends the role, as StopReplica asks. The epochs stay known, so that what is older is still refused.
func (c *Core) Stop() {
	c.role = None
	c.clearPending()
}

// older reports whether we know a newer state. An equal one is applied again: it may end a pending change.
func (c *Core) older(s State) bool {
	return s.LeaderEpoch < c.committed.LeaderEpoch || s.PartitionEpoch < c.committed.PartitionEpoch
}

// undecided reports whether s tells nothing of a proposal that is on its way: it has the very epochs that the proposal is
// conditional on, so the controller may still accept it. A controller that took office, or looked at a failed directory,
// sends such a state:
//
//	leader:     proposes isr 1,2 at version 7; replica 2 has all up to 10, so 11 must wait
//	controller: sends the state of version 7 again, isr 1
//	leader:     takes 11 for committed, as only 1 is in sync
//	controller: accepts isr 1,2; then 2 is elected and 11 is lost
//
// Differs from Kafka: Partition.makeLeader forgets the pending change.
func (c *Core) undecided(s State) bool {
	return c.role == Leader && c.pending.kind != noChange && !c.pending.stale &&
		s.LeaderEpoch == c.committed.LeaderEpoch && s.PartitionEpoch == c.committed.PartitionEpoch
}

// adopt makes s the committed state and keeps the knowledge of replicas that stay assigned. A member of the ISR that is no
// longer assigned counts for the high watermark until it has left: at the end of a reassignment the assignment shrinks
// first, and a controller that takes over in between can still elect that member. So does one of a proposal that is on its
// way, until that is decided.
func (c *Core) adopt(s State) {
	if !c.undecided(s) {
		c.clearPending()
	}
	remotes := make([]Replica, 0, len(s.Replicas))
	add := func(id metadata.BrokerID) {
		if id == c.self {
			return
		}
		if old := c.remote(id); old != nil {
			remotes = append(remotes, *old)
		} else {
			remotes = append(remotes, newReplica(id))
		}
	}
	for _, id := range s.Replicas {
		add(id)
	}
	maximal := s.ISR
	if c.pending.kind == expanding {
		maximal = c.pending.prop.ISR
	}
	for _, id := range maximal {
		if !slices.Contains(s.Replicas, id) {
			add(id)
		}
	}
	c.remotes = remotes
	c.committed = s
	// The leader that an unclean election made has recovered as soon as it leads (KIP-704).
	c.committed.Recovery = metadata.Recovered
}

// forgetStrangers drops what is known of replicas that are neither assigned nor in the ISR.
func (c *Core) forgetStrangers() {
	c.remotes = slices.DeleteFunc(c.remotes, func(r Replica) bool { return !c.assigned(r.ID) && !slices.Contains(c.committed.ISR, r.ID) })
}

func (c *Core) clearPending() {
	c.pending.kind, c.pending.prop, c.pending.stale = noChange, nil, false
}

// isrDelta counts who is new in and who is gone from the ISR if it becomes next.
func (c *Core) isrDelta(next []metadata.BrokerID) (joined, left int) {
	for _, id := range next {
		if !slices.Contains(c.committed.ISR, id) {
			joined++
		}
	}
	for _, id := range c.committed.ISR {
		if !slices.Contains(next, id) {
			left++
		}
	}
	return joined, left
}

// LocalAppended tells the leader that its log ends at leo now.
func (c *Core) LocalAppended(leo int64, now time.Time) Effects {
	if c.role != Leader {
		return Effects{HW: c.hw}
	}
	assert.That(leo >= c.leo, "the leader's log does not get shorter")
	c.leo = leo
	return c.tryHW(now)
}

// SetAlive tells whether a broker is among the live ones, and its epoch where it is known (else -1). A broker that
// registered anew may have lost its disk: what it fetched before is forgotten (KIP-903).
func (c *Core) SetAlive(id metadata.BrokerID, alive bool, epoch int64) {
	r := c.remote(id)
	if r == nil {
		return
	}
	r.Alive = alive
	if epoch >= 0 && r.BrokerEpoch >= 0 && epoch > r.BrokerEpoch {
		r.reset()
	}
}

// tryHW raises the high watermark to the least log end of the maximal ISR and of the live replicas that have caught up
// though they are not in the ISR: if these were ignored, a joining follower would chase a mark that runs ahead of it.
// Below min.insync.replicas nothing moves. Kafka: Partition.maybeIncrementLeaderHW, KAFKA-15583.
func (c *Core) tryHW(now time.Time) Effects {
	if c.UnderMinISR() {
		return Effects{HW: c.hw}
	}
	hw := c.leo
	maximal := c.MaximalISR()
	for i := range c.remotes {
		r := &c.remotes[i]
		if r.LEO >= hw {
			continue
		}
		if slices.Contains(maximal, r.ID) || r.Alive && r.caughtUp(c.leo, now, c.lagMax) {
			hw = r.LEO
		}
	}
	if hw <= c.hw {
		return Effects{HW: c.hw}
	}
	c.hw = hw
	return Effects{HW: hw, HWMoved: true}
}

// FollowerHW is the high watermark of a follower whose log ends at leo when its leader tells leaderHW.
func FollowerHW(leo, leaderHW int64) int64 { return min(leo, leaderHW) }
