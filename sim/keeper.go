package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"jackdaw/metadata"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// keeper is ZooKeeper: a tree, and the sessions of the brokers. It never fails; what comes between it and a broker does.
type keeper struct {
	w        *world
	tree     *zktree.Tree
	sessions map[zktree.SessionID]*session
	last     zktree.SessionID
	// root is the session that makes the nodes that are there from the beginning, and stands for tools.
	root zktree.SessionID
	// topics has the ids of the topics that there are.
	topics map[string]metadata.TopicID
	// terms has who won each controller epoch.
	terms map[int32]zktree.SessionID
}

// session is a broker's view of its session.
type session struct {
	k  *keeper
	id zktree.SessionID
	p  *process
	// over is set once the broker knows that the session has ended.
	over bool
	// registered is set once the broker knows that it is.
	registered bool
}

func newKeeper(w *world) *keeper {
	k := &keeper{w: w, tree: zktree.New(), sessions: map[zktree.SessionID]*session{}, terms: map[int32]zktree.SessionID{}, topics: map[string]metadata.TopicID{}}
	k.root = k.open(24 * time.Hour)
	for _, path := range znode.PersistentPaths() {
		k.ensure(path)
	}
	k.apply(k.root, createOp(znode.ControllerEpochPath, znode.EncodeControllerEpoch(0), zktree.Persistent))
	return k
}

// ensure makes a persistent node and its parents.
func (k *keeper) ensure(path string) {
	if parent := znode.Parent(path); parent != "/" {
		k.ensure(parent)
	}
	k.apply(k.root, createOp(path, nil, zktree.Persistent))
}

// start begins to expire sessions.
func (k *keeper) start() {
	k.w.after(nil, 50*time.Millisecond, func() {
		k.expire()
		k.start()
	})
}

func (k *keeper) time() time.Time { return epoch.Add(k.w.now) }

// open makes a session.
func (k *keeper) open(timeout time.Duration) zktree.SessionID {
	k.last++
	tx := zktree.Txn{Kind: zktree.KindOpenSession, Session: k.last, TimeoutMs: int32(timeout.Milliseconds()), TimeMs: k.time().UnixMilli()}
	k.notify(k.tree.Apply(&tx).Notices)
	k.tree.Touch(k.last, k.time())
	return k.last
}

// shut ends a session.
func (k *keeper) shut(id zktree.SessionID) {
	tx := zktree.Txn{Kind: zktree.KindCloseSession, Session: id, TimeMs: k.time().UnixMilli()}
	k.notify(k.tree.Apply(&tx).Notices)
}

// expire ends the sessions that nobody has kept alive.
func (k *keeper) expire() {
	ids := k.tree.Expired(k.time())
	slices.Sort(ids)
	for _, id := range ids {
		if id == k.root {
			k.tree.Touch(id, k.time())
			continue
		}
		k.w.note("session %d expires", id)
		k.w.result.Expiries++
		k.shut(id)
	}
}

// apply runs operations, all or none.
func (k *keeper) apply(id zktree.SessionID, ops ...zktree.Op) zktree.Outcome {
	tx := zktree.Txn{Kind: zktree.KindOps, Session: id, Ops: ops, TimeMs: k.time().UnixMilli()}
	before := k.epoch()
	out := k.tree.Apply(&tx)
	if out.Changed {
		k.judge(id, before, ops)
	}
	k.notify(out.Notices)
	return out
}

// epoch is the controller epoch.
func (k *keeper) epoch() int32 {
	data, _, _ := k.tree.Data(znode.ControllerEpochPath)
	e, err := znode.DecodeControllerEpoch(data)
	if err != nil {
		return 0
	}
	return e
}

// judge checks what was written: one controller for each epoch, and no state by one that was deposed.
func (k *keeper) judge(id zktree.SessionID, before int32, ops []zktree.Op) {
	if now := k.epoch(); now != before {
		if other, taken := k.terms[now]; taken || now != before+1 {
			k.w.violate("controller epoch %d after %d, won by sessions %d and %d", now, before, other, id)
		}
		k.terms[now] = id
		k.w.result.Terms++
	}
	for _, op := range ops {
		topic, below := strings.CutPrefix(op.Path, znode.TopicsPath+"/")
		switch {
		case !below || op.Type == zktree.OpCheck:
		case !strings.Contains(topic, "/"):
			k.judgeTopic(topic, op)
		case strings.HasSuffix(op.Path, "/state") && op.Type != zktree.OpDelete:
			k.judgeState(topic, op)
		}
	}
}

// judgeTopic takes note of a topic that came or went.
func (k *keeper) judgeTopic(topic string, op zktree.Op) {
	delete(k.topics, topic)
	if op.Type == zktree.OpDelete {
		return
	}
	t, err := znode.DecodeTopicAssignment(op.Data)
	if err != nil {
		k.w.violate("topic %s: %v", topic, err)
		return
	}
	k.topics[topic] = t.TopicID
}

// judgeState checks who wrote the state of a partition.
func (k *keeper) judgeState(path string, op zktree.Op) {
	s, err := znode.DecodePartitionState(op.Data, op.Version)
	if err != nil {
		k.w.violate("state of %s: %v", path, err)
		return
	}
	k.w.note("zk %s leader=%d epoch=%d isr=%v controller=%d recovery=%d", path, s.Leader, s.LeaderEpoch, s.ISR, s.ControllerEpoch, s.Recovery)
	if s.ControllerEpoch != k.epoch() {
		k.w.violate("controller of epoch %d wrote %s in epoch %d", s.ControllerEpoch, path, k.epoch())
	}
	topic, rest, _ := strings.Cut(path, "/")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(rest, "partitions/"), "/state"))
	if err != nil {
		k.w.violate("path of a state: %s", path)
		return
	}
	k.w.oracle.touchName(name{metadata.TopicPartition{Topic: topic, Partition: int32(n)}, k.topics[topic]})
}

// notify sends watch events. They are late while the link is cut, but not lost.
func (k *keeper) notify(list []zktree.Notice) {
	for _, n := range list {
		if s := k.sessions[zktree.SessionID(n.Watcher)]; s != nil {
			k.tell(s, n.Path)
		}
	}
}

func (k *keeper) tell(s *session, path string) {
	k.w.after(s.p, k.delay(), func() {
		switch {
		case s.over:
		case k.w.cut[link{keeperID, s.p.id}]:
			k.tell(s, path)
		default:
			s.p.ctl.noticed(path)
		}
	})
}

// delay draws the time of a message from or to ZooKeeper.
func (k *keeper) delay() time.Duration {
	switch n := k.w.rng.IntN(100); {
	case k.w.calm || n < 85:
		return k.w.between(50*time.Microsecond, 2*time.Millisecond)
	case n < 98:
		return k.w.between(2*time.Millisecond, 50*time.Millisecond)
	default:
		return k.w.between(50*time.Millisecond, 400*time.Millisecond)
	}
}

// state reads the state node of a partition.
func (k *keeper) state(tp metadata.TopicPartition) (metadata.LeaderAndISR, bool) {
	data, stat, code := k.tree.Data(znode.StatePath(tp))
	if code != zktree.OK {
		return metadata.LeaderAndISR{}, false
	}
	s, err := znode.DecodePartitionState(data, stat.Version)
	return s, err == nil
}

// connect opens a session for a process and tells it.
func (k *keeper) connect(p *process) {
	k.w.after(nil, k.delay(), func() {
		if p.dead {
			return
		}
		if k.w.cut[link{p.id, keeperID}] {
			k.w.after(p, 20*time.Millisecond, func() { k.connect(p) })
			return
		}
		s := &session{k: k, id: k.open(k.w.plan.session), p: p}
		k.sessions[s.id] = s
		k.w.after(p, k.delay(), func() { p.sessionStarted(s) })
	})
}

// beat keeps the session alive as long as the process lives and the link holds.
func (s *session) beat() {
	w := s.k.w
	w.after(s.p, w.plan.session/4, func() {
		if s.over {
			return
		}
		if !w.cut[link{s.p.id, keeperID}] {
			w.after(nil, s.k.delay(), func() {
				switch {
				case !s.k.tree.Touch(s.id, s.k.time()):
					w.after(s.p, s.k.delay(), s.expired)
				case s.registered && !s.owns(znode.BrokerPath(s.p.id)):
					w.after(s.p, s.k.delay(), s.giveUp)
				}
			})
		}
		s.beat()
	})
}

func (s *session) owns(path string) bool {
	stat, code := s.k.tree.Exists(path)
	return code == zktree.OK && stat.EphemeralOwner == s.id
}

// giveUp is zkstore.Session.guard: a session whose registration is gone is given up for another.
func (s *session) giveUp() {
	if !s.over {
		s.p.note("has lost its registration")
		s.k.w.after(nil, s.k.delay(), func() { s.k.shut(s.id) })
		s.expired()
	}
}

// expired tells the process, once.
func (s *session) expired() {
	if s.over {
		return
	}
	s.over = true
	s.k.tree.Forget(zktree.WatcherID(s.id))
	s.p.sessionExpired(s)
}

// do executes op at ZooKeeper and passes on its result. When the answer is lost, op is executed again on the next
// connection, as the client in zkstore does. done is not called when the session has expired: then the process is told.
func (s *session) do(op func() any, done func(any)) {
	if s.over {
		return
	}
	w := s.k.w
	again := func() {
		w.after(s.p, w.between(5*time.Millisecond, 40*time.Millisecond), func() { s.do(op, done) })
	}
	w.after(nil, s.k.delay(), func() {
		if w.cut[link{s.p.id, keeperID}] {
			again()
			return
		}
		if !s.k.tree.Touch(s.id, s.k.time()) {
			w.after(s.p, s.k.delay(), s.expired)
			return
		}
		v := op()
		if w.cut[link{keeperID, s.p.id}] || w.chance(40) {
			again()
			return
		}
		w.after(s.p, s.k.delay(), func() {
			if !s.over {
				done(v)
			}
		})
	})
}

// apply runs operations in this session.
func (s *session) apply(ops ...zktree.Op) zktree.Outcome { return s.k.apply(s.id, ops...) }

// watchData reads a node and watches it, also when it is not there.
func (s *session) watchData(path string) ([]byte, bool) {
	s.k.tree.Watch(path, zktree.WatchData, zktree.WatcherID(s.id))
	data, _, code := s.k.tree.Data(path)
	return data, code == zktree.OK
}

// watchChildren lists children and watches for more.
func (s *session) watchChildren(path string) []string {
	s.k.tree.Watch(path, zktree.WatchChildren, zktree.WatcherID(s.id))
	names, _, _ := s.k.tree.Children(path)
	return names
}

func createOp(path string, data []byte, mode zktree.Mode) zktree.Op {
	return zktree.Op{Type: zktree.OpCreate, Path: path, Data: data, Mode: mode, ACL: zktree.OpenACL()}
}

func setOp(path string, data []byte, version int32) zktree.Op {
	return zktree.Op{Type: zktree.OpSetData, Path: path, Data: data, Version: version}
}

func deleteOp(path string, version int32) zktree.Op {
	return zktree.Op{Type: zktree.OpDelete, Path: path, Version: version}
}

func checkOp(path string, version int32) zktree.Op {
	return zktree.Op{Type: zktree.OpCheck, Path: path, Version: version}
}
