package replication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/goleak"

	"jackdaw/internal/run"
	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 is the partition that most tests use.
var t0 = metadata.TopicPartition{Topic: "t", Partition: 0}

// cluster is a handful of brokers' replication in one process: real logs on vfs.Mem, links that encode and decode every
// request, and a controller that the test plays. Run it in a synctest bubble.
type cluster struct {
	t   *testing.T
	mu  sync.Mutex // guards what follows
	cfg log.Config
	// changed edits the Config of a node before it starts.
	change func(*Config)
	nodes  map[metadata.BrokerID]*node
	states map[metadata.TopicPartition]PartitionState
	cut    map[[2]metadata.BrokerID]bool
	// refuse, if set, is what the controller answers to proposals.
	refuse func(Proposal) error
	epochs int64
	image  *metadata.Image
	// delay, if set, is how long a message is on its way.
	delay func() time.Duration
}

// node is one broker.
type node struct {
	c       *cluster
	id      metadata.BrokerID
	fs      *vfs.Mem
	logs    *log.Manager
	m       *ReplicaManager
	group   *run.Group
	epoch   int64
	changes []LeadershipChange // of OnLeadership
}

func newCluster(t *testing.T, n int, change func(*Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, cfg: log.DefaultConfig(), change: change, nodes: map[metadata.BrokerID]*node{},
		states: map[metadata.TopicPartition]PartitionState{}, cut: map[[2]metadata.BrokerID]bool{}, image: metadata.NewImage(),
	}
	c.cfg.IndexBytes = 4096
	for id := range n {
		c.nodes[metadata.BrokerID(id+1)] = &node{c: c, id: metadata.BrokerID(id + 1), fs: vfs.NewMem(nil)}
	}
	for _, nd := range c.nodes {
		nd.start()
	}
	c.publish()
	return c
}

// stop ends all that runs; the bubble needs it.
func (c *cluster) stop() {
	for _, nd := range c.nodes {
		if nd.m != nil {
			nd.shutdown()
		}
	}
}

func (nd *node) start() {
	nd.c.t.Helper()
	nd.c.epochs++
	nd.epoch = nd.c.epochs
	nd.logs = log.NewManager(log.Options{FS: nd.fs, Dirs: []string{dirA, dirB}, Config: func(string) log.Config {
		nd.c.mu.Lock()
		defer nd.c.mu.Unlock()
		return nd.c.cfg
	}})
	if err := nd.logs.Open(nd.c.t.Context()); err != nil {
		nd.c.t.Fatal(err)
	}
	cfg := Config{
		BrokerID: nd.id, Rack: fmt.Sprintf("rack%d", nd.id), Logs: nd.logs, ISR: nd, Dial: nd.dial, Image: nd.c.currentImage,
		BrokerEpoch: func() int64 { return nd.epoch }, Logger: slog.New(slog.DiscardHandler),
		OnLeadership: func(ch []LeadershipChange) { nd.changes = append(nd.changes, ch...) },
	}
	if nd.c.change != nil {
		nd.c.change(&cfg)
	}
	nd.setManager(New(cfg))
	nd.group = run.New(nd.c.t.Context(), nil)
	nd.group.Go("replicas", nd.m.Run)
}

// shutdown stops the broker cleanly, without the controller.
func (nd *node) shutdown() {
	nd.c.t.Helper()
	if err := nd.m.Close(nd.c.t.Context()); err != nil {
		nd.c.t.Error(err)
	}
	nd.group.Stop()
	if err := nd.logs.Close(nd.c.t.Context()); err != nil {
		nd.c.t.Error(err)
	}
	nd.setManager(nil)
}

// setManager makes the broker reachable, or not.
func (nd *node) setManager(m *ReplicaManager) {
	nd.c.mu.Lock()
	defer nd.c.mu.Unlock()
	nd.m = m
}

// kill ends the broker as SIGKILL would: its disk is what it had written.
func (nd *node) kill() {
	nd.c.t.Helper()
	disk := nd.fs.KillClone()
	nd.m.StopFetchers(nd.c.t.Context())
	nd.group.Stop()
	if err := nd.logs.Close(nd.c.t.Context()); err != nil {
		nd.c.t.Error(err)
	}
	nd.setManager(nil)
	nd.fs = disk
	nd.c.publish()
}

// restart brings a broker that is down back, and has the controller tell it all.
func (nd *node) restart() {
	nd.c.t.Helper()
	nd.start()
	nd.c.publish()
	nd.c.tell(nd)
}

func (c *cluster) currentImage() *metadata.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.image
}

// publish is UpdateMetadata to all: who is alive, and all partitions.
func (c *cluster) publish() {
	u := metadata.Update{Controller: 1}
	for id, nd := range c.nodes {
		if nd.m != nil {
			u.Brokers = append(u.Brokers, metadata.Broker{ID: id, Epoch: -1, Rack: fmt.Sprintf("rack%d", id)})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for tp, s := range c.states {
		u.Topics = append(u.Topics, metadata.Topic{Name: tp.Topic, ID: s.TopicID, Partitions: map[int32]metadata.Partition{
			tp.Partition: {LeaderAndISR: s.LeaderAndISR, Replicas: s.Replicas},
		}})
	}
	c.image = c.image.Apply(u)
}

// create makes a partition; the first replica leads.
func (c *cluster) create(tp metadata.TopicPartition, replicas ...metadata.BrokerID) {
	c.t.Helper()
	s := PartitionState{TP: tp, TopicID: metadata.TopicID{1, byte(len(tp.Topic))}, Replicas: replicas, IsNew: true}
	copy(s.TopicID[2:], tp.Topic)
	s.Leader, s.ISR = replicas[0], replicas
	c.mu.Lock()
	c.states[tp] = s
	c.mu.Unlock()
	c.publish()
	c.tellAll()
}

// elect makes a new leader in a new epoch, uncleanly if recovery is Recovering.
func (c *cluster) elect(tp metadata.TopicPartition, leader metadata.BrokerID, isr []metadata.BrokerID, recovery metadata.RecoveryState) {
	c.t.Helper()
	c.mu.Lock()
	s := c.states[tp]
	s.Leader, s.ISR, s.Recovery, s.IsNew = leader, isr, recovery, false
	s.LeaderEpoch++
	s.PartitionEpoch++
	c.states[tp] = s
	c.mu.Unlock()
	c.publish()
	c.tellAll()
}

func (c *cluster) tellAll() {
	for _, id := range c.ids() {
		if nd := c.nodes[id]; nd.m != nil {
			c.tell(nd)
		}
	}
}

func (c *cluster) ids() []metadata.BrokerID {
	var ids []metadata.BrokerID
	for id := range c.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// tell sends LeaderAndIsr for all partitions of a broker.
func (c *cluster) tell(nd *node) {
	c.t.Helper()
	var states []PartitionState
	c.mu.Lock()
	for _, s := range c.states {
		if slices.Contains(s.Replicas, nd.id) {
			states = append(states, s)
		}
	}
	c.mu.Unlock()
	errs, err := nd.m.ApplyLeaderAndISR(1, 1, states)
	if err != nil {
		c.t.Fatal(err)
	}
	for tp, err := range errs {
		if err != nil {
			c.t.Errorf("LeaderAndIsr to %d for %s: %v", nd.id, tp, err)
		}
	}
}

// state returns what the controller has.
func (c *cluster) state(tp metadata.TopicPartition) PartitionState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[tp]
}

// Propose implements ISRStore: the controller's AlterPartition.
func (nd *node) Propose(p Proposal, done func(metadata.LeaderAndISR, error)) {
	nd.group.Go("controller", func(context.Context) error {
		s, err := nd.c.alter(nd.id, p)
		done(s, err)
		if err == nil {
			nd.c.publish()
		}
		return nil
	})
}

func (c *cluster) alter(from metadata.BrokerID, p Proposal) (metadata.LeaderAndISR, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[p.TP]
	if c.refuse != nil {
		if err := c.refuse(p); err != nil {
			return metadata.LeaderAndISR{}, err
		}
	}
	switch {
	case s.Leader != from || s.LeaderEpoch != p.State.LeaderEpoch:
		return metadata.LeaderAndISR{}, kerr.FencedLeaderEpoch
	case slices.Equal(s.ISR, p.State.ISR):
		return s.LeaderAndISR, nil
	case s.PartitionEpoch != p.State.PartitionEpoch:
		return metadata.LeaderAndISR{}, kerr.InvalidUpdateVersion
	}
	for i, id := range p.State.ISR {
		if c.nodes[id].m == nil || p.BrokerEpochs[i] >= 0 && p.BrokerEpochs[i] != c.nodes[id].epoch {
			return metadata.LeaderAndISR{}, kerr.IneligibleReplica
		}
	}
	s.ISR = p.State.ISR
	s.Recovery = metadata.Recovered
	s.PartitionEpoch++
	c.states[p.TP] = s
	return s.LeaderAndISR, nil
}

// setCut cuts or mends the link between two brokers.
func (c *cluster) setCut(a, b metadata.BrokerID, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[[2]metadata.BrokerID{a, b}], c.cut[[2]metadata.BrokerID{b, a}] = cut, cut
}

func (c *cluster) target(from, to metadata.BrokerID) (*ReplicaManager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nd := c.nodes[to]
	if nd == nil || nd.m == nil || c.cut[[2]metadata.BrokerID{from, to}] {
		return nil, errors.New("connection refused")
	}
	return nd.m, nil
}

// batch builds a batch of records with these values.
func batch(values ...string) []byte {
	b := record.NewBuilder(record.None, record.BuilderOptions{})
	for _, v := range values {
		b.Append(1_700_000_000_000, nil, []byte(v), nil)
	}
	return b.Build()
}

// produce appends a batch and returns the answer, or nil if there is none yet.
func (nd *node) produce(tp metadata.TopicPartition, acks int16, values ...string) *pendingAppend {
	return nd.append(AppendRequest{Acks: acks, Timeout: 10 * time.Second, Entries: []AppendEntry{{TP: tp, Records: batch(values...)}}})
}

func (nd *node) append(req AppendRequest) *pendingAppend {
	w := &pendingAppend{t: nd.c.t}
	nd.m.Append(req, w.done)
	return w
}

// pendingAppend is an append whose answer may be outstanding.
type pendingAppend struct {
	t  *testing.T
	mu sync.Mutex
	r  []AppendResult
}

func (w *pendingAppend) done(r []AppendResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r != nil {
		w.t.Error("answered twice")
	}
	w.r = slices.Clone(r)
}

func (w *pendingAppend) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r != nil
}

// want checks the error of the only entry, nil included.
func (w *pendingAppend) want(err error) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r == nil {
		w.t.Fatalf("no answer, want %v", err)
	}
	if got := w.r[0].Err; !errors.Is(got, err) {
		w.t.Fatalf("got %v, want %v", got, err)
	}
}

// partition returns the hosted partition.
func (nd *node) partition(tp metadata.TopicPartition) *Partition {
	nd.c.t.Helper()
	p, err := nd.m.Partition(tp)
	if err != nil {
		nd.c.t.Fatal(err)
	}
	return p
}

// values reads all records below upTo.
func (nd *node) values(tp metadata.TopicPartition) []string {
	nd.c.t.Helper()
	l := nd.partition(tp).Log()
	var out []string
	for off := l.StartOffset(); off < l.EndOffset(); {
		r, err := l.Read(off, 1<<20, l.EndOffset(), true)
		if err != nil {
			nd.c.t.Fatal(err)
		}
		data, err := r.ReadAll(nil)
		r.Release()
		if err != nil {
			nd.c.t.Fatal(err)
		}
		for len(data) > 0 {
			b, rest, err := record.Next(data)
			if err != nil {
				nd.c.t.Fatal(err)
			}
			for rec, err := range b.Records(nil) {
				if err != nil {
					nd.c.t.Fatal(err)
				}
				out = append(out, string(rec.Value))
			}
			off, data = b.NextOffset(), rest
		}
	}
	return out
}

// wantSame checks that all replicas hold the same bytes, and returns the values.
func (c *cluster) wantSame(tp metadata.TopicPartition, ids ...metadata.BrokerID) []string {
	c.t.Helper()
	var first []byte
	for i, id := range ids {
		l := c.nodes[id].partition(tp).Log()
		r, err := l.Read(l.StartOffset(), 1<<24, l.EndOffset(), true)
		if err != nil {
			c.t.Fatal(err)
		}
		data, err := r.ReadAll(nil)
		r.Release()
		if err != nil {
			c.t.Fatal(err)
		}
		if i == 0 {
			first = data
		} else if !bytes.Equal(first, data) {
			c.t.Fatalf("replicas %d and %d differ: %q and %q", ids[0], id, c.nodes[ids[0]].values(tp), c.nodes[id].values(tp))
		}
	}
	return c.nodes[ids[0]].values(tp)
}

// wantHW checks the high watermark of one replica.
func (nd *node) wantHW(tp metadata.TopicPartition, want int64) {
	nd.c.t.Helper()
	if got := nd.partition(tp).Log().HighWatermark(); got != want {
		nd.c.t.Fatalf("broker %d: hw %d, want %d", nd.id, got, want)
	}
}

// wantISR checks what the controller has.
func (c *cluster) wantISR(tp metadata.TopicPartition, want ...metadata.BrokerID) {
	c.t.Helper()
	if got := c.state(tp).ISR; !slices.Equal(got, want) {
		c.t.Fatalf("isr %v, want %v", got, want)
	}
}

// newDisk is an empty file system.
func newDisk() *vfs.Mem { return vfs.NewMem(nil) }
