package sim

import (
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// dataDir is the log directory of every broker.
const dataDir = "/data"

// host is a machine: a disk, and the broker process that runs or does not.
type host struct {
	w     *world
	id    metadata.BrokerID
	disk  *vfs.Mem
	proc  *process
	lives int
	// power tells that the last life ended with a power cut.
	power bool
}

func newHost(w *world, id metadata.BrokerID) *host {
	h := &host{w: w, id: id, disk: vfs.NewMem(nil)}
	if err := h.disk.MkdirAll(dataDir); err != nil {
		w.violate("disk of %d: %v", id, err)
	}
	if err := h.disk.SyncDir("/"); err != nil {
		w.violate("disk of %d: %v", id, err)
	}
	return h
}

// process is one life of a broker.
type process struct {
	w    *world
	id   metadata.BrokerID
	life int
	dead bool
	// paused processes keep what reaches them in held.
	paused bool
	held   []*event
	// clock is how far this broker's clock is from the true one, and rate how fast it runs.
	clock time.Duration
	rate  float64

	logs     *log.Manager
	image    *metadata.Image
	settings map[string]settings
	session  *session
	// former are the earlier sessions of this process.
	former map[zktree.SessionID]bool
	// takesOver: the registration that an earlier life left is replaced at once, since it leads to this machine.
	takesOver   bool
	brokerEpoch int64
	// unregistered are requests of controllers that wait for the registration, of which they carry the epoch.
	unregistered []func()

	ctl             *controller
	proposer        *proposer
	controllerEpoch int32
	// orderEpoch and orderConn are the fields of controlOrder.
	orderEpoch int32
	orderConn  int64
	marks      map[metadata.TopicPartition]int64
	parts      map[metadata.TopicPartition]*partition
	removed    map[metadata.TopicPartition]removal
	// stopping is set while a controlled shutdown runs.
	stopping bool
}

// settings are what the broker heard of a topic's configuration.
type settings struct {
	minISR  int32
	unclean bool
}

// boot starts the broker, if it is down.
func (h *host) boot() {
	if h.proc != nil {
		return
	}
	w := h.w
	h.lives++
	p := &process{
		w: w, id: h.id, life: h.lives, image: metadata.NewImage(), settings: map[string]settings{}, former: map[zktree.SessionID]bool{},
		brokerEpoch: -1, clock: w.between(-5*time.Second, 5*time.Second), rate: 1 + float64(w.rng.IntN(41)-20)/1000, takesOver: w.rng.IntN(2) == 0,
		parts: map[metadata.TopicPartition]*partition{}, removed: map[metadata.TopicPartition]removal{},
	}
	p.ctl = &controller{p: p, topics: map[string]bool{}}
	p.proposer = &proposer{p: p, pending: map[metadata.TopicPartition]*proposal{}}
	p.logs = log.NewManager(log.Options{
		FS: h.disk, Dirs: []string{dataDir}, Config: p.logConfig, BrokerID: int32(h.id), Now: p.now, Logger: slog.New(slog.DiscardHandler),
	})
	if err := p.logs.Open(w.ctx); err != nil {
		w.violate("broker %d cannot open its logs: %v", h.id, err)
		return
	}
	h.proc = p
	p.note("starts, clock %v off at rate %.3f", p.clock, p.rate)
	w.oracle.opened(p)
	w.keeper.connect(p)
	p.everyTick()
	p.everyCheckpoint()
}

// now is what this broker's clock shows.
func (p *process) now() time.Time {
	return epoch.Add(p.clock + time.Duration(float64(p.w.now)*p.rate))
}

// logConfig is the configuration of a topic as this broker knows it.
func (p *process) logConfig(topic string) log.Config {
	s, ok := p.settings[topic]
	if !ok {
		s = p.w.admin.settings(topic)
		p.settings[topic] = s
	}
	c := log.DefaultConfig()
	c.MinInsyncReplicas, c.UncleanElection = s.minISR, s.unclean
	c.SegmentBytes, c.IndexBytes, c.RetentionAge = p.w.plan.segmentBytes, 256, log.Unlimited
	if p.w.plan.fsync {
		c.FlushMessages = 1
	}
	return c
}

// learn takes over a changed configuration.
func (p *process) learn(topic string, s settings) {
	p.settings[topic] = s
	p.logs.UpdateConfig(topic)
	if s.unclean {
		p.ctl.electMissing()
	}
}

// die ends the process where it stands.
func (h *host) die() {
	p := h.proc
	p.dead = true
	h.proc = nil
	if p.session != nil {
		h.w.keeper.tree.Forget(zktree.WatcherID(p.session.id))
	}
}

// crash kills the process: what it wrote is there, synced or not.
func (h *host) crash() {
	h.proc.note("is killed")
	h.w.result.Crashes++
	h.die()
	h.disk = h.disk.KillClone()
	h.sweep()
}

// cutPower ends the process and loses what was not synced, or keeps some of it.
func (h *host) cutPower() {
	h.proc.note("loses power")
	h.w.result.PowerCuts++
	h.die()
	h.disk = h.disk.CrashClone(func(_ string, synced, current []byte) []byte {
		switch h.w.rng.IntN(3) {
		case 0:
			return synced
		case 1:
			return current
		}
		if len(current) > len(synced) {
			return current[:len(synced)+h.w.rng.IntN(len(current)-len(synced)+1)]
		}
		return synced
	})
	h.sweep()
}

// sweep removes what a running broker would have removed after file.delete.delay.ms.
func (h *host) sweep() {
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := h.disk.ReadDir(dir)
		if err != nil {
			h.w.violate("disk of %d: %v", h.id, err)
			return
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name)
			switch {
			case strings.HasSuffix(e.Name, "-delete"), strings.HasSuffix(e.Name, ".deleted"):
				if err := h.disk.RemoveAll(name); err != nil {
					h.w.violate("disk of %d: %v", h.id, err)
				}
			case e.Dir:
				walk(name)
			}
		}
		if err := h.disk.SyncDir(dir); err != nil {
			h.w.violate("disk of %d: %v", h.id, err)
		}
	}
	walk(dataDir)
}

// stop ends the process cleanly: the last steps of a controlled shutdown.
func (h *host) stop() {
	p := h.proc
	p.note("stops cleanly")
	p.checkpointHW()
	if err := p.logs.Close(h.w.ctx); err != nil {
		h.w.violate("broker %d cannot close its logs: %v", h.id, err)
	}
	if p.session != nil && !p.session.over {
		h.w.keeper.shut(p.session.id)
	}
	h.die()
	h.disk = h.disk.KillClone()
	h.sweep()
}

// pause stops the process as SIGSTOP does.
func (h *host) pause() {
	h.proc.note("is paused")
	h.w.result.Pauses++
	h.proc.paused = true
}

// resume lets it go on: what came meanwhile is done now, in no order between connections.
func (h *host) resume(p *process) {
	if p.dead || !p.paused {
		return
	}
	p.note("goes on with %d events", len(p.held))
	p.paused = false
	for _, e := range p.held {
		if !e.off {
			h.w.post(p, h.w.between(0, 2*time.Millisecond), func() {
				if !e.off {
					e.run()
				}
			}, e.lost)
		}
	}
	p.held = nil
}

// recover brings the broker up for good.
func (h *host) recover() {
	if p := h.proc; p != nil && p.stopping {
		h.stop()
	}
	if h.proc == nil {
		h.w.after(nil, h.w.between(0, 100*time.Millisecond), h.boot)
		return
	}
	h.resume(h.proc)
}

// discard lets go of the files at the end of a run.
func (h *host) discard() {
	if h.proc != nil {
		_ = h.proc.logs.Close(h.w.ctx) // nothing is read afterwards
	}
}

// everyTick looks for lagging followers, as the manager's tick loop does.
func (p *process) everyTick() {
	p.w.after(p, p.w.plan.lagMax/2, func() {
		for _, part := range p.sorted() {
			part.tick()
		}
		p.everyTick()
	})
}

func (p *process) everyCheckpoint() {
	p.w.after(p, 700*time.Millisecond, func() {
		p.checkpointHW()
		p.everyCheckpoint()
	})
}

// sorted are the hosted partitions in a fixed order.
func (p *process) sorted() []*partition {
	keys := slices.SortedFunc(maps.Keys(p.parts), metadata.TopicPartition.Compare)
	out := make([]*partition, len(keys))
	for i, tp := range keys {
		out[i] = p.parts[tp]
	}
	return out
}

// checkpointHW is ReplicaManager.CheckpointHW.
func (p *process) checkpointHW() {
	if p.marks == nil {
		return
	}
	marks := maps.Clone(p.marks)
	maps.DeleteFunc(marks, func(tp metadata.TopicPartition, _ int64) bool {
		_, onDisk := p.logs.Get(tp)
		return !onDisk
	})
	for tp, part := range p.parts {
		if part.log != nil {
			marks[tp] = part.log.HighWatermark()
		}
	}
	if err := p.logs.WriteHWCheckpoints(marks); err != nil {
		p.w.violate("broker %d: high watermarks: %v", p.id, err)
	}
}

// loadMarks is ReplicaManager.loadHWCheckpoints.
func (p *process) loadMarks() {
	if p.marks != nil {
		return
	}
	marks, wrong := p.logs.ReadHWCheckpoints()
	for tp, hw := range marks {
		if l, ok := p.logs.Get(tp); ok && l.EndOffset() < hw {
			marks[tp], wrong = l.EndOffset(), true
		}
	}
	p.marks = marks
	if wrong {
		p.checkpointHW()
	}
}

// sessionStarted registers the broker and lets it stand for controller.
func (p *process) sessionStarted(s *session) {
	p.session = s
	s.beat()
	p.register(s)
}

// sessionExpired drops what belongs to the session and opens the next one.
func (p *process) sessionExpired(s *session) {
	p.note("hears that session %d has expired", s.id)
	p.former[s.id] = true
	p.session = nil
	p.ctl.expired()
	p.w.keeper.connect(p)
}

// register is zkstore.Session.RegisterBroker.
func (p *process) register(s *session) {
	type outcome struct {
		epoch int64
		ok    bool
	}
	nodePath := znode.BrokerPath(p.id)
	info := znode.BrokerInfo{Broker: metadata.Broker{ID: p.id, Endpoints: endpoints(p.id)}, JMXPort: -1}
	s.do(func() any {
		if stat, code := s.k.tree.Exists(nodePath); code == zktree.OK {
			switch {
			case stat.EphemeralOwner == s.id:
				return outcome{stat.CZxid, true}
			case p.former[stat.EphemeralOwner] || p.takesOver:
				s.apply(deleteOp(nodePath, zktree.AnyVersion))
			default:
				return outcome{}
			}
		}
		out := s.apply(createOp(nodePath, info.Encode(), zktree.Ephemeral))
		if out.Code != zktree.OK {
			return outcome{}
		}
		return outcome{out.Results[0].Stat.CZxid, true}
	}, func(v any) {
		o := v.(outcome)
		if !o.ok {
			p.w.after(p, 50*time.Millisecond, func() { p.register(s) })
			return
		}
		p.note("is registered, broker epoch %d", o.epoch)
		p.brokerEpoch = o.epoch
		for _, f := range p.unregistered {
			f()
		}
		p.unregistered = nil
		s.registered = true
		p.ctl.sessionStarted(s)
	})
}

func endpoints(id metadata.BrokerID) []metadata.Endpoint {
	return []metadata.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: fmt.Sprintf("b%d", id), Port: 9092}}
}

// serve executes a request of a controller, once this broker knows its epoch: broker.control. What comes by an older
// connection than others before is not answered: controlOrder.
func (p *process) serve(conn int64, req kmsg.Request, answer func(any)) {
	if p.brokerEpoch < 0 {
		p.unregistered = append(p.unregistered, func() { p.serve(conn, req, answer) })
		return
	}
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		if p.inOrder(r.ControllerEpoch, conn) {
			answer(p.leaderAndISR(r))
		}
	case *kmsg.UpdateMetadataRequest:
		if p.inOrder(r.ControllerEpoch, conn) {
			answer(p.updateMetadata(r))
		}
	case *kmsg.StopReplicaRequest:
		if p.inOrder(r.ControllerEpoch, conn) {
			answer(p.stopReplica(r))
		}
	}
}

// inOrder is controlOrder.begin.
func (p *process) inOrder(epoch int32, conn int64) bool {
	if epoch == p.orderEpoch && conn < p.orderConn {
		return p.w.o.broken.controlOrder
	}
	if epoch >= p.orderEpoch {
		p.orderEpoch, p.orderConn = epoch, conn
	}
	return true
}

// refused checks the epochs that every request of a controller carries.
func (p *process) refused(brokerEpoch int64, controllerEpoch int32) int16 {
	switch {
	case brokerEpoch >= 0 && brokerEpoch < p.brokerEpoch:
		return kerr.StaleBrokerEpoch.Code
	case controllerEpoch < p.controllerEpoch:
		return kerr.StaleControllerEpoch.Code
	}
	p.controllerEpoch = controllerEpoch
	return 0
}

// leaderAndISR is broker.handleLeaderAndISR with ReplicaManager.ApplyLeaderAndISR.
func (p *process) leaderAndISR(r *kmsg.LeaderAndISRRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.LeaderAndISRResponse)
	if resp.ErrorCode = p.refused(r.BrokerEpoch, r.ControllerEpoch); resp.ErrorCode != 0 {
		return resp
	}
	p.loadMarks()
	for i := range r.TopicStates {
		t := &r.TopicStates[i]
		topic := kmsg.NewLeaderAndISRResponseTopic()
		topic.TopicID = t.TopicID
		for j := range t.PartitionStates {
			s := &t.PartitionStates[j]
			out := kmsg.NewLeaderAndISRResponseTopicPartition()
			out.Partition = s.Partition
			out.ErrorCode = codeOf(p.apply(metadata.TopicPartition{Topic: t.Topic, Partition: s.Partition}, t.TopicID, stateOf(s)))
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func stateOf(s *kmsg.LeaderAndISRRequestTopicPartition) isr.State {
	return isr.State{
		LeaderAndISR: metadata.LeaderAndISR{
			ControllerEpoch: s.ControllerEpoch, Leader: metadata.BrokerID(s.Leader), LeaderEpoch: metadata.LeaderEpoch(s.LeaderEpoch),
			ISR: ids(s.ISR), Recovery: metadata.RecoveryState(s.LeaderRecoveryState), PartitionEpoch: s.ZKVersion,
		},
		Replicas: ids(s.Replicas), Adding: ids(s.AddingReplicas),
	}
}

func ids(list []int32) []metadata.BrokerID {
	out := make([]metadata.BrokerID, len(list))
	for i, id := range list {
		out[i] = metadata.BrokerID(id)
	}
	return out
}

// updateMetadata is broker.handleUpdateMetadata.
func (p *process) updateMetadata(r *kmsg.UpdateMetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.UpdateMetadataResponse)
	if resp.ErrorCode = p.refused(r.BrokerEpoch, r.ControllerEpoch); resp.ErrorCode != 0 {
		return resp
	}
	u := metadata.Update{Controller: metadata.BrokerID(r.ControllerID), ControllerEpoch: r.ControllerEpoch}
	for i := range r.LiveBrokers {
		u.Brokers = append(u.Brokers, metadata.Broker{ID: metadata.BrokerID(r.LiveBrokers[i].ID), Epoch: -1})
	}
	for i := range r.TopicStates {
		s := &r.TopicStates[i]
		t := metadata.Topic{Name: s.Topic, ID: s.TopicID, Partitions: map[int32]metadata.Partition{}}
		for j := range s.PartitionStates {
			ps := &s.PartitionStates[j]
			t.Partitions[ps.Partition] = metadata.Partition{
				LeaderAndISR: metadata.LeaderAndISR{
					ControllerEpoch: ps.ControllerEpoch, Leader: metadata.BrokerID(ps.Leader), LeaderEpoch: metadata.LeaderEpoch(ps.LeaderEpoch),
					ISR: ids(ps.ISR), PartitionEpoch: ps.ZKVersion,
				},
				Replicas: ids(ps.Replicas), Offline: ids(ps.OfflineReplicas),
			}
		}
		u.Topics = append(u.Topics, t)
	}
	p.image = p.image.Apply(u)
	return resp
}

// stopReplica is broker.handleStopReplica with ReplicaManager.StopReplicas.
func (p *process) stopReplica(r *kmsg.StopReplicaRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.StopReplicaResponse)
	if resp.ErrorCode = p.refused(r.BrokerEpoch, r.ControllerEpoch); resp.ErrorCode != 0 {
		return resp
	}
	deleted := false
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.PartitionStates {
			s := &t.PartitionStates[j]
			tp := metadata.TopicPartition{Topic: t.Topic, Partition: s.Partition}
			out := kmsg.NewStopReplicaResponsePartition()
			out.Topic, out.Partition = tp.Topic, tp.Partition
			out.ErrorCode = codeOf(p.stopPartition(tp, metadata.LeaderEpoch(s.LeaderEpoch), s.Delete))
			resp.Partitions = append(resp.Partitions, out)
			deleted = deleted || s.Delete
		}
	}
	if deleted {
		p.checkpointHW()
	}
	return resp
}

// codeOf is protocol.ErrorCode for what these shells answer.
func codeOf(err error) int16 {
	if err == nil {
		return 0
	}
	if ke := kafkaError(err); ke != nil {
		return ke.Code
	}
	return kerr.UnknownServerError.Code
}
