package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/coordinator"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// model drives a shard with random clients, a log that is slow, late or refuses, and fail-overs.
type model struct {
	t        *rapid.T
	s        *Shard
	now      time.Time
	ticket   coordinator.Ticket
	open     map[coordinator.Ticket]string // not answered yet
	answered map[coordinator.Ticket]bool
	ids      []string // member ids that were ever told
	log      []logged
	offset   int64
	inFlight []any
	slow     bool
	refuse   bool
}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, now: epoch, open: map[coordinator.Ticket]string{}, answered: map[coordinator.Ticket]bool{}, ids: []string{""},
	}
	m.s = NewShard(m.config())
	m.do(m.s.Loaded(m.now))
	return m
}

func (m *model) config() Config {
	cfg := DefaultConfig()
	cfg.MaxSize = 5
	cfg.OffsetsRetention, cfg.RetentionCheckInterval = 10*time.Minute, time.Minute
	return cfg
}

func (m *model) do(e coordinator.Effects) {
	for todo := []coordinator.Effects{e}; len(todo) > 0; todo = todo[1:] {
		for _, w := range todo[0].Writes {
			todo = append(todo, m.append(w)...)
		}
		for _, r := range todo[0].Replies {
			if m.answered[r.To] {
				m.t.Fatalf("#%d is answered twice: %v", r.To, r.Body)
			}
			m.answered[r.To] = true
			delete(m.open, r.To)
			if j, ok := r.Body.(JoinResult); ok && j.MemberID != "" && !slices.Contains(m.ids, j.MemberID) {
				m.ids = append(m.ids, j.MemberID)
			}
		}
	}
}

func (m *model) append(w coordinator.Write) []coordinator.Effects {
	if m.refuse {
		return []coordinator.Effects{m.s.Rejected(m.now, w.Tag, kerr.NotEnoughReplicas)}
	}
	first := m.offset
	for _, r := range w.Records {
		lr := coordinator.LogRecord{Offset: m.offset, ProducerID: -1, Key: r.Key, Value: r.Value, Transactional: w.Transactional}
		if w.Transactional {
			lr.ProducerID = w.Producer.ID
		}
		m.log = append(m.log, logged{rec: lr})
		m.offset++
	}
	m.s.Appended(m.now, w.Tag, first)
	m.inFlight = append(m.inFlight, w.Tag)
	if m.slow {
		return nil
	}
	return m.commitAll()
}

func (m *model) commitAll() (es []coordinator.Effects) {
	tags := m.inFlight
	m.inFlight = nil
	for _, tag := range tags {
		es = append(es, m.s.Committed(m.now, tag))
	}
	return es
}

func (m *model) settle() {
	for len(m.inFlight) > 0 {
		for _, e := range m.commitAll() {
			m.do(e)
		}
	}
}

func (m *model) advance(d time.Duration) {
	end := m.now.Add(d)
	for next := m.s.Deadline(); !next.IsZero() && !next.After(end); next = m.s.Deadline() {
		if next.After(m.now) {
			m.now = next
		}
		m.do(m.s.Tick(m.now))
	}
	m.now = end
}

// visible is what clients see of offsets.
func (m *model) visible() map[string]map[metadata.TopicPartition]int64 {
	out := map[string]map[metadata.TopicPartition]int64{}
	for id, g := range m.s.groups {
		for tp, o := range g.offsets.committed {
			if out[id] == nil {
				out[id] = map[metadata.TopicPartition]int64{}
			}
			out[id][tp] = o.offset
		}
	}
	return out
}

// failOver loads another shard from the log. All that is in the log is committed by then.
func (m *model) failOver() {
	m.settle()
	before := m.visible()
	m.s = NewShard(m.config())
	for _, l := range m.log {
		if l.marker != nil {
			m.s.LoadMarker(*l.marker)
		} else if err := m.s.Load(l.rec); err != nil {
			m.t.Fatal(err)
		}
	}
	m.open = map[coordinator.Ticket]string{} // the runtime has answered NOT_COORDINATOR
	m.do(m.s.Loaded(m.now))
	if d := cmp.Diff(before, m.visible()); d != "" {
		m.t.Fatalf("the fail-over changed offsets (-before +after):\n%s", d)
	}
}

func (m *model) step() {
	group := rapid.SampledFrom([]string{"g", "h"}).Draw(m.t, "group")
	id := rapid.SampledFrom(m.ids).Draw(m.t, "id")
	var instance *string
	if i := rapid.IntRange(0, 5).Draw(m.t, "instance"); i < 2 {
		instance = new(string)
		*instance = "i" + strconv.Itoa(i)
	}
	gen := int32(-1)
	if g := m.s.groups[group]; g != nil {
		if n := len(g.order); n > 0 && rapid.IntRange(0, 3).Draw(m.t, "real") > 0 { // mostly one that is there
			o := g.order[rapid.IntRange(0, n-1).Draw(m.t, "member")]
			id, instance = o.id, o.instanceID
			if instance != nil && rapid.IntRange(0, 2).Draw(m.t, "restarted") == 0 {
				id = ""
			}
		}
		gen = g.generation - int32(rapid.IntRange(0, 5).Draw(m.t, "stale")/5)
	}
	member := MemberRequest{Group: group, MemberID: id, InstanceID: instance, Generation: gen}
	m.ticket++
	op := rapid.SampledFrom([]string{
		"join", "join", "join", "sync", "sync", "heartbeat", "leave", "commit", "commit", "txn", "marker", "delete",
		"delete-offsets", "advance", "advance", "slow", "fast", "late", "refuse", "fail-over",
	}).Draw(m.t, "op")
	m.open[m.ticket] = op
	m.run(op, member)
	if op != "join" && op != "sync" && op != "commit" && op != "txn" && op != "delete" && op != "delete-offsets" {
		delete(m.open, m.ticket)
	}
	m.refuse = op == "refuse"
}

func (m *model) run(op string, r MemberRequest) {
	n := m.ticket
	tp := metadata.TopicPartition{Topic: "t", Partition: int32(rapid.IntRange(0, 3).Draw(m.t, "partition"))}
	producer := int64(rapid.IntRange(7, 8).Draw(m.t, "producer"))
	switch op {
	case "join":
		m.do(m.s.Join(m.now, n, m.joinRequest(r)))
	case "sync":
		m.do(m.s.Sync(m.now, n, SyncRequest{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}))
	case "heartbeat":
		m.do(m.s.Heartbeat(m.now, n, r))
	case "leave":
		m.do(m.s.Leave(m.now, n, r.Group, []LeavingMember{{r.MemberID, r.InstanceID}}))
	case "commit", "txn":
		c := CommitRequest{MemberRequest: r, Offsets: []CommitOffset{{TP: tp, Offset: int64(n), Timestamp: -1, Retention: -1}}}
		if op == "txn" {
			c.Producer = &record.Producer{ID: producer}
		}
		m.do(m.s.Commit(m.now, n, c))
	case "marker":
		m.settle() // a marker is told when it is committed, and so is all before it
		mk := coordinator.Marker{Offset: m.offset, ProducerID: producer, Commit: rapid.Bool().Draw(m.t, "outcome")}
		m.offset++
		m.log = append(m.log, logged{marker: &mk})
		m.do(m.s.EndTxn(m.now, n, producer, mk.Offset, mk.Commit))
	case "delete":
		m.do(m.s.Delete(m.now, n, r.Group))
	case "delete-offsets":
		m.do(m.s.DeleteOffsets(m.now, n, r.Group, []metadata.TopicPartition{tp}))
	case "advance":
		m.advance(rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second, time.Minute, 6 * time.Minute}).Draw(m.t, "by"))
	case "slow":
		m.slow = true
	case "fast":
		m.slow = false
		m.settle()
	case "late":
		for _, tag := range m.inFlight {
			m.do(m.s.Late(m.now, tag, kerr.RequestTimedOut))
		}
		m.settle()
	case "fail-over":
		m.failOver()
	}
}

func (m *model) joinRequest(r MemberRequest) JoinRequest {
	names := rapid.SampledFrom([][]string{{"range"}, {"range", "sticky"}, {"sticky", "range"}}).Draw(m.t, "protocols")
	j := JoinRequest{
		Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, ClientID: "c", RandomID: fmt.Sprint(m.ticket),
		SessionTimeout: 10 * time.Second, RebalanceTimeout: 30 * time.Second, ProtocolType: "consumer",
		RequireKnownMember: rapid.Bool().Draw(m.t, "known"), SkipAssignment: rapid.Bool().Draw(m.t, "skip"),
	}
	for _, n := range names {
		j.Protocols = append(j.Protocols, Protocol{Name: n, Metadata: subscription([]string{"t"})})
	}
	return j
}

// check holds the group's books against each other.
func (m *model) check() {
	for id, g := range m.s.groups {
		waiting := 0
		for _, o := range g.order {
			if o.awaitingJoin() {
				waiting++
			}
			if g.members[o.id] != o || o.isStatic() && g.static[*o.instanceID] != o {
				m.t.Fatalf("%s: member %s is not where it belongs", id, o.id)
			}
			if o.session.seq == 0 && !o.keepsSession() {
				m.t.Fatalf("%s: nothing ends the session of %s", id, o.id)
			}
		}
		if waiting != g.awaiting || len(g.order) != len(g.members) || len(g.static) > len(g.members) {
			m.t.Fatalf("%s: %d wait, counted %d; %d members, %d in order", id, waiting, g.awaiting, len(g.members), len(g.order))
		}
		if (len(g.members) == 0) != (g.leader == "") || g.leader != "" && g.members[g.leader] == nil {
			m.t.Fatalf("%s: leader %q of %d members", id, g.leader, len(g.members))
		}
		if g.awaiting > m.s.cfg.MaxSize {
			m.t.Fatalf("%s: %d members have joined", id, g.awaiting)
		}
		if g.state == Empty && len(g.members) > 0 || g.state == Stable && len(g.members) == 0 {
			m.t.Fatalf("%s: %v with %d members", id, g.state, len(g.members))
		}
		if g.state == PreparingRebalance && g.rebalance.timer == 0 {
			m.t.Fatalf("%s: nothing ends the rebalance", id)
		}
	}
}

// Whatever clients, the log and the clock do: nobody is answered twice, the group's books agree, a fail-over changes no
// offset, and once all clients are silent every request is answered and every group is Empty or gone.
func TestShard_RandomClients_NothingStuckNothingLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			m.step()
			m.check()
		}
		m.slow, m.refuse = false, false
		m.settle()
		m.advance(9 * time.Minute)
		if len(m.open) > 0 {
			t.Fatalf("never answered: %v", slices.Collect(maps.Values(m.open)))
		}
		for id, g := range m.s.groups {
			if g.state != Empty {
				t.Errorf("%s is %v for ever", id, g.state)
			}
		}
		m.failOver()
	})
}
