package group

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// maybeRebalance starts the join phase unless it has begun. Kafka: maybePrepareRebalance.
func (s *Shard) maybeRebalance(g *group) {
	if g.canRebalance() {
		s.prepareRebalance(g)
	}
}

// prepareRebalance starts the join phase. Kafka: prepareRebalance.
func (s *Shard) prepareRebalance(g *group) {
	if g.state == CompletingRebalance {
		s.failSync(g, kerr.RebalanceInProgress)
	}
	g.syncTimer = 0
	g.rebalance = rebalance{}
	wait := g.rebalanceTimeout()
	if g.state == Empty {
		g.rebalance.initial = true
		g.rebalance.remaining = max(0, wait-s.cfg.InitialRebalanceDelay)
		wait = s.cfg.InitialRebalanceDelay
		g.memberAdded = false
	}
	g.enter(PreparingRebalance, s.now)
	s.startJoinPhase(g, wait)
	s.tryCompleteJoin(g)
}

func (s *Shard) startJoinPhase(g *group, wait time.Duration) {
	g.rebalance.timer = s.timers.start(timer{at: s.now.Add(wait), kind: rebalanceTimer, g: g})
}

// tryCompleteJoin ends the join phase as soon as everybody who is expected has joined; the initial delay runs to its end.
func (s *Shard) tryCompleteJoin(g *group) {
	if g.state == PreparingRebalance && !g.rebalance.initial && g.allJoined() {
		s.completeJoin(g)
	}
}

// joinPhaseDue ends the join phase by time. The initial delay is extended while members keep coming.
// Kafka: InitialDelayedJoin.onComplete, DelayedJoin.onExpiration.
func (s *Shard) joinPhaseDue(g *group) {
	r := &g.rebalance
	if r.initial && g.memberAdded && r.remaining > 0 {
		g.memberAdded = false
		wait := min(s.cfg.InitialRebalanceDelay, r.remaining)
		r.remaining -= wait
		s.startJoinPhase(g, wait)
		return
	}
	s.completeJoin(g)
}

// completeJoin begins the next generation with those who have joined. Static members that have not are kept; dynamic ones
// are out. Kafka: onCompleteJoin.
func (s *Shard) completeJoin(g *group) {
	for i := 0; i < len(g.order); {
		if m := g.order[i]; !m.awaitingJoin() && !m.isStatic() {
			g.remove(m)
			continue
		}
		i++
	}
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members that are away: wait for one to come back or for their sessions to end.
		g.rebalance.initial = false
		s.startJoinPhase(g, g.rebalanceTimeout())
		return
	}
	g.rebalance = rebalance{}
	g.nextGeneration(s.now)
	if g.state == Empty {
		s.writeGroup(g, nil, &emptyWrite{g})
		return
	}
	for _, m := range g.order {
		s.reply(g.setJoin(m, coordinator.NoTicket), g.joined(m, g.isLeader(m.id)))
		m.isNew = false
		s.heard(g, m)
		g.unsynced[m.id] = true
	}
	g.syncTimer = s.timers.start(timer{at: s.now.Add(g.rebalanceTimeout()), kind: syncTimer, g: g})
}

// emptyWrite stores that the group has no members. Nobody waits for it, and if it fails the members of the generation
// before expire after the next load.
type emptyWrite struct{ g *group }

func (*emptyWrite) appended(*Shard, int64) {}
func (*emptyWrite) rejected(*Shard, error) {}
func (*emptyWrite) late(*Shard, error)     {}
func (*emptyWrite) committed(*Shard)       {}

// removeMember takes a member out, answers what it waits for, and lets the others go on without it.
// Kafka: removeMemberAndUpdateGroup.
func (s *Shard) removeMember(g *group, m *member, why error) {
	s.answerWaiting(g, m, why)
	g.remove(m)
	if g.state == PreparingRebalance {
		s.tryCompleteJoin(g)
		return
	}
	if g.state == Stable || g.state == CompletingRebalance {
		s.maybeRebalance(g)
	}
}

// removePending forgets an id that was given out. Kafka: removePendingMemberAndUpdateGroup.
func (s *Shard) removePending(g *group, id string) {
	delete(g.pending, id)
	s.tryCompleteJoin(g)
}

// answerWaiting ends what a member waits for with an error.
func (s *Shard) answerWaiting(g *group, m *member, err error) {
	id := m.id
	if errors.Is(err, kerr.UnknownMemberID) {
		id = ""
	}
	s.refuseJoin(g.setJoin(m, coordinator.NoTicket), id, err)
	s.refuseSync(m, err)
}
