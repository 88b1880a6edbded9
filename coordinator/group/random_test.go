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
	"jackdaw/coordinator/shardtest"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// model drives a shard with random clients, a log that is slow, late or refuses, and fail-overs.
type model struct {
	shardtest.Driver[*Shard]
	t        *rapid.T
	ticket   coordinator.Ticket
	open     map[coordinator.Ticket]string // not answered yet
	answered map[coordinator.Ticket]bool
	ids      []string // member ids that were ever told
	refuse   bool
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, open: map[coordinator.Ticket]string{}, answered: map[coordinator.Ticket]bool{}, ids: []string{""}}
	m.Shard, m.Now = NewShard(m.config()), epoch
	m.Refuse = func() error {
		if m.refuse {
			return kerr.NotEnoughReplicas
		}
		return nil
	}
	m.Replied = m.reply
	m.Skipped = func(at int64, err error) { m.t.Fatalf("record %d is not understood: %v", at, err) }
	m.Start()
	return m
}

func (m *model) config() Config {
	cfg := DefaultConfig()
	cfg.MaxSize = 5
	cfg.OffsetsRetention, cfg.RetentionCheckInterval = 10*time.Minute, time.Minute
	return cfg
}

func (m *model) reply(r coordinator.Reply) {
	if m.answered[r.To] {
		m.t.Fatalf("#%d is answered twice: %v", r.To, r.Body)
	}
	m.answered[r.To] = true
	delete(m.open, r.To)
	if j, ok := r.Body.(JoinResult); ok && j.MemberID != "" && !slices.Contains(m.ids, j.MemberID) {
		m.ids = append(m.ids, j.MemberID)
	}
}

// visible is what clients see of offsets.
func (m *model) visible() map[string]map[metadata.TopicPartition]int64 {
	out := map[string]map[metadata.TopicPartition]int64{}
	for id, g := range m.Shard.groups {
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
	m.Settle()
	before := m.visible()
	m.open = map[coordinator.Ticket]string{} // the runtime has answered NOT_COORDINATOR
	m.Reload(NewShard(m.config()))
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
	if g := m.Shard.groups[group]; g != nil {
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
		m.Do(m.Shard.Join(m.Now, n, m.joinRequest(r)))
	case "sync":
		m.Do(m.Shard.Sync(m.Now, n, SyncRequest{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}))
	case "heartbeat":
		m.Do(m.Shard.Heartbeat(m.Now, n, r))
	case "leave":
		m.Do(m.Shard.Leave(m.Now, n, r.Group, []LeavingMember{{r.MemberID, r.InstanceID}}))
	case "commit", "txn":
		c := CommitRequest{MemberRequest: r, Offsets: []CommitOffset{{TP: tp, Offset: int64(n), Timestamp: -1, Retention: -1}}}
		if op == "txn" {
			c.Producer = &record.Producer{ID: producer}
		}
		m.Do(m.Shard.Commit(m.Now, n, c))
	case "marker":
		m.Settle() // a marker is told when it is committed, and so is all before it
		mk := coordinator.Marker{ProducerID: producer, Commit: rapid.Bool().Draw(m.t, "outcome")}
		m.Do(m.Shard.EndTxn(m.Now, n, producer, m.Mark(mk), mk.Commit))
	case "delete":
		m.Do(m.Shard.Delete(m.Now, n, r.Group))
	case "delete-offsets":
		m.Do(m.Shard.DeleteOffsets(m.Now, n, r.Group, []metadata.TopicPartition{tp}))
	case "advance":
		m.Advance(rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second, time.Minute, 6 * time.Minute}).Draw(m.t, "by"))
	case "slow":
		m.Hold = true
	case "fast":
		m.Release()
	case "late":
		m.Late(kerr.RequestTimedOut)
		m.Settle()
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
	for id, g := range m.Shard.groups {
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
		if g.awaiting > m.Shard.cfg.MaxSize {
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
		m.Hold, m.refuse = false, false
		m.Settle()
		m.Advance(9 * time.Minute)
		if len(m.open) > 0 {
			t.Fatalf("never answered: %v", slices.Collect(maps.Values(m.open)))
		}
		for id, g := range m.Shard.groups {
			if g.state != Empty {
				t.Errorf("%s is %v for ever", id, g.state)
			}
		}
		m.failOver()
	})
}
