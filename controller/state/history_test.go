package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"jackdaw/metadata"
)

// history runs random events against a State, with a ZooKeeper in memory that now and then changes behind its back, and checks
// what must always hold.
type history struct {
	s *State
	// ibp decides whether leaders write the ISR themselves.
	ibp    IBP
	zk     map[metadata.TopicPartition]metadata.LeaderAndISR
	topics map[string]map[int32]Assignment
	epoch  int32
	// alive has the epoch of each registered broker.
	alive     map[metadata.BrokerID]int64
	lastEpoch int64
	// told has the last leader epoch that each broker heard, by its life.
	told map[string]metadata.LeaderEpoch
	next int
	// deposal and meddling count the writes down until a new controller takes over in between, and until a leader first
	// writes a smaller ISR itself; zero is never.
	deposal, meddling int
}

func (h *history) registered() []metadata.Broker {
	var out []metadata.Broker
	for id, e := range h.alive {
		out = append(out, metadata.Broker{ID: id, Epoch: e})
	}
	slices.SortFunc(out, compareBrokers)
	return out
}

// takeOver starts a new controller on what is in ZooKeeper.
func (h *history) takeOver(t *rapid.T) {
	h.epoch++
	h.s = New(Config{ID: 1, Epoch: h.epoch, IBP: h.ibp})
	snap := Snapshot{Brokers: h.registered(), Topics: map[string]TopicSnapshot{}, States: map[metadata.TopicPartition]metadata.LeaderAndISR{}}
	for name, ps := range h.topics {
		snap.Topics[name] = TopicSnapshot{ID: topicID(name), Partitions: ps}
	}
	for tp, li := range h.zk {
		snap.States[tp] = li
	}
	h.s.Load(snap)
	h.drain(t)
}

func (h *history) drain(t *rapid.T) {
	for range 10_000 {
		plan, ok := h.s.Next()
		if !ok {
			h.check(t)
			return
		}
		results := make([]Result, len(plan.Writes))
		for i, w := range plan.Writes {
			if elapsed(&h.deposal) {
				if dead := metadata.BrokerID(rapid.IntRange(0, 5).Draw(t, "dies with it")); len(h.alive) > 1 {
					delete(h.alive, dead)
				}
				h.takeOver(t)
				return
			}
			if elapsed(&h.meddling) {
				h.meddle(w.Partition)
			}
			results[i] = h.write(t, w)
		}
		h.s.Apply(results)
		for _, r := range h.s.Requests() {
			h.receive(t, r)
		}
	}
	t.Fatal("the work does not end")
}

func elapsed(count *int) bool {
	if *count == 0 {
		return false
	}
	*count--
	return *count == 0
}

// meddle is a leader that leaves alone in the ISR, if it has heard that it leads.
func (h *history) meddle(tp metadata.TopicPartition) {
	li := h.zk[tp]
	if e, ok := h.told[h.key(li.Leader, tp)]; !ok || e != li.LeaderEpoch {
		return
	}
	li.ISR = []metadata.BrokerID{li.Leader}
	li.PartitionEpoch++
	h.zk[tp] = li
}

func (h *history) key(id metadata.BrokerID, tp metadata.TopicPartition) string {
	return fmt.Sprint(id, h.alive[id], tp)
}

func (h *history) write(t *rapid.T, w Write) Result {
	switch w.Kind {
	case SetTopic:
		h.topics[w.Topic] = w.Assignments
		return Result{}
	case DeleteTopic:
		delete(h.topics, w.Topic)
		for tp := range h.zk {
			if tp.Topic == w.Topic {
				delete(h.zk, tp)
			}
		}
		return Result{}
	case CreateState, SetState:
	}
	now, exists := h.zk[w.Partition]
	li := w.State
	if w.Kind == CreateState && exists || w.Kind == SetState && (!exists || now.PartitionEpoch != li.PartitionEpoch) {
		return Result{Conflict: true, Current: &now}
	}
	if exists {
		h.compare(t, w.Partition, now, li)
		li.PartitionEpoch++
	}
	h.zk[w.Partition] = li
	return Result{Version: li.PartitionEpoch}
}

// compare checks a write against what it replaces.
func (h *history) compare(t *rapid.T, tp metadata.TopicPartition, old, now metadata.LeaderAndISR) {
	switch {
	case len(now.ISR) == 0:
		t.Fatalf("%s: empty ISR", tp)
	case now.Leader >= 0 && !slices.Contains(now.ISR, now.Leader):
		t.Fatalf("%s: leader %d is not in the ISR %v", tp, now.Leader, now.ISR)
	case now.LeaderEpoch < old.LeaderEpoch:
		t.Fatalf("%s: leader epoch %d after %d", tp, now.LeaderEpoch, old.LeaderEpoch)
	case now.Leader != old.Leader && now.LeaderEpoch == old.LeaderEpoch:
		t.Fatalf("%s: leader %d after %d in epoch %d", tp, now.Leader, old.Leader, now.LeaderEpoch)
	case now.Leader >= 0 && now.Leader != old.Leader && !slices.Contains(old.ISR, now.Leader):
		t.Fatalf("%s: unclean leader %d, ISR was %v", tp, now.Leader, old.ISR)
	}
}

// receive checks what a broker is told: leader epochs never go back, and nobody dead is written to.
func (h *history) receive(t *rapid.T, r Request) {
	if h.alive[r.Broker.ID] == 0 {
		t.Fatalf("request to broker %d, which is dead", r.Broker.ID)
	}
	if req, ok := r.Body.(*kmsg.StopReplicaRequest); ok {
		h.stop(t, r.Broker.ID, req)
	}
	req, ok := r.Body.(*kmsg.LeaderAndISRRequest)
	if !ok {
		return
	}
	for _, ts := range req.TopicStates {
		for _, p := range ts.PartitionStates {
			key := h.key(r.Broker.ID, metadata.TopicPartition{Topic: ts.Topic, Partition: p.Partition})
			if e := metadata.LeaderEpoch(p.LeaderEpoch); e < h.told[key] {
				t.Fatalf("%s: epoch %d after %d", key, e, h.told[key])
			}
			h.told[key] = metadata.LeaderEpoch(p.LeaderEpoch)
		}
	}
}

// stop checks that what is deleted is not in sync, unless its topic goes.
func (h *history) stop(t *rapid.T, id metadata.BrokerID, req *kmsg.StopReplicaRequest) {
	for _, tp := range deletedBy(req) {
		if li := h.zk[tp]; slices.Contains(li.ISR, id) && !h.s.dying(tp.Topic) {
			t.Fatalf("%s: %d is deleted, the ISR is %v", tp, id, li.ISR)
		}
	}
}

// check compares memory with ZooKeeper, and looks for partitions that should have a leader.
func (h *history) check(t *rapid.T) {
	for name, ps := range h.topics {
		for n, a := range ps {
			tp := metadata.TopicPartition{Topic: name, Partition: n}
			p := h.s.partition(tp)
			if p == nil {
				t.Fatalf("%s is unknown", tp)
			}
			li := h.zk[tp]
			if p.known && (p.li.Leader != li.Leader || p.li.PartitionEpoch > li.PartitionEpoch) {
				t.Fatalf("%s: %+v in memory, %+v in ZooKeeper", tp, p.li, li)
			}
			if !h.s.dying(name) {
				h.checkISR(t, p)
			}
			if h.s.dying(name) || p.known && h.s.present(p.li.Leader, tp) {
				continue
			}
			for _, id := range a.Replicas {
				if h.s.online(id, tp) && (!p.known || slices.Contains(p.li.ISR, id)) {
					t.Fatalf("%s has no leader though %d could lead: %+v", tp, id, p.li)
				}
			}
		}
	}
}

// checkISR checks that the members of an ISR are assigned. Where leaders write it themselves, others may stay if none of the
// assigned is alive, but are never all of it.
func (h *history) checkISR(t *rapid.T, p *partition) {
	unassigned := without(p.li.ISR, p.Replicas)
	if len(unassigned) > 0 && (h.ibp.AlterPartition() || len(unassigned) == len(p.li.ISR) || h.s.dispensable(p, unassigned)) {
		t.Fatalf("%s: ISR %v, replicas %v", p.TopicPartition, p.li.ISR, p.Replicas)
	}
}

func (h *history) anyPartition(t *rapid.T) *partition {
	all := h.s.partitions(func(*partition) bool { return true })
	if len(all) == 0 {
		t.Skip("no partition")
	}
	return rapid.SampledFrom(all).Draw(t, "partition")
}

func (h *history) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"die": func(t *rapid.T) {
			if len(h.alive) < 2 {
				t.Skip("one must live")
			}
			delete(h.alive, rapid.SampledFrom(h.registered()).Draw(t, "broker").ID)
			h.s.SetBrokers(h.registered())
			h.drain(t)
		},
		"register": func(t *rapid.T) {
			h.lastEpoch++
			h.alive[metadata.BrokerID(rapid.IntRange(1, 5).Draw(t, "id"))] = h.lastEpoch
			h.s.SetBrokers(h.registered())
			h.drain(t)
		},
		"create": func(t *rapid.T) {
			rf := rapid.IntRange(1, len(h.alive)).Draw(t, "rf")
			as, err := Place(h.s.Loads(), 0, 2, min(rf, max(1, len(h.s.Loads()))))
			if err != nil {
				t.Skip(err)
			}
			h.next++
			name := fmt.Sprintf("t%d", h.next)
			ps := map[int32]Assignment{}
			for n, r := range as {
				ps[n] = Assignment{Replicas: r}
			}
			h.topics[name] = ps
			h.s.SetTopics(append(h.s.TopicNames(), name), map[string]TopicSnapshot{name: {ID: topicID(name), Partitions: ps}})
			h.drain(t)
		},
		"delete": func(t *rapid.T) {
			h.s.DeleteTopics([]string{h.anyPartition(t).Topic})
			h.drain(t)
		},
		"stop": func(t *rapid.T) {
			b := rapid.SampledFrom(h.registered()).Draw(t, "broker")
			if err := h.s.StopBroker(b.ID, b.Epoch); err != nil && h.s.suspects[b.ID] == nil {
				t.Fatal(err)
			}
			h.drain(t)
		},
		"suspect": func(t *rapid.T) {
			b := rapid.SampledFrom(h.registered()).Draw(t, "broker")
			h.s.Suspect(b.ID, b.Epoch)
			h.drain(t)
		},
		"clear": func(t *rapid.T) {
			for len(h.s.Suspects()) > 0 {
				b := h.s.Suspects()[0]
				if h.alive[b.ID] != b.Epoch {
					t.Fatalf("a former life of %d is suspected", b.ID)
				}
				h.s.Clear(b.ID, b.Epoch)
				h.drain(t)
			}
		},
		"prefer": func(t *rapid.T) {
			h.s.ElectPreferred(nil)
			h.drain(t)
		},
		"reassign": func(t *rapid.T) { h.reassign(t, h.anyPartition(t), 3) },
		"reassign twice": func(t *rapid.T) {
			p := h.anyPartition(t)
			h.reassign(t, p, 2)
			h.expand(t, p)
			h.deposal = rapid.IntRange(0, 4).Draw(t, "writes")
			h.reassign(t, p, 2)
		},
		"expand": func(t *rapid.T) { h.expand(t, h.anyPartition(t)) },
		"write behind the back": func(t *rapid.T) {
			p := h.anyPartition(t)
			if h.ibp.AlterPartition() {
				t.Skip("the controller writes")
			}
			if li, ok := h.zk[p.TopicPartition]; ok && li.Leader >= 0 {
				others := without(p.Replicas, []metadata.BrokerID{li.Leader})
				li.ISR = append([]metadata.BrokerID{li.Leader}, others[:rapid.IntRange(0, len(others)).Draw(t, "others")]...)
				li.PartitionEpoch++
				h.zk[p.TopicPartition] = li
			}
		},
		"take over": h.takeOver,
		"take over soon": func(t *rapid.T) {
			h.deposal = rapid.IntRange(1, 6).Draw(t, "writes")
		},
		"write in between": func(t *rapid.T) {
			if h.ibp.AlterPartition() {
				t.Skip("the controller writes")
			}
			h.meddling = rapid.IntRange(1, 6).Draw(t, "writes")
		},
	}
}

// reassign moves a partition to some of the brokers.
func (h *history) reassign(t *rapid.T, p *partition, most int) {
	var target []metadata.BrokerID
	for _, id := range rapid.Permutation(h.s.brokerIDs()).Draw(t, "order") {
		if h.s.eligible(id) && len(target) < most {
			target = append(target, id)
		}
	}
	_ = h.s.Reassign(p.TopicPartition, target) // a refusal is as good
	h.drain(t)
}

// expand is the leader's proposal to take all eligible replicas into the ISR.
func (h *history) expand(t *rapid.T, p *partition) {
	b := h.s.brokers[p.li.Leader]
	if !p.known || b == nil {
		t.Skip("no leader")
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 2, int32(p.li.Leader), b.Epoch
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = p.Partition, int32(p.li.LeaderEpoch), p.li.PartitionEpoch
	rp.NewISR = ints(only(p.Replicas, h.s.eligible))
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID = topicID(p.Topic)
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	h.s.AlterPartition(req)
	h.drain(t)
}

func TestState_AnyHistory_KeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			zk: map[metadata.TopicPartition]metadata.LeaderAndISR{}, topics: map[string]map[int32]Assignment{},
			alive: map[metadata.BrokerID]int64{1: 1, 2: 2, 3: 3}, lastEpoch: 3,
			told: map[string]metadata.LeaderEpoch{},
			ibp:  rapid.SampledFrom([]IBP{{Major: 3, Minor: 9}, {Major: 2, Minor: 6}}).Draw(t, "ibp"),
		}
		h.takeOver(t)
		t.Repeat(h.actions())
	})
}
