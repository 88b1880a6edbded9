package group

import (
	"slices"
	"time"

	"jackdaw/coordinator"
)

// noTimestamp is the state timestamp of groups stored by brokers before 2.1, which did not write it.
const noTimestamp = int64(-1)

// group is one consumer group. It keeps its own counts in order; decisions are in Shard's methods. Kafka: GroupMetadata.
type group struct {
	id    string
	state State
	// since is when the state was entered, ms; noTimestamp when the record did not say.
	since      int64
	generation int32
	// protocolType is nil for a group that only stores offsets.
	protocolType *string
	// protocol is the strategy of the current generation, nil when Empty.
	protocol *string
	// leader is a member id, empty without members.
	leader string

	members map[string]*member
	order   []*member // members by the time they joined
	static  map[string]*member
	// supported counts the members that support each protocol.
	supported map[string]int
	awaiting  int // members with a waiting join
	// pending are ids that were given out, whose owner has not joined with them yet (KIP-394); the value is their timer.
	pending map[string]uint64
	// unsynced are members of the current generation that have not sent SyncGroup.
	unsynced map[string]bool
	// subscribed are the topics that members subscribe to; nil when that is not known.
	subscribed map[string]bool

	rebalance   rebalance
	syncTimer   uint64
	memberAdded bool // during the initial delay: wait for more

	// consumer is set for a group of the protocol of KIP-848. All of the above but id is then that of an empty group.
	consumer *consumerGroup

	offsets offsets
}

// rebalance is the join phase while the group is PreparingRebalance.
type rebalance struct {
	timer uint64
	// initial is the first phase of an Empty group: it ends by time only, not when all have joined.
	initial bool
	// remaining is by how much the initial delay may still be extended.
	remaining time.Duration
}

func newGroup(id string, now time.Time) *group {
	return &group{
		id:        id,
		since:     now.UnixMilli(),
		members:   map[string]*member{},
		static:    map[string]*member{},
		supported: map[string]int{},
		pending:   map[string]uint64{},
		unsynced:  map[string]bool{},
	}
}

func (g *group) enter(s State, now time.Time) {
	g.state = s
	g.since = now.UnixMilli()
}

func (g *group) isLeader(memberID string) bool { return g.leader != "" && g.leader == memberID }

func (g *group) isConsumerGroup() bool {
	return g.protocolType != nil && *g.protocolType == consumerType
}

func (g *group) canRebalance() bool {
	return g.state == Stable || g.state == CompletingRebalance || g.state == Empty
}

// add puts a member in. The first one is the leader and decides the protocol type.
func (g *group) add(m *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = &protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members[m.id] = m
	g.order = append(g.order, m)
	if m.isStatic() {
		g.static[*m.instanceID] = m
	}
	g.count(m, 1)
	delete(g.pending, m.id)
}

// remove takes a member out. Its waiting requests must have been answered.
func (g *group) remove(m *member) {
	g.setJoin(m, coordinator.NoTicket)
	m.session.seq = 0
	g.count(m, -1)
	delete(g.members, m.id)
	delete(g.unsynced, m.id)
	g.order = slices.DeleteFunc(g.order, func(o *member) bool { return o == m })
	if m.isStatic() {
		delete(g.static, *m.instanceID)
	}
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0].id
		}
	}
}

// rename gives a static member its new id, and the leadership with it.
func (g *group) rename(m *member, id string) {
	old := m.id
	delete(g.members, old)
	m.id = id
	g.members[id] = m
	if g.leader == old {
		g.leader = id
	}
	if g.unsynced[old] {
		delete(g.unsynced, old)
		g.unsynced[id] = true
	}
}

// setProtocols replaces what the member supports.
func (g *group) setProtocols(m *member, protocols []Protocol) {
	g.count(m, -1)
	m.protocols = protocols
	g.count(m, 1)
}

func (g *group) count(m *member, by int) {
	for i := range m.protocols {
		n := m.protocols[i].Name
		if slices.ContainsFunc(m.protocols[:i], func(p Protocol) bool { return p.Name == n }) {
			continue // named twice
		}
		if g.supported[n] += by; g.supported[n] == 0 {
			delete(g.supported, n)
		}
	}
}

// setJoin sets the waiting join of a member and returns the one before.
func (g *group) setJoin(m *member, t coordinator.Ticket) (old coordinator.Ticket) {
	old, m.join = m.join, t
	switch {
	case old == coordinator.NoTicket && t != coordinator.NoTicket:
		g.awaiting++
	case old != coordinator.NoTicket && t == coordinator.NoTicket:
		g.awaiting--
	}
	return old
}

// allJoined reports whether everybody who is expected waits in the join phase. Kafka: GroupMetadata.hasAllMembersJoined.
func (g *group) allJoined() bool { return g.awaiting == len(g.members) && len(g.pending) == 0 }

// accepts reports whether a joiner fits: the type is the group's, and one of its protocols is supported by all members.
// Kafka: GroupMetadata.supportsProtocols.
func (g *group) accepts(protocolType string, protocols []Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == nil || *g.protocolType != protocolType {
		return false
	}
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return g.supported[p.Name] == len(g.members) })
}

// electProtocol counts the members' votes among the protocols that all support. A tie goes to the one that was voted for
// first, in the order of joining. Kafka: GroupMetadata.selectProtocol, where a tie goes to any.
func (g *group) electProtocol() string {
	candidates := map[string]bool{}
	for n, c := range g.supported {
		if c == len(g.members) {
			candidates[n] = true
		}
	}
	votes := map[string]int{}
	best := ""
	for _, m := range g.order {
		votes[m.vote(candidates)]++
	}
	for _, m := range g.order {
		if v := m.vote(candidates); best == "" || votes[v] > votes[best] {
			best = v
		}
	}
	return best
}

// electLeader makes sure that the leader is one who has joined; false when nobody has. Kafka: maybeElectNewJoinedLeader.
func (g *group) electLeader() bool {
	if m := g.members[g.leader]; m != nil && m.awaitingJoin() {
		return true
	}
	for _, m := range g.order {
		if m.awaitingJoin() {
			g.leader = m.id
			return true
		}
	}
	return false
}

// nextGeneration closes the join phase.
func (g *group) nextGeneration(now time.Time) {
	g.generation++
	clear(g.unsynced)
	if len(g.members) == 0 {
		g.protocol = nil
		g.enter(Empty, now)
	} else {
		p := g.electProtocol()
		g.protocol = &p
		g.enter(CompletingRebalance, now)
	}
	g.subscribed = g.subscriptions()
}

// rebalanceTimeout is the largest of the members, 0 without members.
func (g *group) rebalanceTimeout() time.Duration {
	var d time.Duration
	for _, m := range g.order {
		d = max(d, m.rebalanceTimeout)
	}
	return d
}
