package group

import (
	"container/heap"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

type timerKind int8

const (
	sessionTimer   timerKind = iota // a member's session, or its first join
	pendingTimer                    // a member id that was given out and not used
	rebalanceTimer                  // the join phase
	syncTimer                       // the sync phase

	consumerSessionTimer // the session of a member of a consumer group
	revokeTimer          // its giving up of partitions
	consumerJoinTimer    // a classic member's next join to a consumer group
	consumerSyncTimer    // a classic member's fetching of its assignment there
)

// timer is an entry of the queue. It is valid while its seq stands where it is expected; canceling is forgetting the seq.
type timer struct {
	at     time.Time
	seq    uint64
	kind   timerKind
	g      *group
	m      *member        // sessionTimer
	c      *consumerGroup // timers of consumer groups: what g consists of
	member string         // pendingTimer, and those of consumer groups
}

func (t *timer) valid() bool {
	if t.c != nil {
		ts := t.c.timers[t.member]
		return t.g.consumer == t.c && ts != nil && *ts.slot(t.kind) == t.seq
	}
	if t.g.state == Dead {
		return false
	}
	switch t.kind {
	case sessionTimer:
		return t.m.session.seq == t.seq
	case pendingTimer:
		return t.g.pending[t.member] == t.seq
	case rebalanceTimer:
		return t.g.rebalance.timer == t.seq
	case syncTimer:
		return t.g.syncTimer == t.seq
	default:
		return false
	}
}

// timers is a heap by time, then by seq so that runs repeat exactly.
type timers struct {
	q    []timer
	last uint64
}

func (h *timers) Len() int { return len(h.q) }
func (h *timers) Less(i, j int) bool {
	if h.q[i].at.Equal(h.q[j].at) {
		return h.q[i].seq < h.q[j].seq
	}
	return h.q[i].at.Before(h.q[j].at)
}
func (h *timers) Swap(i, j int) { h.q[i], h.q[j] = h.q[j], h.q[i] }

// Push and Pop are for container/heap.
func (h *timers) Push(x any) { h.q = append(h.q, x.(timer)) }

func (h *timers) Pop() any {
	t := h.q[len(h.q)-1]
	h.q[len(h.q)-1] = timer{}
	h.q = h.q[:len(h.q)-1]
	return t
}

// start queues a timer and returns its seq.
func (h *timers) start(t timer) uint64 {
	h.last++
	t.seq = h.last
	heap.Push(h, t)
	return t.seq
}

// next is the time of the first valid timer, zero when there is none.
func (h *timers) next() time.Time {
	for len(h.q) > 0 && !h.q[0].valid() {
		heap.Pop(h)
	}
	if len(h.q) == 0 {
		return time.Time{}
	}
	return h.q[0].at
}

// due takes off a valid timer that is due.
func (h *timers) due(now time.Time) (timer, bool) {
	if at := h.next(); at.IsZero() || at.After(now) {
		return timer{}, false
	}
	return heap.Pop(h).(timer), true
}

// extendSession gives a member d from now on to be heard of again.
func (s *Shard) extendSession(g *group, m *member, d time.Duration) {
	t := &m.session
	t.deadline = s.now.Add(d)
	if t.seq == 0 || t.deadline.Before(t.queued) {
		t.queued = t.deadline
		t.seq = s.timers.start(timer{at: t.queued, kind: sessionTimer, g: g, m: m})
	}
}

// heard is extendSession by the session time-out. Kafka: completeAndScheduleNextHeartbeatExpiration.
func (s *Shard) heard(g *group, m *member) { s.extendSession(g, m, m.sessionTimeout) }

func (s *Shard) fire(t timer) {
	switch t.kind {
	case sessionTimer:
		s.sessionDue(t.g, t.m)
	case pendingTimer:
		s.removePending(t.g, t.member)
	case rebalanceTimer:
		s.joinPhaseDue(t.g)
	case syncTimer:
		s.syncPhaseDue(t.g)
	case consumerSessionTimer, revokeTimer, consumerJoinTimer, consumerSyncTimer:
		s.consumerDue(t)
	}
}

// sessionDue removes a member that was silent for too long. One that waits in a rebalance is alive, unless it waits in its
// very first join: its client may have gone and come again under another id (KIP-394, NewMemberJoinTimeout).
func (s *Shard) sessionDue(g *group, m *member) {
	m.session.seq = 0
	if m.session.deadline.After(s.now) {
		m.session.queued = m.session.deadline
		m.session.seq = s.timers.start(timer{at: m.session.deadline, kind: sessionTimer, g: g, m: m})
		return
	}
	if m.keepsSession() {
		return // the timer starts again with the answer
	}
	s.removeMember(g, m, kerr.UnknownMemberID)
}
