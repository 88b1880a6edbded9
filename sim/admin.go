package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// admin stands for all clients: it creates and changes topics, and has the producers.
type admin struct {
	w *world
	// wanted are the settings of each topic, which brokers hear of a little later.
	wanted    map[string]settings
	producers []*producer
	// byTopic has how many producers were started for a partition.
	served map[name]bool
	// quiet is set when no new records are to be sent.
	quiet  bool
	calmed time.Duration
}

func newAdmin(w *world) *admin {
	a := &admin{w: w, wanted: map[string]settings{}, served: map[name]bool{}}
	for _, t := range a.names() {
		a.wanted[t] = settings{minISR: int32(1 + w.rng.IntN(2)), unclean: w.plan.unclean && w.rng.IntN(2) == 0}
	}
	return a
}

// names are those of all topics that may be created.
func (a *admin) names() []string { return []string{"a", "b", "c"}[:a.w.plan.topics] }

func (a *admin) settings(topic string) settings { return a.wanted[topic] }

// start creates topics, and producers for each partition that appears.
func (a *admin) start() {
	a.w.after(nil, 100*time.Millisecond, func() {
		if !a.w.calm {
			a.create()
		}
		a.serve()
		a.start()
	})
}

// calm ends what disturbs.
func (a *admin) calm() {
	a.calmed = a.w.now
	for _, t := range a.names() {
		a.configure(t, settings{minISR: 1, unclean: a.wanted[t].unclean})
	}
}

// controller returns a process that takes itself for the controller, nil when there is none.
func (a *admin) controller() *controller {
	var found []*controller
	for _, h := range a.w.hosts {
		if h.proc != nil && !h.proc.paused && h.proc.ctl.office != nil {
			found = append(found, h.proc.ctl)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[a.w.rng.IntN(len(found))]
}

// topics reads what there is in ZooKeeper, by name, with or without those to be deleted.
func (a *admin) topics(dying bool) ([]string, map[string]znode.TopicAssignment) {
	all := map[string]znode.TopicAssignment{}
	names, _, _ := a.w.keeper.tree.Children(znode.TopicsPath)
	for _, n := range names {
		data, _, _ := a.w.keeper.tree.Data(znode.TopicPath(n))
		t, err := znode.DecodeTopicAssignment(data)
		if err != nil {
			a.w.violate("topic node: %v", err)
			continue
		}
		if _, code := a.w.keeper.tree.Exists(znode.DeleteTopicPath(n)); dying || code != zktree.OK {
			all[n] = t
		}
	}
	return slices.Sorted(maps.Keys(all)), all
}

// create makes one of the topics that are missing: Controller.CreateTopics.
func (a *admin) create() {
	c := a.controller()
	if c == nil {
		return
	}
	names := a.names()
	topic := names[a.w.rng.IntN(len(names))]
	if _, code := a.w.keeper.tree.Exists(znode.TopicPath(topic)); code == zktree.OK {
		return
	}
	node := znode.TopicAssignment{Partitions: map[int32][]metadata.BrokerID{}}
	for i := range node.TopicID {
		node.TopicID[i] = byte(a.w.rng.IntN(256))
	}
	for n := range int32(1 + a.w.rng.IntN(2)) {
		node.Partitions[n] = a.someBrokers(min(2+a.w.rng.IntN(2), len(a.w.hosts)))
	}
	c.createTopic(topic, node)
}

// someBrokers draws n different brokers.
func (a *admin) someBrokers(n int) []metadata.BrokerID {
	var out []metadata.BrokerID
	for _, i := range a.w.rng.Perm(len(a.w.hosts))[:n] {
		out = append(out, metadata.BrokerID(i+1))
	}
	return out
}

func (c *controller) createTopic(topic string, node znode.TopicAssignment) {
	c.submit(c.inOffice(func(o *office, next func()) {
		if _, exists := o.state.Topic(topic); exists {
			next()
			return
		}
		s := c.s
		s.do(func() any { return c.try(o, createOp(znode.TopicPath(topic), node.Encode(), zktree.Persistent)) }, func(v any) {
			switch v.(zktree.Code) {
			case zktree.RuntimeInconsistency:
				c.fail(next)
				return
			case zktree.OK:
			default:
				next()
				return
			}
			c.p.note("creates topic %s %v", topic, node.Partitions)
			s.do(func() any { return s.readTopics([]string{topic}) }, func(v any) {
				o.state.SetTopics(append(o.state.TopicNames(), topic), v.(map[string]state.TopicSnapshot))
				c.drain(o, next)
			})
		})
	}))
}

// disturb does one thing that administrators do.
func (a *admin) disturb() {
	names, all := a.topics(false)
	c := a.controller()
	if len(names) == 0 || c == nil {
		return
	}
	topic := names[a.w.rng.IntN(len(names))]
	tp := metadata.TopicPartition{Topic: topic, Partition: int32(a.w.rng.IntN(len(all[topic].Partitions)))}
	switch n := a.w.rng.IntN(20); {
	case n < 3:
		a.configure(topic, settings{minISR: int32(1 + a.w.rng.IntN(3)), unclean: a.wanted[topic].unclean})
	case n < 5:
		a.configure(topic, settings{minISR: a.wanted[topic].minISR, unclean: a.w.plan.unclean && a.w.rng.IntN(2) == 0})
	case n < 7:
		c.deleteTopic(topic)
	case n < 14:
		a.reassign(c, tp)
	case n < 19 || !a.w.plan.unclean:
		a.w.note("elects the preferred leader of %s", tp)
		c.run(func(o *office) { o.state.ElectPreferred([]metadata.TopicPartition{tp}) })
	default:
		a.w.note("elects any leader for %s", tp)
		c.run(func(o *office) { o.state.ElectUnclean([]metadata.TopicPartition{tp}) })
	}
}

// run plans something in office and carries it out.
func (c *controller) run(plan func(o *office)) {
	c.submit(c.inOffice(func(o *office, next func()) {
		plan(o)
		c.drain(o, next)
	}))
}

// configure changes the settings of a topic; each broker hears of it at its own time.
func (a *admin) configure(topic string, s settings) {
	a.w.note("topic %s: min.insync.replicas=%d unclean=%v", topic, s.minISR, s.unclean)
	a.wanted[topic] = s
	for _, h := range a.w.hosts {
		if p := h.proc; p != nil {
			a.w.after(p, a.w.delay(), func() { p.learn(topic, a.wanted[topic]) })
		}
	}
}

func (a *admin) reassign(c *controller, tp metadata.TopicPartition) {
	target := a.someBrokers(min(2+a.w.rng.IntN(2), len(a.w.hosts)))
	if a.w.rng.IntN(5) == 0 {
		target = nil // cancel
	}
	a.w.note("moves %s to %v", tp, target)
	c.run(func(o *office) {
		if err := o.state.Reassign(tp, target); err != nil {
			c.p.note("refuses to move %s: %v", tp, err)
		}
	})
}

// deleteTopic is Controller.DeleteTopics.
func (c *controller) deleteTopic(topic string) {
	c.submit(c.inOffice(func(o *office, next func()) {
		if _, exists := o.state.Topic(topic); !exists {
			next()
			return
		}
		c.p.note("deletes topic %s", topic)
		s := c.s
		s.do(func() any { return s.apply(createOp(znode.DeleteTopicPath(topic), nil, zktree.Persistent)).Code }, func(any) {
			o.state.DeleteTopics([]string{topic})
			c.drain(o, next)
		})
	}))
}

// stopBroker is Controller.ControlledShutdown; the answer is how many partitions the broker still leads, or an error.
func (c *controller) stopBroker(id metadata.BrokerID, epoch int64, answer func(any)) {
	if c.s == nil {
		answer(kerr.NotController)
		return
	}
	c.submit(func(next func()) {
		o := c.office
		if o == nil {
			answer(kerr.NotController)
			next()
			return
		}
		if err := o.state.StopBroker(id, epoch); err != nil {
			answer(err)
			next()
			return
		}
		c.drain(o, func() {
			if c.office == o {
				answer(len(o.state.Remaining(id)))
			} else {
				answer(kerr.NotController)
			}
			next()
		})
	})
}

// serve starts producers for partitions that are new.
func (a *admin) serve() {
	names, all := a.topics(false)
	for _, topic := range names {
		for n := range int32(len(all[topic].Partitions)) {
			at := name{metadata.TopicPartition{Topic: topic, Partition: n}, all[topic].TopicID}
			if a.served[at] {
				continue
			}
			a.served[at] = true
			a.producer(at, -1)
			if a.w.rng.IntN(2) == 0 {
				a.producer(at, 1)
			}
		}
	}
}

// exists reports whether the topic of a partition is still there.
func (a *admin) exists(n name) bool {
	data, _, code := a.w.keeper.tree.Data(znode.TopicPath(n.tp.Topic))
	if code != zktree.OK {
		return false
	}
	t, err := znode.DecodeTopicAssignment(data)
	_, dying := a.w.keeper.tree.Exists(znode.DeleteTopicPath(n.tp.Topic))
	return err == nil && t.TopicID == n.id && dying != zktree.OK
}

// removeStrays does what operators have to do: a replica that was moved away from a broker that was down leaves its log there,
// and when the topic is deleted and another one made under its name, that log is in the way (INCONSISTENT_TOPIC_ID).
func (a *admin) removeStrays() {
	_, all := a.topics(true)
	for _, h := range a.w.hosts {
		p := h.proc
		if p == nil || p.session == nil {
			continue
		}
		found := false
		for _, topic := range slices.Sorted(maps.Keys(all)) {
			for n := range int32(len(all[topic].Partitions)) {
				tp := metadata.TopicPartition{Topic: topic, Partition: n}
				l, ok := p.logs.Get(tp)
				if !ok || l.TopicID() == all[topic].TopicID || l.TopicID().IsZero() {
					continue
				}
				found = true
				a.w.result.Strays++
				p.note("has a stray log of %s", tp)
				a.w.oracle.deleted(p.id, l)
				if err := p.logs.Delete(tp); err != nil {
					a.w.violate("broker %d: delete %s: %v", p.id, tp, err)
				}
			}
		}
		if found {
			h.power = false
			h.crash()
			a.w.after(nil, time.Millisecond, h.boot)
		}
	}
}

// deletions tells what the controller knows about deletions.
func (a *admin) deletions() string {
	c := a.controller()
	if c == nil {
		return ", there is no controller"
	}
	all, waiting := c.office.state.Deleting()
	return fmt.Sprintf(", controller %d deletes %v and waits for %v, moves %v", c.p.id, all, waiting, c.office.state.Reassigning())
}

// unanswered tells which producer has not been served since the faults are over. When all have been, they are told to end.
func (a *admin) unanswered() string {
	for _, p := range a.producers {
		if !p.gone && p.acked < a.calmed && !a.w.oracle.of(p.at).tainted {
			return fmt.Sprintf("producer %d of %s, acks=%d, has had no answer since %s", p.id, p.at.tp, p.acks, stamp(p.acked))
		}
	}
	a.quiet = true
	for _, p := range a.producers {
		if p.open != nil && !p.gone && !a.w.oracle.of(p.at).tainted {
			return fmt.Sprintf("producer %d of %s waits", p.id, p.at.tp)
		}
	}
	return ""
}
