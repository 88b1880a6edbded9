package group

import (
	"slices"
	"strings"
	"time"

	"jackdaw/coordinator"
)

// Description is what DescribeGroups tells of a group. Kafka: GroupSummary.
type Description struct {
	State        string
	ProtocolType string
	// Protocol, and the members' metadata and assignments, are told of Stable groups only.
	Protocol string
	Members  []DescribedMember
}

// DescribedMember is a member in a Description. Its bytes are shared and must not be changed.
type DescribedMember struct {
	ID                   string
	InstanceID           *string
	ClientID, ClientHost string
	Metadata, Assignment []byte
}

// Describe replies with a Description; of an unknown group with one in state Dead.
func (s *Shard) Describe(now time.Time, t coordinator.Ticket, id string) coordinator.Effects {
	s.now = now
	g := s.groups[id]
	if g == nil || g.consumer != nil {
		s.reply(t, Description{State: Dead.String()})
		return s.effects()
	}
	d := Description{State: g.state.String(), Members: make([]DescribedMember, len(g.order))}
	if g.protocolType != nil {
		d.ProtocolType = *g.protocolType
	}
	stable := g.state == Stable && g.protocol != nil
	if stable {
		d.Protocol = *g.protocol
	}
	for i, m := range g.order {
		d.Members[i] = DescribedMember{ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost}
		if stable {
			d.Members[i].Metadata, d.Members[i].Assignment = m.metadata(d.Protocol), m.assignment
		}
	}
	s.reply(t, d)
	return s.effects()
}

// Listing is one group in ListGroups. Type is one of the types of groups. Kafka: GroupOverview.
type Listing struct {
	ID, ProtocolType, State, Type string
}

// The types of groups. Kafka: Group.GroupType.
const (
	ClassicType  = "classic"
	ConsumerType = "consumer"
)

// List replies with the groups in one of the states and of one of the types, []Listing sorted by id; none mean all. Case does
// not count.
func (s *Shard) List(now time.Time, t coordinator.Ticket, states, types []string) coordinator.Effects {
	s.now = now
	out := []Listing{}
	for _, g := range s.groups {
		if l := g.listing(); anyOf(states, l.State) && anyOf(types, l.Type) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Listing) int { return strings.Compare(a.ID, b.ID) })
	s.reply(t, out)
	return s.effects()
}

func (g *group) listing() Listing {
	if g.consumer != nil {
		return Listing{ID: g.id, ProtocolType: consumerType, State: string(g.consumer.state()), Type: ConsumerType}
	}
	l := Listing{ID: g.id, State: g.state.String(), Type: ClassicType}
	if g.protocolType != nil {
		l.ProtocolType = *g.protocolType
	}
	return l
}

// anyOf reports whether v is one of the names, or there are none.
func anyOf(names []string, v string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, v) })
}
