package isr

import (
	"time"

	"jackdaw/metadata"
)

// Unknown is the offset of a replica that has not fetched since this leader was elected.
const Unknown int64 = -1

// Replica is what a leader knows of another replica of its partition. Kafka: Replica, ReplicaState.
type Replica struct {
	ID metadata.BrokerID
	// LEO is the offset of the last fetch: the proof that the replica holds everything below. Unknown at first.
	LEO int64
	// LogStart is the replica's log start offset as of the last fetch.
	LogStart int64
	// BrokerEpoch is that of the last fetch, -1 when the replica does not tell (KIP-903).
	BrokerEpoch int64
	// Alive is what SetAlive or the last fetch said.
	Alive bool

	lastFetch    time.Time
	lastFetchLEO int64 // the leader's LEO at lastFetch
	lastCaughtUp time.Time
}

// newReplica returns a replica of which nothing is known.
func newReplica(id metadata.BrokerID) Replica {
	return Replica{ID: id, LEO: Unknown, LogStart: Unknown, BrokerEpoch: -1, lastFetchLEO: Unknown}
}

// reset forgets what the replica fetched, as it may have lost it.
func (r *Replica) reset() {
	alive := r.Alive
	*r = newReplica(r.ID)
	r.Alive = alive
}

// elected prepares the replica for a new leader epoch. Members of the ISR get a whole lag time to show up; the others
// must not hold back the high watermark. What a former leader knew is of no use to a new one.
// Kafka: Replica.resetReplicaState.
func (r *Replica) elected(now time.Time, leo int64, newLeader, inISR bool) {
	if newLeader {
		r.reset()
	} else {
		r.lastFetchLEO = leo
		r.lastFetch = time.Time{}
		if inISR {
			r.lastFetch = now
		}
	}
	r.lastCaughtUp = time.Time{}
	if inISR {
		r.lastCaughtUp = now
	}
}

// fetched records a fetch at offset while the leader ended at leo. A replica counts as caught up at the time of this
// fetch if it asks for what is not there yet, and at the time of its former fetch if it has now all that was there then:
// one that stays a fetch behind under load is in sync. Kafka: Replica.updateFetchStateOrThrow.
func (r *Replica) fetched(offset, logStart, leo int64, now time.Time) {
	switch {
	case offset >= leo:
		r.caughtUpAt(now)
	case offset >= r.lastFetchLEO:
		r.caughtUpAt(r.lastFetch)
	}
	r.LEO = offset
	r.LogStart = logStart
	r.lastFetchLEO = max(leo, r.lastFetchLEO)
	r.lastFetch = now
}

func (r *Replica) caughtUpAt(t time.Time) {
	if t.After(r.lastCaughtUp) {
		r.lastCaughtUp = t
	}
}

// caughtUp reports whether the replica has all that the leader has, or had it at most lagMax ago.
func (r *Replica) caughtUp(leo int64, now time.Time, lagMax time.Duration) bool {
	return r.LEO == leo || now.Sub(r.lastCaughtUp) <= lagMax
}
