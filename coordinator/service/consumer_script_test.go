package service

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// members is the part of the script about members of the consumer protocol.
func (s *script) members() {
	t := []string{"t"}
	i, j, none := "i", "j", ""
	sticky, ranged := "sticky", "range"
	a, x := "a", "x"
	s.beat(beatOf{id: "a", epoch: -3})
	s.beat(beatOf{epoch: -1})
	s.beat(beatOf{id: "a", epoch: -1})
	s.beat(beatOf{id: "a", epoch: -2})
	s.beat(beatOf{id: "a", topics: t, instance: &none})
	s.beat(beatOf{id: "a", topics: t, assignor: &sticky})
	s.beat(beatOf{group: " ", id: "a", topics: t})
	s.describe("g")

	s.beat(beatOf{id: "a", topics: t})
	s.describe("g")
	s.beat(beatOf{id: "b", topics: t})
	s.describe("g")
	s.beat(beatOf{id: "a", epoch: 1})
	s.beat(beatOf{id: "b", epoch: 2})
	s.beat(beatOf{id: "a", epoch: 1, owned: []string{"t-0", "t-1", "t-2", "t-3"}})
	s.beat(beatOf{id: "a", epoch: 1, owned: []string{"t-0", "t-1"}})
	s.beat(beatOf{id: "a", epoch: 1, owned: []string{"t-2", "t-3"}})
	s.describe("g")
	s.beat(beatOf{id: "b", epoch: 2})
	s.beat(beatOf{id: "b", epoch: 2, owned: []string{}, topics: t, rebalance: 3000})
	s.beat(beatOf{id: "a", topics: t})
	s.beat(beatOf{id: "a", epoch: 5})
	s.beat(beatOf{id: "c", epoch: 1})
	s.describe("g")
	s.commit("g", "a", 2)
	s.commit("g", "a", 1)
	s.commit("g", "x", 1)
	s.commit("g", "", -1)
	s.commit("nope", "x", 1)
	s.fetch("g", &a, 2)
	s.fetch("g", &a, 1)
	s.fetch("g", &x, 1)
	s.fetch("g", nil, -1)
	s.fetch("nope", &x, 1)
	s.list(nil, nil)
	s.list([]string{"stable"}, nil)
	s.list(nil, []string{"CONSUMER"})
	s.list(nil, []string{"classic"})
	s.list(nil, []string{"nonsense"})
	s.beat(beatOf{id: "a", epoch: 2, topics: []string{"t", "u"}, assignor: &ranged})
	s.describe("g")
	s.beat(beatOf{id: "a", epoch: 2, owned: []string{"t-0", "t-1", "t-2"}})

	s.beat(beatOf{group: "s", id: "s1", instance: &i, topics: t})
	s.beat(beatOf{group: "s", id: "s2", instance: &i, topics: t})
	s.beat(beatOf{group: "s", id: "s2", instance: &i, epoch: 1})
	s.beat(beatOf{group: "s", id: "s1", instance: &j, epoch: 1})
	s.beat(beatOf{group: "s", id: "s1", instance: &i, epoch: -2})
	s.describe("s")
	s.beat(beatOf{group: "s", id: "s2", instance: &i, topics: t})
	s.beat(beatOf{group: "s", id: "s1", instance: &i, epoch: 1})
	s.describe("s")
	s.beat(beatOf{group: "s", id: "s2", instance: &i, epoch: -1})
	s.describe("s")
	s.beat(beatOf{group: "s", id: "s2", epoch: -1})

	s.beat(beatOf{id: "a", epoch: -1})
	s.beat(beatOf{id: "b", epoch: 2})
	s.beat(beatOf{id: "b", epoch: -1})
	s.describe("g")
	s.commit("g", "", -1)
	s.list(nil, nil)
}

// migration is the part about group m, whose members speak both protocols.
func (s *script) migration() {
	t := []string{"t"}
	c := "c"
	m := func(id string, epoch int32, owned ...string) {
		b := beatOf{group: "m", id: id, epoch: epoch, owned: owned}
		if epoch == 0 {
			b.topics = t
		}
		s.beat(b)
	}
	s.describeClassic()
	m("a", 0)
	s.describeClassic()
	s.old, _ = s.join("", "range")
	_, gen := s.join(s.old, "range")
	s.heartbeat(s.old, gen)
	s.sync(gen, "range", nil)
	s.heartbeat(s.old, gen-1)
	s.heartbeat("ghost", gen)
	s.heartbeat("a", 1)
	s.commit("m", s.old, gen)
	s.commit("m", s.old, gen-1)
	s.sync(gen, "roundrobin", nil)
	m("a", 1)
	s.heartbeat(s.old, gen)
	m("a", 1, "t-0", "t-1")
	s.heartbeat(s.old, gen)
	_, gen = s.join(s.old, "range")
	s.sync(gen, "range", nil)
	s.heartbeat(s.old, gen)
	s.leave("a")
	s.join("", "other")
	s.list(nil, nil)

	m("a", -1) // a classic group again
	s.describeClassic()
	s.describe("m")
	s.heartbeat(s.old, gen)
	s.heartbeat(s.old, gen+1)
	_, gen = s.join(s.old, "range")
	s.describeClassic()
	a := kmsg.ConsumerMemberAssignment{Version: 1, Topics: []kmsg.ConsumerMemberAssignmentTopic{{Topic: "t", Partitions: []int32{0, 1, 2, 3}}}}
	s.sync(gen, "range", a.AppendTo(nil))
	s.describeClassic()

	m("c", 0) // and a consumer group
	m("c", 1)
	s.describe("m")
	s.heartbeat(s.old, gen)
	_, gen = s.join(s.old, "range", 0, 1, 2, 3)
	s.sync(gen, "range", nil)
	_, gen = s.join(s.old, "range", 0, 1)
	s.sync(gen, "range", nil)
	s.leave(s.old)
	s.leave(s.old)
	m("c", gen)
	m("c", -1)

	s.old, _ = s.join("", "range") // without members it changes freely
	s.join(s.old, "range")
	s.leave(s.old)
	s.describeClassic()
	m("c", 1)
	m("c", 0)
	s.fetch("m", &c, 1)
	s.describeClassic()
}

func (s *script) join(id, protocol string, owned ...int32) (string, int32) {
	r := joinReq(9, id)
	r.Group, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = "m", 10_000, 5000
	sub := kmsg.ConsumerMemberMetadata{Version: 1, Topics: []string{"t"}}
	if len(owned) > 0 {
		sub.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "t", Partitions: owned}}
	}
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: protocol, Metadata: sub.AppendTo(nil)}}
	x := s.w.g.Join(s.w.ctx(), r, "probe", "/127.0.0.1")
	s.printf("join m %v: %s gen=%d type=%s protocol=%s leader=%v members=%d skip=%v", id == x.MemberID, name(x.ErrorCode), x.Generation,
		quoted(x.ProtocolType), quoted(x.Protocol), x.LeaderID == x.MemberID, len(x.Members), x.SkipAssignment)
	return x.MemberID, x.Generation
}

func (s *script) sync(gen int32, protocol string, assignment []byte) {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 5, "m", s.old, gen
	r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), &protocol
	if assignment != nil {
		r.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: s.old, MemberAssignment: assignment}}
	}
	x := s.w.g.Sync(s.w.ctx(), r)
	s.printf("sync m@%d: %s type=%s protocol=%s %x", gen, name(x.ErrorCode), quoted(x.ProtocolType), quoted(x.Protocol), x.MemberAssignment)
}

func (s *script) heartbeat(id string, gen int32) {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, "m", id, gen
	s.printf("heartbeat m@%d: %s", gen, name(s.w.g.Heartbeat(s.w.ctx(), r).ErrorCode))
}

func (s *script) leave(id string) {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.Members = 5, "m", []kmsg.LeaveGroupRequestMember{{MemberID: id}}
	x := s.w.g.Leave(s.w.ctx(), r)
	s.printf("leave m: %s %s", name(x.ErrorCode), name(x.Members[0].ErrorCode))
}

func (s *script) describeClassic() {
	x := s.w.describe("m")
	s.printf("  classic m: %s %s %s %s %d members", name(x.ErrorCode), x.State, x.ProtocolType, x.Protocol, len(x.Members))
}
