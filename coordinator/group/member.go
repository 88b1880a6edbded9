package group

import (
	"bytes"
	"time"

	"jackdaw/coordinator"
)

// Protocol is an assignment strategy that a member supports, with its subscription in the strategy's own encoding.
type Protocol struct {
	Name     string
	Metadata []byte
}

func (p Protocol) equal(o Protocol) bool {
	return p.Name == o.Name && bytes.Equal(p.Metadata, o.Metadata)
}

// member is one member of a group. Kafka: MemberMetadata.
type member struct {
	id string
	// instanceID is nil for a dynamic member (KIP-345).
	instanceID           *string
	clientID, clientHost string
	sessionTimeout       time.Duration
	rebalanceTimeout     time.Duration
	// protocols by falling preference.
	protocols []Protocol
	// assignment is what the leader gave in the current generation, empty before.
	assignment []byte
	// isNew until its first join has been answered: it cannot send heartbeats yet.
	isNew bool
	// join and sync are the requests of the member that wait; NoTicket when there is none.
	join, sync coordinator.Ticket
	// skipAssignment says that the waiting join may be told to skip the assignment (KIP-814, JoinGroup 9).
	skipAssignment bool
	session        memberTimer
}

// memberTimer is the session time-out: deadline moves with each heartbeat, but the queued timer only when it fires.
type memberTimer struct {
	deadline time.Time
	queued   time.Time // when the timer with seq fires
	seq      uint64    // 0 when none is queued
}

func (m *member) isStatic() bool     { return m.instanceID != nil }
func (m *member) awaitingJoin() bool { return m.join != coordinator.NoTicket }
func (m *member) awaitingSync() bool { return m.sync != coordinator.NoTicket }
func (m *member) keepsSession() bool { return !m.isNew && (m.awaitingJoin() || m.awaitingSync()) }

// metadata is the member's subscription for a protocol, nil if it does not support it.
func (m *member) metadata(protocol string) []byte {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return m.protocols[i].Metadata
		}
	}
	return nil
}

// matches reports whether the protocols are those of the member: same names, order and bytes. Kafka: MemberMetadata.matches.
func (m *member) matches(protocols []Protocol) bool {
	if len(protocols) != len(m.protocols) {
		return false
	}
	for i := range protocols {
		if !protocols[i].equal(m.protocols[i]) {
			return false
		}
	}
	return true
}

// vote is the member's most preferred protocol among candidates.
func (m *member) vote(candidates map[string]bool) string {
	for i := range m.protocols {
		if candidates[m.protocols[i].Name] {
			return m.protocols[i].Name
		}
	}
	return ""
}
