package service

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/group"
	"jackdaw/metadata"
)

// TestConsumerGroups_CapturedScript_SameAnswersAsKafka sends what was sent to Apache Kafka 3.9.2 with KRaft and compares every answer
// with the captured one: testdata/kafka_consumer_groups.txt. There, members and groups are in order, and the random ids of classic
// members are OLD. Topic t has four partitions, u two.
func TestConsumerGroups_CapturedScript_SameAnswersAsKafka(t *testing.T) {
	want, err := os.ReadFile("testdata/kafka_consumer_groups.txt")
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, consumersOn, func(t *testing.T, w *world) {
		w.g.cfg.NewMemberID = uuid.NewString
		w.useImage()
		s := &script{w: w}
		s.members()
		s.discarded(beatOf{group: "warm", id: "w", topics: []string{"t"}})
		s.migration()
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(s.out.String(), "\n")); d != "" {
			t.Errorf("-Kafka +ours:\n%s", d)
		}
	})
}

func consumersOn(c *group.Config) {
	c.Consumer.Enabled, c.Consumer.Migration = true, group.MigrateBoth
	c.Consumer.HeartbeatInterval, c.Consumer.SessionTimeout = 500*time.Millisecond, 6*time.Second
}

// useImage makes the topics of the script known.
func (w *world) useImage() {
	u := metadata.Update{}
	for name, n := range map[string]int32{"t": 4, "u": 2, GroupsTopic: testPartitions} {
		t := metadata.Topic{Name: name, ID: metadata.TopicID{name[0]}, Partitions: map[int32]metadata.Partition{}}
		for p := range n {
			t.Partitions[p] = metadata.Partition{}
		}
		u.Topics = append(u.Topics, t)
	}
	image := metadata.NewImage().Apply(u)
	w.g.cfg.Image = func() *metadata.Image { return image }
}

// script sends requests and writes the answers down.
type script struct {
	w   *world
	out strings.Builder
	old string // id of the classic member
}

func (s *script) printf(format string, args ...any) {
	text := fmt.Sprintf(format+"\n", args...)
	if s.old != "" {
		text = strings.ReplaceAll(text, s.old, "OLD")
	}
	s.out.WriteString(text)
}

func name(code int16) string {
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return "ok"
}

func quoted(p *string) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%q", *p)
}

// beatOf is a heartbeat; what is not set is not sent, but for what one with epoch 0 must have.
type beatOf struct {
	group, id          string
	epoch              int32
	instance, assignor *string
	topics             []string
	owned              []string // partitions such as t-0; empty is not nil
	rebalance          int32
}

func (s *script) request(b beatOf) *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.MemberEpoch, r.InstanceID, r.ServerAssignor = b.group, b.id, b.epoch, b.instance, b.assignor
	if r.Group == "" {
		r.Group = "g"
	}
	r.RebalanceTimeoutMillis, r.SubscribedTopicNames, r.Topics = -1, b.topics, nil
	if b.epoch == 0 {
		r.RebalanceTimeoutMillis = 3000
	}
	if b.rebalance != 0 {
		r.RebalanceTimeoutMillis = b.rebalance
	}
	if b.epoch == 0 || b.owned != nil {
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	for _, o := range b.owned {
		r.Topics = append(r.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: metadata.TopicID{o[0]}, Partitions: []int32{int32(o[2] - '0')}})
	}
	return r
}

func (s *script) discarded(b beatOf) *kmsg.ConsumerGroupHeartbeatResponse {
	return s.w.g.ConsumerHeartbeat(s.w.ctx(), s.request(b), "probe", "/127.0.0.1")
}

func (s *script) beat(b beatOf) {
	r := s.discarded(b)
	g := b.group
	if g == "" {
		g = "g"
	}
	line := fmt.Sprintf("%s/%s@%d: %s msg=%s id=%v epoch=%d interval=%d", g, b.id, b.epoch, name(r.ErrorCode), quoted(r.ErrorMessage),
		r.MemberID != nil && *r.MemberID == b.id, r.MemberEpoch, r.HeartbeatIntervalMillis)
	if r.Assignment != nil {
		line += " assigned=["
		for _, t := range r.Assignment.Topics {
			line += fmt.Sprintf(" %c%v", t.TopicID[0], t.Partitions)
		}
		line += "]"
	}
	s.printf("%s", line)
}

func (s *script) describe(g string) {
	r := kmsg.NewPtrConsumerGroupDescribeRequest()
	r.Groups = []string{g}
	d := s.w.g.DescribeConsumers(s.w.ctx(), r).Groups[0]
	s.printf("  describe %s: %s msg=%s %s epoch=%d target=%d assignor=%s", d.Group, name(d.ErrorCode), quoted(d.ErrorMessage), d.State,
		d.Epoch, d.AssignmentEpoch, d.AssignorName)
	var lines []string
	for _, m := range d.Members {
		id := m.MemberID
		if id == s.old {
			id = "OLD"
		}
		lines = append(lines, fmt.Sprintf("    %s inst=%s rack=%s epoch=%d topics=%v regex=%s a=%s t=%s", id, quoted(m.InstanceID), quoted(m.RackID),
			m.MemberEpoch, m.SubscribedTopics, quoted(m.SubscribedTopicRegex), assigned(m.Assignment), assigned(m.TargetAssignment)))
	}
	slices.Sort(lines)
	for _, l := range lines {
		s.printf("%s", l)
	}
}

func assigned(a kmsg.Assignment) (out string) {
	for _, t := range a.TopicPartitions {
		out += fmt.Sprintf("%s%v", t.Topic, t.Partitions)
	}
	return out
}

func (s *script) commit(g, id string, epoch int32) {
	r := commitReq(9, tp("t", 0))
	r.Group, r.MemberID, r.Generation = g, id, epoch
	s.printf("  commit %s/%s@%d: %s", g, id, epoch, name(codes(s.w.g.OffsetCommit(s.w.ctx(), r, nil))[0]))
}

func (s *script) fetch(g string, id *string, epoch int32) {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Groups = 9, []kmsg.OffsetFetchRequestGroup{{Group: g, MemberID: id, MemberEpoch: epoch}}
	x := s.w.g.OffsetFetch(s.w.ctx(), r, FetchDenied{}).Groups[0]
	s.printf("  fetch %s/%s@%d: %s %d topics", g, quoted(id), epoch, name(x.ErrorCode), len(x.Topics))
}

func (s *script) list(states, types []string) {
	r := kmsg.NewPtrListGroupsRequest()
	r.Version, r.StatesFilter, r.TypesFilter = 5, states, types
	x := s.w.g.List(s.w.ctx(), r)
	var items []string
	for _, g := range x.Groups {
		items = append(items, fmt.Sprintf(" %s(%s %s %s)", g.Group, g.ProtocolType, g.GroupState, g.GroupType))
	}
	slices.Sort(items)
	s.printf("  list %v %v: %s%s", states, types, name(x.ErrorCode), strings.Join(items, ""))
}
