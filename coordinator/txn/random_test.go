package txn

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/coordinator"
	"jackdaw/coordinator/shardtest"
	"jackdaw/metadata"
)

// model drives a shard with producers that fence each other, a log that is slow, late or refuses, markers that take their
// time, and fail-overs.
type model struct {
	shardtest.Driver[*Shard]
	t        *rapid.T
	epoch    metadata.LeaderEpoch
	ticket   coordinator.Ticket
	open     map[coordinator.Ticket]request
	answered map[coordinator.Ticket]bool
	fresh    int64
	markers  []Markers
	refuse   bool

	// told are the producers that inits without credentials were given.
	told map[Producer]bool
	// known are producers that requests are made with.
	known []Producer
	// promised is what clients were told of the open transaction of a producer: partitions that were added.
	promised map[Producer]map[metadata.TopicPartition]bool
	// outcome of transactions whose end was acknowledged and whose markers were not seen yet.
	outcome map[Producer]bool
}

// request is what a ticket waits for.
type request struct {
	op       string
	producer Producer
	tp       metadata.TopicPartition
	commit   bool
	expected bool
}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, open: map[coordinator.Ticket]request{}, answered: map[coordinator.Ticket]bool{},
		fresh: 1000, told: map[Producer]bool{}, known: []Producer{{1000, 0}},
		promised: map[Producer]map[metadata.TopicPartition]bool{}, outcome: map[Producer]bool{},
	}
	m.Shard, m.Now = NewShard(DefaultConfig(), m.epoch), time.UnixMilli(1_000_000)
	m.Refuse = func() error {
		if m.refuse {
			return kerr.NotEnoughReplicas
		}
		return nil
	}
	m.Replied = m.reply
	m.Asked = func(request any) { m.outside(request.(Markers)) }
	m.Skipped = func(at int64, err error) { m.t.Fatalf("record %d is not understood: %v", at, err) }
	m.Start()
	return m
}

func (m *model) reply(r coordinator.Reply) {
	if m.answered[r.To] {
		m.t.Fatalf("#%d is answered twice", r.To)
	}
	m.answered[r.To] = true
	q := m.open[r.To]
	delete(m.open, r.To)
	switch body := r.Body.(type) {
	case InitResult:
		if body.Err != nil {
			return
		}
		p := Producer{body.ProducerID, body.Epoch}
		if !q.expected && m.told[p] {
			m.t.Fatalf("%+v is given to two producers", p)
		}
		m.told[p] = true
		m.known = append(m.known, p)
	case Result:
		if body.Err != nil {
			return
		}
		switch q.op {
		case "add":
			if m.promised[q.producer] == nil {
				m.promised[q.producer] = map[metadata.TopicPartition]bool{}
			}
			m.promised[q.producer][q.tp] = true
		case "end":
			if m.deciding(q.producer) { // else it was asked again after all was over
				m.outcome[q.producer] = q.commit
			}
		}
	}
}

func (m *model) deciding(p Producer) bool {
	for _, x := range m.Shard.ids {
		if (Producer{x.producerID, x.epoch}) == p && x.state.preparing() {
			return true
		}
	}
	return false
}

// outside checks that the markers are those that clients were promised.
func (m *model) outside(k Markers) {
	if k.CoordinatorEpoch != m.epoch {
		m.t.Fatalf("markers of epoch %d in epoch %d", k.CoordinatorEpoch, m.epoch)
	}
	p := Producer{k.ProducerID, k.ProducerEpoch}
	if commit, ok := m.outcome[p]; ok && commit != k.Commit {
		m.t.Fatalf("%+v was told commit=%v, markers say %v", p, commit, k.Commit)
	}
	has := map[metadata.TopicPartition]bool{}
	for _, tp := range k.Partitions {
		has[tp] = true
	}
	for _, owner := range []Producer{p, {p.ID, p.Epoch - 1}} { // aborted under a higher epoch if fenced
		for tp := range m.promised[owner] {
			if owner != p && k.Commit {
				continue
			}
			if !has[tp] {
				m.t.Fatalf("%v was added by %+v and gets no marker: %+v", tp, owner, k)
			}
		}
	}
	m.markers = append(m.markers, k)
}

// finish writes the markers of one transaction.
func (m *model) finish(i int) {
	k := m.markers[i]
	m.markers = append(m.markers[:i:i], m.markers[i+1:]...)
	p := Producer{k.ProducerID, k.ProducerEpoch}
	delete(m.promised, p)
	delete(m.promised, Producer{p.ID, p.Epoch - 1})
	delete(m.outcome, p)
	m.Do(m.Shard.MarkersWritten(m.Now, k, k.Partitions[:1]))
	m.Do(m.Shard.MarkersWritten(m.Now, k, k.Partitions[1:]))
}

func (m *model) states() map[string]string {
	out := map[string]string{}
	for id, x := range m.Shard.ids {
		if x.epoch != noEpoch {
			out[id] = fmt.Sprint(x.state, x.producerID, x.epoch, x.sorted(), x.start)
		}
	}
	return out
}

func (m *model) failOver() {
	m.Settle()
	before := m.states()
	m.epoch++
	m.open, m.markers = map[coordinator.Ticket]request{}, nil
	m.Reload(NewShard(DefaultConfig(), m.epoch))
	if d := cmp.Diff(before, m.states()); d != "" {
		m.t.Fatalf("the fail-over changed ids (-before +after):\n%s", d)
	}
}

func (m *model) step() {
	m.ticket++
	id := rapid.SampledFrom([]string{"x", "y"}).Draw(m.t, "id")
	p := rapid.SampledFrom(m.known).Draw(m.t, "producer")
	if x := m.Shard.ids[id]; x != nil && rapid.IntRange(0, 3).Draw(m.t, "current") > 0 {
		p = Producer{x.producerID, x.epoch}
	}
	q := request{
		op: rapid.SampledFrom([]string{
			"init", "init", "recover", "add", "add", "add", "end", "end", "markers", "markers", "advance", "slow", "fast", "late",
			"refuse", "fail-over",
		}).Draw(m.t, "op"),
		producer: p,
		tp:       metadata.TopicPartition{Topic: "t", Partition: int32(rapid.IntRange(0, 2).Draw(m.t, "partition"))},
		commit:   rapid.Bool().Draw(m.t, "commit"),
	}
	m.run(id, q)
	m.refuse = q.op == "refuse"
}

func (m *model) run(id string, q request) {
	n := m.ticket
	switch q.op {
	case "init", "recover":
		r := InitRequest{ID: id, Timeout: time.Minute, FreshID: m.fresh}
		m.fresh++
		if q.op == "recover" {
			q.expected, r.Expected = true, &q.producer
		}
		m.open[n] = q
		m.Do(m.Shard.InitProducerID(m.Now, n, r))
	case "add":
		m.open[n] = q
		m.Do(m.Shard.AddPartitions(m.Now, n, id, q.producer, []metadata.TopicPartition{q.tp}))
	case "end":
		m.open[n] = q
		m.Do(m.Shard.EndTxn(m.Now, n, id, q.producer, q.commit))
	case "markers":
		if len(m.markers) > 0 {
			m.finish(rapid.IntRange(0, len(m.markers)-1).Draw(m.t, "which"))
		}
	case "advance":
		m.Advance(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 2 * time.Minute}).Draw(m.t, "by"))
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

// Whatever producers, log, markers and coordinators do: nobody is answered twice, no two producers get the same epoch, what
// was acknowledged is what the markers say, a fail-over changes nothing, and in the end every transaction is complete.
func TestShard_RandomProducers_PromisesKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			m.step()
		}
		m.Hold, m.refuse = false, false
		m.Settle()
		m.Advance(2 * time.Minute)
		for len(m.markers) > 0 {
			m.finish(0)
		}
		if len(m.open) > 0 {
			t.Fatalf("never answered: %v", m.open)
		}
		for id, x := range m.Shard.ids {
			if !x.state.idle() || x.pending != nil {
				t.Errorf("%s is %v for ever", id, x.state)
			}
		}
		m.failOver()
	})
}
