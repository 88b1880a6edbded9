package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// client is a consumer of KIP-848 as real ones are: it uses what it is told until it is told otherwise, and gives up later than it
// hears that it should.
type client struct {
	id       string
	instance *string
	epoch    int32
	topics   []string
	// using is what it reads from; told is the last assignment.
	using, told assignor.Partitions
	// unsure is set when an answer was lost: the next heartbeat says all again.
	unsure bool
	gone   bool
}

// consumerModel drives consumer groups with random clients, lost answers, a slow or refusing log, and fail-overs that lose what was
// not committed.
type consumerModel struct {
	t         *rapid.T
	s         *Shard
	cfg       Config
	now       time.Time
	image     *metadata.Image
	counts    map[string]int32
	made      int // topic ids that were given out
	clients   []*client
	ids       int
	ticket    coordinator.Ticket
	answers   map[coordinator.Ticket]any
	log       []coordinator.LogRecord
	committed int // records of log
	inFlight  []any
	slow      bool
	refuse    bool
}

func newConsumerModel(t *rapid.T) *consumerModel {
	m := &consumerModel{t: t, now: epoch, image: metadata.NewImage(), counts: map[string]int32{}, answers: map[coordinator.Ticket]any{}}
	m.cfg = DefaultConfig()
	m.cfg.Consumer.MaxSize = 5
	m.cfg.Consumer.Migration = MigrateBoth
	m.load()
	for _, name := range []string{"t", "u"} {
		m.setTopic(name, int32(rapid.IntRange(1, 5).Draw(t, "partitions")))
	}
	return m
}

func (m *consumerModel) load() {
	m.s = NewShard(m.cfg)
	for _, l := range m.log {
		if err := m.s.Load(l); err != nil {
			m.t.Fatal(err)
		}
	}
	m.do(m.s.Loaded(m.now))
}

func (m *consumerModel) setTopic(name string, n int32) {
	t := metadata.Topic{Name: name, Partitions: map[int32]metadata.Partition{}}
	old, ok := m.image.Topic(name)
	switch {
	case ok && n == 0:
		t.ID = old.ID
		for p := range old.Partitions {
			t.Partitions[p] = metadata.Partition{LeaderAndISR: metadata.LeaderAndISR{Leader: metadata.LeaderDuringDelete}}
		}
	case ok:
		t.ID = old.ID
		n = max(n, m.counts[name])
	default:
		m.made++
		t.ID = topicID(name + strconv.Itoa(m.made))
	}
	for p := range n {
		t.Partitions[p] = metadata.Partition{}
	}
	m.counts[name] = n
	m.image = m.image.Apply(metadata.Update{Topics: []metadata.Topic{t}})
}

func (m *consumerModel) do(e coordinator.Effects) {
	for todo := []coordinator.Effects{e}; len(todo) > 0; todo = todo[1:] {
		for _, w := range todo[0].Writes {
			todo = append(todo, m.append(w)...)
		}
		for _, r := range todo[0].Replies {
			if _, twice := m.answers[r.To]; twice {
				m.t.Fatalf("#%d is answered twice: %v", r.To, r.Body)
			}
			m.answers[r.To] = r.Body
		}
	}
}

func (m *consumerModel) append(w coordinator.Write) []coordinator.Effects {
	if m.refuse {
		return []coordinator.Effects{m.s.Rejected(m.now, w.Tag, kerr.NotEnoughReplicas)}
	}
	first := int64(len(m.log))
	for _, r := range w.Records {
		m.log = append(m.log, coordinator.LogRecord{Offset: int64(len(m.log)), ProducerID: -1, Key: r.Key, Value: r.Value})
	}
	m.s.Appended(m.now, w.Tag, first)
	m.inFlight = append(m.inFlight, w.Tag)
	if m.slow {
		return nil
	}
	return m.commitAll()
}

func (m *consumerModel) commitAll() (es []coordinator.Effects) {
	tags := m.inFlight
	m.inFlight, m.committed = nil, len(m.log)
	for _, tag := range tags {
		es = append(es, m.s.Committed(m.now, tag))
	}
	return es
}

func (m *consumerModel) settle() {
	for len(m.inFlight) > 0 {
		for _, e := range m.commitAll() {
			m.do(e)
		}
	}
}

func (m *consumerModel) advance(d time.Duration) {
	end := m.now.Add(d)
	for next := m.s.Deadline(); !next.IsZero() && !next.After(end); next = m.s.Deadline() {
		if next.After(m.now) {
			m.now = next
		}
		m.do(m.s.Tick(m.now))
	}
	m.now = end
}

// beat sends a heartbeat and gives the client the answer, unless that is lost, or waits for a commit and then comes too late.
func (m *consumerModel) beat(c *client, lost bool) {
	r := ConsumerHeartbeatRequest{
		Group: "g", MemberID: c.id, Epoch: c.epoch, InstanceID: c.instance, RebalanceTimeoutMs: -1, ClientID: "c", Image: m.image,
	}
	if c.epoch == 0 || c.unsure {
		r.RebalanceTimeoutMs, r.Topics = 30_000, slices.Clone(c.topics)
	}
	if c.unsure || !c.using.Equal(c.told) || rapid.Bool().Draw(m.t, "tells owned") {
		c.using = c.told // it has given up by now what it should
		r.Owned = c.using
	}
	if c.epoch == 0 || r.Owned == nil && c.unsure {
		r.Owned = assignor.Partitions{}
	}
	m.ticket++
	m.do(m.s.ConsumerHeartbeat(m.now, m.ticket, r))
	body, ok := m.answers[m.ticket]
	if lost || !ok {
		c.unsure = true
		return
	}
	c.hear(body.(ConsumerHeartbeatResult))
}

func (c *client) hear(res ConsumerHeartbeatResult) {
	switch {
	case is(res.Err, kerr.FencedMemberEpoch, kerr.UnknownMemberID, kerr.GroupIDNotFound, kerr.FencedInstanceID):
		c.using, c.told, c.epoch, c.unsure = nil, nil, 0, false
	case res.Err != nil:
		c.unsure = true
	default:
		c.epoch, c.unsure = res.Epoch, false
		if res.Assigned != nil {
			c.told = res.Assigned
			if c.using.Len() == 0 {
				c.using = c.told
			}
		}
	}
}

func (m *consumerModel) join() {
	m.ids++
	c := &client{id: "m" + strconv.Itoa(m.ids), topics: m.drawTopics()}
	if rapid.IntRange(0, 3).Draw(m.t, "static") == 0 {
		i := "i" + strconv.Itoa(rapid.IntRange(1, 2).Draw(m.t, "instance"))
		c.instance = &i
	}
	m.clients = append(m.clients, c)
	m.beat(c, false)
}

func (m *consumerModel) drawTopics() []string {
	return rapid.SampledFrom([][]string{{"t"}, {"u"}, {"t", "u"}, {"t", "u", "later"}}).Draw(m.t, "topics")
}

// leave says goodbye. What a client that leaves has used is free at once: it uses nothing any more.
func (m *consumerModel) leave(c *client) {
	r := ConsumerHeartbeatRequest{Group: "g", MemberID: c.id, Epoch: epochLeave, InstanceID: c.instance, RebalanceTimeoutMs: -1, Image: m.image}
	if c.instance != nil && rapid.Bool().Draw(m.t, "for a while") {
		r.Epoch = epochLeaveStatic
	}
	c.using, c.told, c.gone = nil, nil, true
	m.ticket++
	m.do(m.s.ConsumerHeartbeat(m.now, m.ticket, r))
}

// classic joins as a member of the classic protocol would, once.
func (m *consumerModel) classic() {
	m.ticket++
	m.do(m.s.Join(m.now, m.ticket, JoinRequest{
		Group: "g", ClientID: "old", RandomID: "old" + strconv.Itoa(int(m.ticket)), SessionTimeout: 10 * time.Second, RebalanceTimeout: 20 * time.Second,
		ProtocolType: "consumer", Protocols: []Protocol{{Name: "range", Metadata: subscription([]string{"t"})}}, Image: m.image,
	}))
}

// failOver loses what was not committed, and with it the answers that nobody has got.
func (m *consumerModel) failOver() {
	if rapid.Bool().Draw(m.t, "loses") {
		m.log = m.log[:m.committed]
	}
	m.inFlight, m.committed = nil, len(m.log)
	m.load()
}

func (m *consumerModel) step() {
	op := rapid.SampledFrom([]string{
		"join", "beat", "beat", "beat", "beat", "beat", "lost", "lost", "leave", "resubscribe", "advance", "advance", "topic", "slow", "fast", "late",
		"refuse", "fail-over", "classic", "die",
	}).Draw(m.t, "op")
	var c *client
	if len(m.clients) > 0 {
		c = m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(m.t, "client")]
	}
	switch {
	case op == "join" && len(m.clients) < 5:
		m.join()
	case op == "advance":
		m.advance(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 25 * time.Second, 50 * time.Second}).Draw(m.t, "by"))
	case op == "topic":
		m.setTopic(rapid.SampledFrom([]string{"t", "u", "later"}).Draw(m.t, "topic"), int32(rapid.IntRange(0, 6).Draw(m.t, "partitions")))
	case op == "slow":
		m.slow = true
	case op == "fast":
		m.slow = false
		m.settle()
	case op == "late":
		for _, tag := range m.inFlight {
			m.do(m.s.Late(m.now, tag, kerr.RequestTimedOut))
		}
		m.settle()
	case op == "fail-over":
		m.failOver()
	case op == "classic":
		m.classic()
	case c == nil:
	case op == "beat":
		m.beat(c, false)
	case op == "lost":
		m.beat(c, true)
	case op == "leave":
		m.leave(c)
	case op == "die":
		c.gone = true
	case op == "resubscribe":
		c.topics, c.unsure = m.drawTopics(), true
	}
	m.clients = slices.DeleteFunc(m.clients, func(c *client) bool { return c.gone })
	m.refuse = op == "refuse"
}

// group is the consumer group, or nil.
func (m *consumerModel) group() *consumerGroup {
	if g := m.s.groups["g"]; g != nil {
		return g.consumer
	}
	return nil
}

// check holds clients, live state and log against each other.
func (m *consumerModel) check() {
	user := map[ownedPartition]string{}
	for _, c := range m.clients {
		if g := m.group(); g == nil || g.members[c.id] == nil {
			continue // out of the group, and does not know yet
		}
		for t, l := range c.using {
			for _, n := range l {
				if other := user[ownedPartition{t, n}]; other != "" {
					m.t.Fatalf("%s-%d is used by %s and %s", topicName(t), n, other, c.id)
				}
				user[ownedPartition{t, n}] = c.id
			}
		}
	}
	for id, g := range m.s.groups {
		if g.consumer == nil {
			continue
		}
		for member := range g.consumer.members {
			if ts := g.consumer.timers[member]; ts == nil || ts.session.seq == 0 {
				m.t.Fatalf("%s: nothing ends the session of %s", id, member)
			}
		}
	}
	m.checkReplay()
}

// checkReplay loads the log into another shard: consumer groups must be the same.
func (m *consumerModel) checkReplay() {
	replay := NewShard(m.cfg)
	for _, l := range m.log {
		if err := replay.Load(l); err != nil {
			m.t.Fatal(err)
		}
	}
	consumers := func(s *Shard) map[string]*consumerGroup {
		out := map[string]*consumerGroup{}
		for id, g := range s.groups {
			if g.consumer != nil {
				out[id] = g.consumer
			}
		}
		return out
	}
	opts := cmp.Options{
		cmp.AllowUnexported(consumerGroup{}, consumerMember{}, memberMetadata{}, classicMetadata{}, topicMetadata{}, ownedPartition{}),
		cmpopts.IgnoreFields(consumerGroup{}, "refresh", "timers"), cmpopts.EquateEmpty(),
	}
	if d := cmp.Diff(consumers(m.s), consumers(replay), opts); d != "" {
		m.t.Fatalf("what is loaded differs from what is live (-live +loaded):\n%s", d)
	}
}

// quiet lets everything come to rest: classic members, who never come again, are out, and the others beat in turns.
func (m *consumerModel) quiet() {
	m.slow, m.refuse = false, false
	m.settle()
	for range 40 {
		m.advance(4 * time.Second)
		for _, c := range m.clients {
			m.beat(c, false)
			m.check()
		}
	}
}

// checkRest holds the group that has come to rest against what its members subscribe to.
func (m *consumerModel) checkRest() {
	in := map[string]*client{}
	for _, c := range m.clients {
		if c.epoch > 0 {
			in[c.id] = c
		}
	}
	g := m.group()
	if g == nil || len(in) == 0 {
		return
	}
	if st := g.state(); st != ConsumerStable || len(g.members) != len(in) {
		m.t.Fatalf("%s with members %v, clients %v", st, g.ids(), slices.Sorted(maps.Keys(in)))
	}
	used := map[string]int{}
	for _, c := range in {
		for t, l := range c.using {
			name := m.nameOf(t)
			if !slices.Contains(c.topics, name) {
				m.t.Fatalf("%s uses %s, which is not subscribed", c.id, topicName(t))
			}
			used[name] += len(l)
		}
		if !c.using.Equal(g.members[c.id].assigned) {
			m.t.Fatalf("%s uses %v and is to use %v", c.id, c.using, g.members[c.id].assigned)
		}
	}
	for _, c := range in {
		for _, name := range c.topics {
			if used[name] != int(m.counts[name]) {
				m.t.Fatalf("%d of %d partitions of %s are in use", used[name], m.counts[name], name)
			}
		}
	}
}

func (m *consumerModel) nameOf(id metadata.TopicID) string {
	t, ok := m.image.TopicByID(id)
	if !ok {
		return fmt.Sprintf("deleted %v", id)
	}
	return t.Name
}

// Whatever clients, topics, the log and fail-overs do: no two members use a partition, the live state is the replay of the log,
// nobody is answered twice, and when all is quiet every partition is in use by one who subscribes to it.
func TestConsumerGroup_RandomMembers_OneOwnerEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newConsumerModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.step()
			m.check()
		}
		m.quiet()
		m.checkRest()
	})
}
