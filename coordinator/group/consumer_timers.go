package group

import "time"

// fenceRetry is when a member is fenced again after the write was refused. Kafka: CoordinatorRuntime's timer.
const fenceRetry = 500 * time.Millisecond

// consumerTimers are what may end a member of a consumer group, each by seq; 0 for none. Only the session's moves often.
type consumerTimers struct {
	session memberTimer
	// revoke is the time to give up partitions in revokeEpoch.
	revoke      uint64
	revokeEpoch int32
	// join and sync are the time that a member of the classic protocol has to come again, and to fetch its assignment.
	join, sync uint64
}

func (c *consumerGroup) timersOf(id string) *consumerTimers {
	t := c.timers[id]
	if t == nil {
		t = &consumerTimers{}
		c.timers[id] = t
	}
	return t
}

func (s *Shard) startConsumerTimer(g *group, id string, kind timerKind, d time.Duration) uint64 {
	return s.timers.start(timer{at: s.now.Add(d), kind: kind, g: g, c: g.consumer, member: id})
}

// consumerHeard gives a member d from now on to be heard of again.
func (s *Shard) consumerHeard(g *group, id string, d time.Duration) {
	if g.consumer == nil || g.consumer.members[id] == nil {
		return
	}
	t := &g.consumer.timersOf(id).session
	t.deadline = s.now.Add(d)
	if t.seq == 0 || t.deadline.Before(t.queued) {
		t.queued = t.deadline
		t.seq = s.startConsumerTimer(g, id, consumerSessionTimer, d)
	}
}

// watchRevocation starts the time in which a member must give up partitions, or ends it. Members of the classic protocol must
// join and sync in time instead. Kafka: maybeReconcile.
func (s *Shard) watchRevocation(g *group, m, up *consumerMember) {
	if up.usesClassic() || up.placed(m) {
		return
	}
	t := g.consumer.timersOf(up.id)
	t.revoke = 0
	if up.state == memberUnrevoked {
		t.revokeEpoch = up.epoch
		t.revoke = s.startConsumerTimer(g, up.id, revokeTimer, time.Duration(up.rebalanceTimeoutMs)*time.Millisecond)
	}
}

// expectJoin starts the time in which a classic member must join again, if it does not run. Kafka:
// scheduleConsumerGroupJoinTimeoutIfAbsent.
func (s *Shard) expectJoin(g *group, m *consumerMember) {
	if t := g.consumer.timersOf(m.id); t.join == 0 {
		t.join = s.startConsumerTimer(g, m.id, consumerJoinTimer, time.Duration(m.rebalanceTimeoutMs)*time.Millisecond)
	}
}

// slot is where the seq of a timer of this kind stands.
func (t *consumerTimers) slot(kind timerKind) *uint64 {
	switch kind {
	case revokeTimer:
		return &t.revoke
	case consumerJoinTimer:
		return &t.join
	case consumerSyncTimer:
		return &t.sync
	default:
		return &t.session.seq
	}
}

// consumerDue fences a member whose time is up, and tries again if that could not be written.
func (s *Shard) consumerDue(t timer) {
	g, ts := t.g, t.c.timers[t.member]
	slot := ts.slot(t.kind)
	*slot = 0
	if left := ts.session.deadline.Sub(s.now); t.kind == consumerSessionTimer && left > 0 {
		ts.session.queued = ts.session.deadline
		*slot = s.startConsumerTimer(g, t.member, t.kind, left)
		return
	}
	m := t.c.members[t.member]
	if m == nil || t.kind == revokeTimer && m.epoch != ts.revokeEpoch {
		return
	}
	s.fence(g, m, func(err error) {
		if err != nil && g.consumer == t.c && t.c.members[t.member] != nil && *slot == 0 {
			*slot = s.startConsumerTimer(g, t.member, t.kind, fenceRetry)
			if t.kind == consumerSessionTimer {
				ts.session.queued = s.now.Add(fenceRetry)
			}
		}
	})
}

// loadedConsumer starts the time-outs of a group after a load. Kafka: GroupMetadataManager.onLoaded.
func (s *Shard) loadedConsumer(g *group) {
	for _, id := range g.consumer.ids() {
		m := g.consumer.members[id]
		s.consumerHeard(g, id, s.cfg.Consumer.SessionTimeout)
		if m.state == memberUnrevoked {
			t := g.consumer.timersOf(id)
			t.revokeEpoch = m.epoch
			t.revoke = s.startConsumerTimer(g, id, revokeTimer, time.Duration(m.rebalanceTimeoutMs)*time.Millisecond)
		}
	}
}
