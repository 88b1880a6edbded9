package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
)

// ConsumerDescription is what ConsumerGroupDescribe tells of a group.
type ConsumerDescription struct {
	// Err is GROUP_ID_NOT_FOUND, or why the coordinator cannot tell; then the rest is empty.
	Err                error
	State              ConsumerState
	Epoch, TargetEpoch int32
	Assignor           string
	Members            []DescribedConsumer
}

// DescribedConsumer is a member in a ConsumerDescription. What it refers to is shared and must not be changed.
type DescribedConsumer struct {
	ID                   string
	Epoch                int32
	InstanceID, Rack     *string
	ClientID, ClientHost string
	Topics               []string
	Regex                *string
	Assigned, Target     assignor.Partitions
}

// DescribeConsumer replies with a ConsumerDescription. Kafka: GroupMetadataManager.consumerGroupDescribe.
func (s *Shard) DescribeConsumer(now time.Time, t coordinator.Ticket, id string) coordinator.Effects {
	s.now = now
	g := s.groups[id]
	if g == nil || g.consumer == nil {
		s.reply(t, ConsumerDescription{Err: kerr.GroupIDNotFound})
		return s.effects()
	}
	d := s.describeConsumer(g.consumer)
	s.afterWrites(func(err error) {
		if err != nil {
			d = ConsumerDescription{Err: err}
		}
		s.reply(t, d)
	})
	return s.effects()
}

func (s *Shard) describeConsumer(c *consumerGroup) ConsumerDescription {
	d := ConsumerDescription{
		State: c.state(), Epoch: c.epoch, TargetEpoch: c.targetEpoch, Assignor: preferredAssignor(c.members, s.cfg.Consumer.Assignors),
	}
	for _, id := range c.ids() {
		m := c.members[id]
		d.Members = append(d.Members, DescribedConsumer{
			ID: id, Epoch: m.epoch, InstanceID: m.instanceID, Rack: m.rack, ClientID: m.clientID, ClientHost: m.clientHost,
			Topics: m.topics, Regex: m.regex, Assigned: m.assigned, Target: c.target[id],
		})
	}
	return d
}

// checkFetch checks the member of an OffsetFetch, which since version 9 may name one. Kafka: ConsumerGroup.validateOffsetFetch.
func (c *consumerGroup) checkFetch(memberID *string, epoch int32) error {
	if memberID == nil && epoch < 0 {
		return nil
	}
	id := ""
	if memberID != nil {
		id = *memberID
	}
	return c.checkMember(id, epoch)
}

// checkMember checks that a member is in this epoch.
func (c *consumerGroup) checkMember(id string, epoch int32) error {
	m := c.members[id]
	switch {
	case m == nil:
		return kerr.UnknownMemberID
	case m.epoch == epoch:
		return nil
	case m.usesClassic():
		return kerr.IllegalGeneration
	default:
		return kerr.StaleMemberEpoch
	}
}

// checkCommit checks who commits offsets. One who is not a member may as long as there are none.
// Kafka: ConsumerGroup.validateOffsetCommit.
func (c *consumerGroup) checkCommit(r *CommitRequest) error {
	if r.Generation < 0 && len(c.members) == 0 {
		return nil
	}
	txn := r.Producer != nil
	m := c.members[r.MemberID]
	if m != nil && !txn && !m.usesClassic() && !r.KnowsEpochs {
		return kerr.UnsupportedVersion
	}
	err := c.checkMember(r.MemberID, r.Generation)
	if txn && is(err, kerr.StaleMemberEpoch) {
		return kerr.IllegalGeneration
	}
	return err
}
