package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// task is a piece of work of the controller's loop. It calls next exactly once when it is done, perhaps much later; until
// then nothing else is begun.
type task func(next func())

// controller is a broker's part in the election and the controller while it is elected: controller.Controller as a
// machine without goroutines. What belongs to a session ends with it.
type controller struct {
	p       *process
	s       *session
	office  *office
	queue   []task
	busy    bool
	retired bool
	// changed are the watched nodes that have something new, and topics the topics whose node has.
	changed map[string]bool
	topics  map[string]bool
}

// office is what exists while this broker is the controller.
type office struct {
	epoch, version int32
	state          *state.State
	senders        map[metadata.BrokerID]*sender
}

// submit puts a task into the queue.
func (c *controller) submit(t task) {
	c.queue = append(c.queue, t)
	c.pump()
}

func (c *controller) pump() {
	if c.busy || len(c.queue) == 0 || c.s == nil {
		return
	}
	c.busy = true
	t, s := c.queue[0], c.s
	c.queue = c.queue[1:]
	t(func() {
		if c.s == s {
			c.busy = false
			c.pump()
		}
	})
}

// sessionStarted takes part in the election.
func (c *controller) sessionStarted(s *session) {
	c.s, c.queue, c.busy = s, nil, false
	c.changed = map[string]bool{}
	clear(c.topics)
	c.submit(c.check)
}

// expired ends all that belongs to the session.
func (c *controller) expired() {
	c.leave()
	c.s, c.queue, c.busy = nil, nil, false
}

func (c *controller) leave() {
	if c.office == nil {
		return
	}
	for _, s := range c.office.senders {
		s.stopped = true
	}
	c.office = nil
}

// noticed takes a watch event.
func (c *controller) noticed(path string) {
	if c.s == nil || c.changed == nil {
		return
	}
	known := len(c.changed)+len(c.topics) > 0
	name, topic := strings.CutPrefix(path, znode.TopicsPath+"/")
	switch {
	case topic:
		c.topics[name] = true
	case strings.HasPrefix(path, znode.BrokerIDsPath):
		c.changed[znode.BrokerIDsPath] = true
	default:
		c.changed[path] = true
	}
	if !known {
		c.submit(c.react)
	}
}

// react reads again what has changed, in the order of controller.changed.
func (c *controller) react(next func()) {
	changed, topics := c.changed, slices.Sorted(maps.Keys(c.topics))
	c.changed = map[string]bool{}
	clear(c.topics)
	var todo []task
	add := func(path string, t task) {
		if changed[path] {
			todo = append(todo, t)
		}
	}
	add(znode.ControllerPath, c.check)
	add(znode.BrokerIDsPath, c.inOffice(c.brokersChanged))
	add(znode.TopicsPath, c.inOffice(c.topicsChanged))
	if len(topics) > 0 {
		todo = append(todo, c.inOffice(func(o *office, next func()) { c.topicDataChanged(o, topics, next) }))
	}
	add(znode.DeleteTopicsPath, c.inOffice(c.deletionsChanged))
	chain(todo, next)
}

// chain runs tasks one after the other.
func chain(todo []task, next func()) {
	if len(todo) == 0 {
		next()
		return
	}
	todo[0](func() { chain(todo[1:], next) })
}

// inOffice makes a task of what only the controller does.
func (c *controller) inOffice(f func(o *office, next func())) task {
	return func(next func()) {
		if c.office == nil {
			next()
			return
		}
		f(c.office, next)
	}
}

// seat is what the election looks at.
type seat struct {
	taken   bool
	current metadata.BrokerID
	owner   zktree.SessionID
}

func (c *controller) readSeat() seat {
	data, ok := c.s.watchData(znode.ControllerPath)
	if !ok {
		return seat{current: metadata.NoBroker}
	}
	stat, _ := c.s.k.tree.Exists(znode.ControllerPath)
	node, err := znode.DecodeController(data)
	if err != nil {
		c.p.w.violate("controller node: %v", err)
	}
	return seat{true, node.Broker, stat.EphemeralOwner}
}

// check is Controller.checkController.
func (c *controller) check(next func()) {
	s := c.s
	s.do(func() any { return c.readSeat() }, func(v any) {
		switch got := v.(seat); {
		case got.taken && got.current == c.p.id && c.office != nil:
			next()
		case !got.taken || got.current == c.p.id:
			c.leave()
			if c.retired {
				next()
				return
			}
			c.elect(next)
		default:
			c.leave()
			next()
		}
	})
}

// elect is Session.ElectController and Controller.elect.
func (c *controller) elect(next func()) {
	type ballot struct {
		seat
		epoch, version int32
	}
	s := c.s
	s.do(func() any {
		b := ballot{seat: c.readSeat()}
		if b.taken && c.p.former[b.owner] {
			s.apply(deleteOp(znode.ControllerPath, zktree.AnyVersion))
			b.taken = false
		}
		stat, _ := s.k.tree.Exists(znode.ControllerEpochPath)
		b.epoch, b.version = s.k.epoch(), stat.Version
		return b
	}, func(v any) {
		b := v.(ballot)
		switch {
		case b.taken && b.owner == s.id:
			c.dropOwnNode(next)
		case b.taken:
			next()
		default:
			c.stand(b.epoch, b.version, next)
		}
	})
}

// stand makes the two writes that win an election.
func (c *controller) stand(epoch, version int32, next func()) {
	s := c.s
	node := znode.Controller{Broker: c.p.id, TimestampMs: c.p.now().UnixMilli(), KRaftEpoch: -1}
	s.do(func() any {
		return s.apply(createOp(znode.ControllerPath, node.Encode(), zktree.Ephemeral),
			setOp(znode.ControllerEpochPath, znode.EncodeControllerEpoch(epoch+1), version))
	}, func(v any) {
		out := v.(zktree.Outcome)
		if out.Code != zktree.OK {
			c.elect(next)
			return
		}
		c.p.note("is elected controller, epoch %d", epoch+1)
		c.takeOffice(epoch+1, out.Results[1].Stat.Version, next)
	})
}

// dropOwnNode removes a node of this session from an election of which the answer was lost, and tries again.
func (c *controller) dropOwnNode(next func()) {
	s := c.s
	s.do(func() any {
		if stat, code := s.k.tree.Exists(znode.ControllerPath); code == zktree.OK && stat.EphemeralOwner == s.id {
			s.apply(deleteOp(znode.ControllerPath, stat.Version))
		}
		return nil
	}, func(any) {
		c.p.w.after(c.p, 200*time.Millisecond, func() {
			if c.s == s {
				c.submit(c.check)
			}
		})
		next()
	})
}

// takeOffice reads everything, each part at its own time, and sets the brokers to work.
func (c *controller) takeOffice(epoch, version int32, next func()) {
	s, p := c.s, c.p
	ibp, err := state.ParseIBP("3.9-IV0")
	if err != nil {
		p.w.violate("%v", err)
	}
	o := &office{epoch: epoch, version: version, senders: map[metadata.BrokerID]*sender{}}
	o.state = state.New(state.Config{
		ID: p.id, Epoch: epoch, IBP: ibp, Listener: "PLAINTEXT",
		Unclean: func(topic string) bool { return p.logConfig(topic).UncleanElection },
	})
	c.office = o
	var snap state.Snapshot
	chain([]task{
		func(next func()) { s.do(s.readBrokers, func(v any) { snap.Brokers = v.([]metadata.Broker); next() }) },
		func(next func()) {
			s.do(func() any { return s.readTopics(s.watchChildren(znode.TopicsPath)) }, func(v any) {
				snap.Topics = v.(map[string]state.TopicSnapshot)
				next()
			})
		},
		func(next func()) {
			s.do(func() any { return s.readStates(snap.Topics) }, func(v any) {
				snap.States = v.(map[metadata.TopicPartition]metadata.LeaderAndISR)
				next()
			})
		},
		func(next func()) {
			s.do(func() any { return s.watchChildren(znode.DeleteTopicsPath) }, func(v any) { snap.Deleting = v.([]string); next() })
		},
	}, func() {
		if c.office != o {
			next()
			return
		}
		unknown := o.state.Load(snap)
		c.drain(o, func() { c.clearDeletions(o, unknown, next) })
	})
}

// readBrokers is controller.readBrokers.
func (s *session) readBrokers() any {
	var out []metadata.Broker
	for _, name := range s.watchChildren(znode.BrokerIDsPath) {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		id := metadata.BrokerID(n)
		data, ok := s.watchData(znode.BrokerPath(id))
		stat, _ := s.k.tree.Exists(znode.BrokerPath(id))
		if !ok {
			continue
		}
		b, err := znode.DecodeBroker(id, data)
		if err != nil {
			s.k.w.violate("broker node: %v", err)
			continue
		}
		b.Epoch = stat.CZxid
		out = append(out, b.Broker)
	}
	return out
}

// readTopics reads topic nodes and watches them.
func (s *session) readTopics(names []string) map[string]state.TopicSnapshot {
	out := map[string]state.TopicSnapshot{}
	for _, name := range names {
		data, ok := s.watchData(znode.TopicPath(name))
		if !ok {
			continue
		}
		a, err := znode.DecodeTopicAssignment(data)
		if err != nil {
			s.k.w.violate("topic node: %v", err)
			continue
		}
		t := state.TopicSnapshot{ID: a.TopicID, Partitions: map[int32]state.Assignment{}}
		for n, replicas := range a.Partitions {
			t.Partitions[n] = state.Assignment{Replicas: replicas, Adding: a.Adding[n], Removing: a.Removing[n]}
		}
		out[name] = t
	}
	return out
}

// readStates reads the state nodes of all partitions.
func (s *session) readStates(topics map[string]state.TopicSnapshot) map[metadata.TopicPartition]metadata.LeaderAndISR {
	out := map[metadata.TopicPartition]metadata.LeaderAndISR{}
	for name, t := range topics {
		for n := range t.Partitions {
			tp := metadata.TopicPartition{Topic: name, Partition: n}
			if li, ok := s.k.state(tp); ok {
				out[tp] = li
			}
		}
	}
	return out
}

func (c *controller) brokersChanged(o *office, next func()) {
	s := c.s
	s.do(s.readBrokers, func(v any) {
		o.state.SetBrokers(v.([]metadata.Broker))
		c.drain(o, next)
	})
}

func (c *controller) topicsChanged(o *office, next func()) {
	s := c.s
	s.do(func() any { return s.watchChildren(znode.TopicsPath) }, func(v any) {
		names := v.([]string)
		s.do(func() any { return s.readTopics(o.state.Missing(names)) }, func(v any) {
			o.state.SetTopics(names, v.(map[string]state.TopicSnapshot))
			c.drain(o, next)
		})
	})
}

func (c *controller) topicDataChanged(o *office, names []string, next func()) {
	s := c.s
	s.do(func() any { return s.readTopics(names) }, func(v any) {
		got := v.(map[string]state.TopicSnapshot)
		for _, name := range slices.Sorted(maps.Keys(got)) {
			o.state.SetPartitions(name, got[name].Partitions)
		}
		c.drain(o, next)
	})
}

func (c *controller) deletionsChanged(o *office, next func()) {
	s := c.s
	s.do(func() any { return s.watchChildren(znode.DeleteTopicsPath) }, func(v any) {
		unknown := o.state.DeleteTopics(v.([]string))
		c.drain(o, func() { c.clearDeletions(o, unknown, next) })
	})
}

// clearDeletions removes requests for topics that do not exist.
func (c *controller) clearDeletions(o *office, names []string, next func()) {
	if c.office != o || len(names) == 0 {
		next()
		return
	}
	s := c.s
	s.do(func() any {
		for _, n := range names {
			s.apply(o.guarded(deleteOp(znode.DeleteTopicPath(n), zktree.AnyVersion))...)
		}
		return nil
	}, func(any) { next() })
}

// electMissing is Controller.ElectMissing.
func (c *controller) electMissing() {
	c.submit(c.inOffice(func(o *office, next func()) {
		o.state.ElectMissing()
		c.drain(o, next)
	}))
}

// alterPartition is Controller.AlterPartition.
func (c *controller) alterPartition(req *kmsg.AlterPartitionRequest, answer func(*kmsg.AlterPartitionResponse)) {
	refuse := func() {
		resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
		resp.ErrorCode = kerr.NotController.Code
		answer(resp)
	}
	if c.s == nil {
		refuse()
		return
	}
	c.submit(func(next func()) {
		o := c.office
		if o == nil {
			refuse()
			next()
			return
		}
		a := o.state.AlterPartition(req)
		c.drain(o, func() {
			if c.office != o {
				refuse()
			} else {
				answer(a.Response())
			}
			next()
		})
	})
}
