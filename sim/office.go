package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// guarded puts the check of the controller epoch before operations.
func (o *office) guarded(ops ...zktree.Op) []zktree.Op {
	return append([]zktree.Op{checkOp(znode.ControllerEpochPath, o.version)}, ops...)
}

// written is what became of one write.
type written struct {
	result state.Result
	moved  bool
}

// drain does what the state has planned: Controller.drain. Afterwards c.office tells whether the term has survived.
func (c *controller) drain(o *office, next func()) {
	if c.office != o {
		next()
		return
	}
	plan, ok := o.state.Next()
	if !ok {
		c.retainSenders(o)
		next()
		return
	}
	c.execute(o, plan.Writes, nil, func(results []state.Result, moved bool) {
		if c.office != o {
			next()
			return
		}
		if moved {
			c.fail(next)
			return
		}
		o.state.Apply(results)
		c.noteChanges(o)
		c.dispatch(o, o.state.Requests())
		if o.state.Deposed() {
			c.fail(next)
			return
		}
		c.drain(o, next)
	})
}

// fail ends a term because another controller was elected.
func (c *controller) fail(next func()) {
	c.p.note("gives up its term")
	c.leave()
	c.check(next)
}

func (c *controller) noteChanges(o *office) {
	for _, ch := range o.state.Changes() {
		if ch.Failure != "" {
			c.p.note("controller: no leader for %s: %s", ch.Partition, ch.Failure)
		} else if ch.Unclean {
			c.p.note("controller: unclean election of %d for %s", ch.To.Leader, ch.Partition)
			c.p.w.oracle.electedUncleanly(ch.Partition)
		}
	}
}

// execute makes the writes one by one; the term may end between any two of them.
func (c *controller) execute(o *office, writes []state.Write, done []state.Result, next func(results []state.Result, moved bool)) {
	if len(done) == len(writes) {
		next(done, false)
		return
	}
	w := writes[len(done)]
	s := c.s
	s.do(func() any { return c.write(o, w) }, func(v any) {
		got := v.(written)
		if got.moved {
			next(nil, true)
			return
		}
		if !got.result.Conflict {
			c.execute(o, writes, append(done, got.result), next)
			return
		}
		// The state is read, since the machine must know it to go on, and since a write whose answer was lost may be there.
		s.do(func() any {
			li, ok := s.k.state(w.Partition)
			switch {
			case !ok:
				return state.Result{Conflict: true}
			case isWrite(w.State, li):
				return state.Result{Version: li.PartitionEpoch}
			}
			return state.Result{Conflict: true, Current: &li}
		}, func(v any) { c.execute(o, writes, append(done, v.(state.Result)), next) })
	})
}

// isWrite is the function of that name in controller.
func isWrite(want, now metadata.LeaderAndISR) bool {
	return now.ControllerEpoch == want.ControllerEpoch && now.Leader == want.Leader && now.LeaderEpoch == want.LeaderEpoch &&
		now.Recovery == want.Recovery && slices.Equal(now.ISR, want.ISR) && now.PartitionEpoch == want.PartitionEpoch+1
}

// write makes one write at ZooKeeper: what zkstore.ControllerWriter does.
func (c *controller) write(o *office, w state.Write) written {
	switch w.Kind {
	case state.CreateState:
		for _, parent := range []string{znode.PartitionsPath(w.Partition.Topic), znode.PartitionPath(w.Partition)} {
			if c.try(o, createOp(parent, nil, zktree.Persistent)) == zktree.RuntimeInconsistency {
				return written{moved: true}
			}
		}
		return outcome(c.try(o, createOp(znode.StatePath(w.Partition), znode.EncodePartitionState(w.State), zktree.Persistent)), 0)
	case state.SetState:
		return outcome(c.try(o, setOp(znode.StatePath(w.Partition), znode.EncodePartitionState(w.State), w.State.PartitionEpoch)), w.State.PartitionEpoch+1)
	case state.SetTopic:
		code := c.try(o, setOp(znode.TopicPath(w.Topic), nodeOf(w.ID, w.Assignments).Encode(), zktree.AnyVersion))
		return written{moved: code == zktree.RuntimeInconsistency}
	default:
		return c.removeTopic(o, w.Topic)
	}
}

// try runs one operation if this is still the controller; RuntimeInconsistency tells that it is not.
func (c *controller) try(o *office, op zktree.Op) zktree.Code {
	ops := o.guarded(op)
	if c.p.w.o.broken.controllerEpoch {
		ops = ops[1:]
		return c.s.apply(ops...).Code
	}
	out := c.s.apply(ops...)
	if out.Code != zktree.OK && out.Results[0].Code != zktree.OK {
		return zktree.RuntimeInconsistency
	}
	return out.Code
}

func outcome(code zktree.Code, version int32) written {
	switch code {
	case zktree.OK:
		return written{result: state.Result{Version: version}}
	case zktree.RuntimeInconsistency:
		return written{moved: true}
	default:
		return written{result: state.Result{Conflict: true}}
	}
}

// removeTopic is ControllerWriter.DeleteTopicNodes.
func (c *controller) removeTopic(o *office, topic string) written {
	paths := []string{}
	names, _, _ := c.s.k.tree.Children(znode.PartitionsPath(topic))
	for _, n := range names {
		paths = append(paths, znode.PartitionsPath(topic)+"/"+n+"/state", znode.PartitionsPath(topic)+"/"+n)
	}
	for _, path := range append(paths, znode.PartitionsPath(topic), znode.TopicPath(topic), znode.DeleteTopicPath(topic)) {
		if c.try(o, deleteOp(path, zktree.AnyVersion)) == zktree.RuntimeInconsistency {
			return written{moved: true}
		}
	}
	return written{}
}

// nodeOf is the function of that name in controller.
func nodeOf(id metadata.TopicID, ps map[int32]state.Assignment) znode.TopicAssignment {
	a := znode.TopicAssignment{
		TopicID: id, Partitions: map[int32][]metadata.BrokerID{}, Adding: map[int32][]metadata.BrokerID{}, Removing: map[int32][]metadata.BrokerID{},
	}
	for p, as := range ps {
		a.Partitions[p] = as.Replicas
		if len(as.Adding) > 0 {
			a.Adding[p] = as.Adding
		}
		if len(as.Removing) > 0 {
			a.Removing[p] = as.Removing
		}
	}
	return a
}

// controlTimeout is how long the controller waits for a broker before it sends a request again.
const controlTimeout = 700 * time.Millisecond

// sender brings requests to one life of one broker, in order, each again and again until it is answered:
// controller.sender.
type sender struct {
	c       *controller
	o       *office
	broker  metadata.Broker
	queue   []kmsg.Request
	busy    bool
	stopped bool
}

// dispatch is Controller.dispatch.
func (c *controller) dispatch(o *office, requests []state.Request) {
	for _, r := range requests {
		s := o.senders[r.Broker.ID]
		if s == nil || s.broker.Epoch != r.Broker.Epoch {
			if s != nil {
				s.stopped = true
			}
			s = &sender{c: c, o: o, broker: r.Broker}
			o.senders[r.Broker.ID] = s
		}
		s.queue = append(s.queue, r.Body)
		s.pump()
	}
}

// retainSenders ends the senders of brokers that are gone.
func (c *controller) retainSenders(o *office) {
	live := map[metadata.BrokerID]int64{}
	for _, b := range o.state.Brokers() {
		live[b.ID] = b.Epoch
	}
	for _, id := range slices.Sorted(maps.Keys(o.senders)) {
		if e, ok := live[id]; !ok || e != o.senders[id].broker.Epoch {
			o.senders[id].stopped = true
			delete(o.senders, id)
		}
	}
}

func (s *sender) pump() {
	if s.busy || s.stopped || len(s.queue) == 0 {
		return
	}
	s.busy = true
	body := s.queue[0]
	s.queue = s.queue[1:]
	s.send(body)
}

// send sends a request until it is answered, each time on a connection that is newer than those before.
func (s *sender) send(body kmsg.Request) {
	w := s.c.p.w
	w.conns++
	conn := w.conns
	w.call(s.c.p, s.broker.ID, controlTimeout, func(q *process, answer func(any)) {
		q.serve(conn, body, answer)
	}, func(v any, err error) {
		switch {
		case s.stopped:
		case err != nil:
			w.after(s.c.p, 50*time.Millisecond, func() {
				if !s.stopped {
					s.send(body)
				}
			})
		default:
			s.c.submit(func(next func()) { s.c.answered(s.o, s.broker, body, v.(kmsg.Response), next) })
			s.busy = false
			s.pump()
		}
	})
}

// answered is Controller.answered.
func (c *controller) answered(o *office, from metadata.Broker, req kmsg.Request, resp kmsg.Response, next func()) {
	if c.office != o {
		next()
		return
	}
	switch r := resp.(type) {
	case *kmsg.LeaderAndISRResponse:
		if r.ErrorCode == kerr.StaleControllerEpoch.Code {
			c.check(next)
			return
		}
		o.state.LeaderAndISRAnswered(from, r)
	case *kmsg.StopReplicaResponse:
		if r.ErrorCode == kerr.StaleControllerEpoch.Code {
			c.check(next)
			return
		}
		o.state.StopReplicaAnswered(from.ID, req.(*kmsg.StopReplicaRequest), r)
	}
	c.drain(o, next)
}
