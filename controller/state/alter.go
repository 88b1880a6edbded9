package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// Alteration is an AlterPartition request at work. Response may be called when all steps are done.
type Alteration struct {
	req   *kmsg.AlterPartitionRequest
	resp  *kmsg.AlterPartitionResponse
	state *State
}

// AlterPartition plans the ISR changes that a leader asks for. The request must not be changed before Response.
// Kafka: KafkaController.processAlterPartition.
func (s *State) AlterPartition(req *kmsg.AlterPartitionRequest) *Alteration {
	a := &Alteration{req: req, resp: req.ResponseKind().(*kmsg.AlterPartitionResponse), state: s}
	if err := s.checkBroker(metadata.BrokerID(req.BrokerID), req.BrokerEpoch); err != nil {
		a.resp.ErrorCode = code(err)
		return a
	}
	s.push(&alterStep{a: a})
	return a
}

// Response returns the answer for the leader.
func (a *Alteration) Response() *kmsg.AlterPartitionResponse { return a.resp }

// alterStep checks the proposals against the state at that moment and writes those that are good.
type alterStep struct {
	a       *Alteration
	targets []*kmsg.AlterPartitionResponseTopicPartition
	// doubtful are partitions with a proposal that may be a copy of one that was refused.
	doubtful []*partition
}

func (t *alterStep) plan(s *State) []Write {
	var writes []Write
	resp := t.a.resp
	resp.Topics = make([]kmsg.AlterPartitionResponseTopic, len(t.a.req.Topics))
	for i := range t.a.req.Topics {
		rt := &t.a.req.Topics[i]
		out := &resp.Topics[i]
		*out = kmsg.NewAlterPartitionResponseTopic()
		out.Topic, out.TopidID = rt.Topic, rt.TopicID
		name, known := s.topicOf(t.a.req.Version, rt)
		out.Partitions = make([]kmsg.AlterPartitionResponseTopicPartition, len(rt.Partitions))
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			op := &out.Partitions[j]
			*op = kmsg.NewAlterPartitionResponseTopicPartition()
			op.Partition = rp.Partition
			if !known {
				op.ErrorCode = kerr.UnknownTopicID.Code
				continue
			}
			tp := metadata.TopicPartition{Topic: name, Partition: rp.Partition}
			if w, ok := t.proposal(s, tp, rp, op); ok {
				writes = append(writes, w)
				t.targets = append(t.targets, op)
			}
		}
	}
	return writes
}

// topicOf returns the name of a topic, which version 2 and later give as an id. An unknown name is found out per partition.
func (s *State) topicOf(version int16, t *kmsg.AlterPartitionRequestTopic) (string, bool) {
	if version < 2 {
		return t.Topic, true
	}
	name, ok := s.names[t.TopicID]
	return name, ok
}

// proposal checks one proposal. It returns the write, or false when out has the answer already.
func (t *alterStep) proposal(s *State, tp metadata.TopicPartition, rp *kmsg.AlterPartitionRequestTopicPartition, out *kmsg.AlterPartitionResponseTopicPartition) (Write, bool) {
	req, p := t.a.req, s.partition(tp)
	if p == nil || !p.known {
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return Write{}, false
	}
	proposed := members(req.Version, rp)
	li := p.li
	li.ControllerEpoch = s.cfg.Epoch
	li.Leader = metadata.BrokerID(req.BrokerID)
	li.LeaderEpoch = metadata.LeaderEpoch(rp.LeaderEpoch)
	li.PartitionEpoch = rp.PartitionEpoch
	li.ISR = brokersOf(proposed)
	li.Recovery = metadata.RecoveryState(rp.LeaderRecoveryState)
	if sameISR(li, p.li) {
		fillAltered(out, p.li)
		return Write{}, false
	}
	err := checkProposal(p, li)
	if err == nil {
		err = t.admit(s, p, proposed)
	}
	if err != nil {
		out.ErrorCode = code(err)
		return Write{}, false
	}
	return Write{Kind: SetState, Partition: tp, State: li}, true
}

// admit checks the members of a proposed ISR.
//
// The interleaving that needs partition.refused: a leader sends a proposal twice, since the first request was late. The
// second one is refused as a member is not eligible; the leader goes on with the ISR that it had, and commits records without
// the new members. Then the member is eligible again, in the same life, and the first request arrives: it would put replicas
// into the ISR that lack these records. So what may be that request has no effect; the leader gets another epoch, in which it
// proposes again.
//
// Differs from Kafka, which accepts the late request.
func (t *alterStep) admit(s *State, p *partition, proposed []member) error {
	before := func(m member) bool { return slices.Contains(p.refused, m) }
	welcome := func(m member) bool { return s.mayJoin(p, m) }
	if barred := slices.DeleteFunc(slices.Clone(proposed), welcome); len(barred) > 0 {
		p.refused = append(p.refused, slices.DeleteFunc(barred, before)...)
		if t.a.req.Version < 2 {
			return kerr.OperationNotAttempted
		}
		return kerr.IneligibleReplica
	}
	if slices.ContainsFunc(proposed, before) && !subset(brokersOf(proposed), p.li.ISR) {
		t.doubtful = append(t.doubtful, p)
		return kerr.InvalidUpdateVersion
	}
	return nil
}

// member is a broker of a proposed ISR, in the life that the leader knows; -1 when it knows none.
type member struct {
	id    metadata.BrokerID
	epoch int64
}

func members(version int16, rp *kmsg.AlterPartitionRequestTopicPartition) []member {
	out := make([]member, 0, len(rp.NewISR)+len(rp.NewEpochISR))
	if version < 3 {
		for _, id := range rp.NewISR {
			out = append(out, member{metadata.BrokerID(id), -1})
		}
		return out
	}
	for _, m := range rp.NewEpochISR {
		out = append(out, member{metadata.BrokerID(m.BrokerID), m.BrokerEpoch})
	}
	return out
}

func brokersOf(ms []member) []metadata.BrokerID {
	out := make([]metadata.BrokerID, len(ms))
	for i, m := range ms {
		out[i] = m.id
	}
	return out
}

// mayJoin reports whether a broker may be in the ISR of p.
//
// Differs from Kafka: it must be a replica; a leader may not have heard yet that it is not any more. Broker epochs in the request
// are compared with the registrations (KIP-903), so that a follower that lost its disk is not taken in for fetches of its
// former life.
func (s *State) mayJoin(p *partition, m member) bool {
	return slices.Contains(p.Replicas, m.id) && s.eligible(m.id) && (m.epoch == -1 || m.epoch == s.brokers[m.id].Epoch)
}

// sameISR reports whether the proposal is what is there already, perhaps by an earlier attempt whose answer was lost.
// Kafka: LeaderAndIsr.equalsAllowStalePartitionEpoch.
func sameISR(proposed, now metadata.LeaderAndISR) bool {
	return proposed.Leader == now.Leader && proposed.LeaderEpoch == now.LeaderEpoch && slices.Equal(proposed.ISR, now.ISR) &&
		proposed.Recovery == now.Recovery && proposed.PartitionEpoch <= now.PartitionEpoch
}

// checkProposal applies the rules in Kafka's order, except for the one about the members.
//
// Differs from Kafka: only the leader may propose.
func checkProposal(p *partition, li metadata.LeaderAndISR) error {
	switch {
	case li.PartitionEpoch > p.li.PartitionEpoch || li.LeaderEpoch > p.li.LeaderEpoch:
		return kerr.NotController // it has heard of a later controller
	case li.LeaderEpoch < p.li.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case li.PartitionEpoch < p.li.PartitionEpoch:
		return kerr.InvalidUpdateVersion
	case li.Recovery == metadata.Recovering && len(li.ISR) > 1:
		return kerr.InvalidRequest
	case li.Recovery == metadata.Recovering && p.li.Recovery == metadata.Recovered:
		return kerr.InvalidRequest
	case li.Leader != p.li.Leader || !slices.Contains(li.ISR, li.Leader):
		return kerr.InvalidRequest
	}
	return nil
}

func fillAltered(out *kmsg.AlterPartitionResponseTopicPartition, li metadata.LeaderAndISR) {
	out.LeaderID = int32(li.Leader)
	out.LeaderEpoch = int32(li.LeaderEpoch)
	out.ISR = ints(li.ISR)
	out.LeaderRecoveryState = int8(li.Recovery)
	out.PartitionEpoch = li.PartitionEpoch
}

func (t *alterStep) apply(s *State, writes []Write, results []Result) {
	for _, p := range t.doubtful {
		s.push(&bumpStep{p: p})
	}
	for i, w := range writes {
		p := s.partition(w.Partition)
		switch {
		case p == nil:
			t.targets[i].ErrorCode = kerr.UnknownTopicOrPartition.Code
		case !results[i].Conflict:
			s.change(p, written(w, results[i]), false)
			s.batch.tell(p)
			fillAltered(t.targets[i], p.li)
			s.resumeIfComplete(p)
		default:
			// Somebody else wrote the state. The leader stays pending until it hears LeaderAndIsr, so it must be told.
			t.targets[i].ErrorCode = kerr.InvalidUpdateVersion.Code
			if s.conflict(p, results[i]) {
				s.push(s.adopt([]*partition{p})...)
			}
		}
	}
}

// code gives the number of a bare kerr error.
func code(err error) int16 {
	if e, ok := err.(*kerr.Error); ok { //nolint:errorlint // only errors made here
		return e.Code
	}
	return kerr.UnknownServerError.Code
}
