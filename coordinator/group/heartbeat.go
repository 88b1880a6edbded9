package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// MemberRequest names a member and its generation: a Heartbeat.
type MemberRequest struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
}

// Heartbeat keeps a member alive; the reply is an error or nil. Kafka: GroupCoordinator.handleHeartbeat.
func (s *Shard) Heartbeat(now time.Time, t coordinator.Ticket, r MemberRequest) coordinator.Effects {
	s.now = now
	s.reply(t, Result{s.heartbeat(&r)})
	return s.effects()
}

// Result is a reply that is only an error, or nil.
type Result struct{ Err error }

func (s *Shard) heartbeat(r *MemberRequest) error {
	if g := s.groups[r.Group]; g != nil && g.consumer != nil {
		return s.heartbeatConsumer(g, r)
	}
	g, m, err := s.current(r.Group, r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	if g.state == Empty {
		return kerr.UnknownMemberID
	}
	s.heard(g, m)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress
	}
	return nil
}
