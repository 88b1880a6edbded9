package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
)

// LeavingMember names a member that leaves: by its id, or, with an empty id, by its instance id.
type LeavingMember struct {
	MemberID   string
	InstanceID *string
}

// Leave removes members. The reply is one error or nil for each, []error. Kafka: GroupCoordinator.handleLeaveGroup.
func (s *Shard) Leave(now time.Time, t coordinator.Ticket, id string, members []LeavingMember) coordinator.Effects {
	s.now = now
	errs := make([]error, len(members))
	g := s.groups[id]
	if g != nil && g.consumer != nil {
		s.leaveClassic(t, g, members)
		return s.effects()
	}
	for i, l := range members {
		if g == nil {
			errs[i] = kerr.UnknownMemberID
			continue
		}
		errs[i] = s.leave(g, l)
	}
	s.reply(t, errs)
	return s.effects()
}

func (s *Shard) leave(g *group, l LeavingMember) error {
	if l.MemberID == "" {
		if l.InstanceID == nil || g.static[*l.InstanceID] == nil {
			return kerr.UnknownMemberID
		}
		s.removeMember(g, g.static[*l.InstanceID], kerr.UnknownMemberID)
		return nil
	}
	if _, ok := g.pending[l.MemberID]; ok {
		s.removePending(g, l.MemberID)
		return nil
	}
	m, err := g.check(l.MemberID, l.InstanceID)
	if err != nil {
		return err
	}
	s.removeMember(g, m, kerr.UnknownMemberID)
	return nil
}
