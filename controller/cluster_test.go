package controller_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"jackdaw/controller"
	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/protocol"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
	"jackdaw/zkstore/znode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 15 * time.Second

// cluster is an embedded ZooKeeper, and brokers that are a Controller and a listener which takes control requests.
type cluster struct {
	t      *testing.T
	zkAddr string
	// sessionTimeout is that of brokers started from now on.
	sessionTimeout time.Duration
	admin          *zkstore.Session
	nodes          map[metadata.BrokerID]*node
}

// node is one broker.
type node struct {
	*broker
	controller *controller.Controller
	client     *zkstore.Client
	stop       func()
	// crash ends the process, so to speak: nobody listens, nothing acts, but the session lives on.
	crash func()
}

func newCluster(t *testing.T, ids ...metadata.BrokerID) *cluster {
	t.Helper()
	server, err := zkserver.Open(zkserver.Options{Addr: "127.0.0.1:0", FS: vfs.NewMem(nil), Dir: "/zk", Tick: 200 * time.Millisecond})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Run(context.Background()) }()
	t.Cleanup(func() {
		must(t, server.Close())
		must(t, <-done)
	})
	c := &cluster{t: t, zkAddr: server.Addr(), sessionTimeout: 4 * time.Second, nodes: map[metadata.BrokerID]*node{}}
	client := c.newClient()
	must(t, client.Start(t.Context()))
	t.Cleanup(client.Close)
	c.admin = client.Session()
	must(t, c.admin.EnsurePersistentPaths(t.Context()))
	for _, id := range ids {
		c.start(id)
	}
	return c
}

func (c *cluster) newClient() *zkstore.Client {
	return zkstore.NewClient(zkstore.Config{Servers: []string{c.zkAddr}, SessionTimeout: c.sessionTimeout, MaxInFlight: 32})
}

// start starts a broker and waits until the controller knows it.
func (c *cluster) start(id metadata.BrokerID, options ...func(*controller.Config)) *node {
	c.t.Helper()
	n := &node{broker: listen(c.t, id), client: c.newClient()}
	cfg := controller.Config{
		BrokerID: id, InterBrokerListener: "PLAINTEXT", DeleteTopicEnable: true, ImbalancePercent: 10,
		RetryBackoff: 10 * time.Millisecond, Logger: testLogger(c.t), StateChange: testLogger(c.t),
		Dial: func(ctx context.Context, b metadata.Broker) (*peer.Conn, error) {
			e, _ := b.Endpoint("PLAINTEXT")
			return peer.Dial(ctx, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), peer.Options{ClientID: strconv.Itoa(int(id))})
		},
	}
	for _, o := range options {
		o(&cfg)
	}
	n.controller = controller.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- n.controller.Run(ctx) }()
	n.client.OnSession("registration", func(ctx context.Context, s *zkstore.Session) error {
		epoch, err := s.RegisterBroker(ctx, n.info())
		n.epoch.Store(epoch)
		return err
	}, nil)
	n.client.OnSession("controller", n.controller.SessionStarted, n.controller.SessionExpired)
	must(c.t, n.client.Start(c.t.Context()))
	n.crash = sync.OnceFunc(func() {
		cancel()
		must(c.t, <-ran)
		n.close()
	})
	n.stop = sync.OnceFunc(func() {
		n.client.Close()
		n.crash()
	})
	c.t.Cleanup(n.stop)
	c.nodes[id] = n
	c.await("broker to hear of itself", func() bool { return slices.Contains(n.live(), id) })
	return n
}

// kill ends a broker; its session is closed, as if it had expired.
func (c *cluster) kill(id metadata.BrokerID) {
	c.t.Helper()
	c.nodes[id].stop()
	delete(c.nodes, id)
}

// leader returns the active controller.
func (c *cluster) leader() *controller.Controller {
	c.t.Helper()
	var active *controller.Controller
	c.await("a controller", func() bool {
		for _, n := range c.nodes {
			if n.controller.Active() {
				active = n.controller
				return true
			}
		}
		return false
	})
	return active
}

// await polls until cond holds.
func (c *cluster) await(what string, cond func() bool) {
	c.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("no %s within %v\n%s", what, patience, c.dump())
		}
	}
}

// dump shows what the brokers were told last.
func (c *cluster) dump() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		n.mu.Lock()
		fmt.Fprintf(&b, "broker %d:\n", id)
		for _, l := range n.mu.log[max(0, len(n.mu.log)-30):] {
			fmt.Fprintf(&b, "  %s\n", l[:min(len(l), 300)])
		}
		n.mu.Unlock()
	}
	return b.String()
}

// state reads the state znode of a partition.
func (c *cluster) state(topic string, p int32) (metadata.LeaderAndISR, bool) {
	c.t.Helper()
	tp := metadata.TopicPartition{Topic: topic, Partition: p}
	got, err := c.admin.PartitionStates(c.t.Context(), []metadata.TopicPartition{tp})
	must(c.t, err)
	li, ok := got[tp]
	return li, ok
}

// assignment reads the topic znode.
func (c *cluster) assignment(topic string) zkstore.TopicNode {
	c.t.Helper()
	got, err := c.admin.TopicAssignments(c.t.Context(), []string{topic}, false)
	must(c.t, err)
	return got[topic]
}

// create creates a topic with a manual assignment and waits until all its replicas have heard of it.
func (c *cluster) create(name string, replicas ...[]metadata.BrokerID) {
	c.t.Helper()
	a := map[int32][]metadata.BrokerID{}
	for i, r := range replicas {
		a[int32(i)] = r
	}
	r := c.leader().CreateTopics(c.t.Context(), []controller.NewTopic{{Name: name, NumPartitions: -1, RF: -1, Assignment: a}}, false)
	must(c.t, r[0].Err)
	c.awaitKnown(name, a)
}

func (c *cluster) awaitKnown(name string, a map[int32][]metadata.BrokerID) {
	c.t.Helper()
	for p, replicas := range a {
		tp := metadata.TopicPartition{Topic: name, Partition: p}
		for _, id := range replicas {
			c.await(fmt.Sprintf("%s on broker %d", tp, id), func() bool {
				n := c.nodes[id]
				_, ok := n.partition(tp)
				return n == nil || ok
			})
		}
	}
}

// alter proposes an ISR as the leader of a partition would.
func (c *cluster) alter(topic string, p int32, isr ...metadata.BrokerID) *kmsg.AlterPartitionResponse {
	c.t.Helper()
	li, ok := c.state(topic, p)
	if !ok {
		c.t.Fatalf("%s-%d has no state", topic, p)
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	req.BrokerID = int32(li.Leader)
	req.BrokerEpoch = c.nodes[li.Leader].epoch.Load()
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = p, int32(li.LeaderEpoch), li.PartitionEpoch
	for _, id := range isr {
		m := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		m.BrokerID, m.BrokerEpoch = int32(id), -1
		rp.NewEpochISR = append(rp.NewEpochISR, m)
	}
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID = c.assignment(topic).TopicID
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return c.leader().AlterPartition(c.t.Context(), req)
}

func testLogger(t *testing.T) *slog.Logger {
	if os.Getenv("JACKDAW_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// broker is the receiving end of control requests.
type broker struct {
	id    metadata.BrokerID
	epoch atomic.Int64
	ln    net.Listener
	addr  *net.TCPAddr
	wg    sync.WaitGroup

	mu struct {
		sync.Mutex
		conns    map[net.Conn]struct{}
		alive    []metadata.BrokerID
		replicas map[metadata.TopicPartition]metadata.LeaderAndISR
		fresh    map[metadata.TopicPartition]bool
		leaders  map[metadata.TopicPartition]metadata.BrokerID
		failing  map[metadata.TopicPartition]bool
		deleted  []metadata.TopicPartition
		log      []string
		mute     bool
	}
}

func listen(t *testing.T, id metadata.BrokerID) *broker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	b := &broker{id: id, ln: ln, addr: ln.Addr().(*net.TCPAddr)}
	b.mu.conns = map[net.Conn]struct{}{}
	b.mu.replicas = map[metadata.TopicPartition]metadata.LeaderAndISR{}
	b.mu.fresh = map[metadata.TopicPartition]bool{}
	b.mu.leaders = map[metadata.TopicPartition]metadata.BrokerID{}
	b.mu.failing = map[metadata.TopicPartition]bool{}
	b.wg.Go(func() { b.accept(ln) })
	return b
}

// vanish closes the listener and all connections, as a process that dies does, or a firewall that refuses everything.
func (b *broker) vanish() {
	_ = b.ln.Close()
	b.cut()
}

// listenAgain takes the address back.
func (b *broker) listenAgain(t *testing.T) {
	t.Helper()
	ln, err := net.ListenTCP("tcp", b.addr)
	must(t, err)
	b.ln = ln
	b.wg.Go(func() { b.accept(ln) })
}

func (b *broker) info() znode.BrokerInfo {
	port := b.addr.Port
	return znode.BrokerInfo{JMXPort: -1, Broker: metadata.Broker{ID: b.id, Endpoints: []metadata.Endpoint{
		{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: int32(port)},
	}}}
}

func (b *broker) accept(ln net.Listener) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.mu.conns[nc] = struct{}{}
		b.mu.Unlock()
		b.wg.Go(func() { b.serve(nc) })
	}
}

// cut closes the connections that there are.
func (b *broker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc := range b.mu.conns {
		_ = nc.Close()
		delete(b.mu.conns, nc)
	}
}

func (b *broker) close() {
	b.vanish()
	b.wg.Wait()
}

func (b *broker) serve(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	for {
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(nc, frame); err != nil {
			return
		}
		h, body, err := protocol.ParseRequest(frame)
		if err != nil {
			panic(err)
		}
		req, err := protocol.DecodeBody(h, body)
		if err != nil {
			panic(err)
		}
		if _, err := nc.Write(protocol.AppendResponse(nil, h, b.answer(req))); err != nil {
			return
		}
	}
}

func (b *broker) answer(req kmsg.Request) kmsg.Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return b.leaderAndISR(r)
	case *kmsg.UpdateMetadataRequest:
		b.updateMetadata(r)
	case *kmsg.StopReplicaRequest:
		return b.stopReplica(r)
	}
	return req.ResponseKind()
}

func (b *broker) leaderAndISR(r *kmsg.LeaderAndISRRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.LeaderAndISRResponse)
	var line strings.Builder
	fmt.Fprintf(&line, "LeaderAndIsr epoch %d", r.ControllerEpoch)
	for _, ts := range r.TopicStates {
		rt := kmsg.NewLeaderAndISRResponseTopic()
		rt.TopicID = ts.TopicID
		for _, p := range ts.PartitionStates {
			tp := metadata.TopicPartition{Topic: ts.Topic, Partition: p.Partition}
			li := metadata.LeaderAndISR{Leader: metadata.BrokerID(p.Leader), LeaderEpoch: metadata.LeaderEpoch(p.LeaderEpoch), PartitionEpoch: p.ZKVersion}
			for _, id := range p.ISR {
				li.ISR = append(li.ISR, metadata.BrokerID(id))
			}
			rp := kmsg.NewLeaderAndISRResponseTopicPartition()
			rp.Partition = p.Partition
			if b.mu.failing[tp] {
				rp.ErrorCode = 56
			}
			rt.Partitions = append(rt.Partitions, rp)
			b.mu.replicas[tp], b.mu.fresh[tp] = li, p.IsNew
			fmt.Fprintf(&line, " %s(leader %d epoch %d isr %v zkver %d new %t)", tp, p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.IsNew)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	b.mu.log = append(b.mu.log, line.String())
	return resp
}

func (b *broker) updateMetadata(r *kmsg.UpdateMetadataRequest) {
	b.mu.alive = nil
	for _, l := range r.LiveBrokers {
		b.mu.alive = append(b.mu.alive, metadata.BrokerID(l.ID))
	}
	var line strings.Builder
	fmt.Fprintf(&line, "UpdateMetadata epoch %d live %v", r.ControllerEpoch, b.mu.alive)
	for _, ts := range r.TopicStates {
		for _, p := range ts.PartitionStates {
			tp := metadata.TopicPartition{Topic: ts.Topic, Partition: p.Partition}
			b.mu.leaders[tp] = metadata.BrokerID(p.Leader)
			if p.Leader == -2 {
				delete(b.mu.leaders, tp)
			}
			fmt.Fprintf(&line, " %s(leader %d epoch %d)", tp, p.Leader, p.LeaderEpoch)
		}
	}
	b.mu.log = append(b.mu.log, line.String())
}

func (b *broker) stopReplica(r *kmsg.StopReplicaRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.StopReplicaResponse)
	var line strings.Builder
	line.WriteString("StopReplica")
	for _, ts := range r.Topics {
		for _, p := range ts.PartitionStates {
			tp := metadata.TopicPartition{Topic: ts.Topic, Partition: p.Partition}
			if p.Delete {
				b.mu.deleted = append(b.mu.deleted, tp)
				delete(b.mu.replicas, tp)
			}
			rp := kmsg.NewStopReplicaResponsePartition()
			rp.Topic, rp.Partition = ts.Topic, p.Partition
			resp.Partitions = append(resp.Partitions, rp)
			fmt.Fprintf(&line, " %s(epoch %d delete %t)", tp, p.LeaderEpoch, p.Delete)
		}
	}
	b.mu.log = append(b.mu.log, line.String())
	return resp
}

func (b *broker) live() []metadata.BrokerID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mu.alive)
}

// partition returns what the broker was last told of its replica.
func (b *broker) partition(tp metadata.TopicPartition) (metadata.LeaderAndISR, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	li, ok := b.mu.replicas[tp]
	return li, ok
}

// knows returns the leader in the broker's metadata.
func (b *broker) knows(topic string, p int32) (metadata.BrokerID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.mu.leaders[metadata.TopicPartition{Topic: topic, Partition: p}]
	return id, ok
}

func (b *broker) wasDeleted(tp metadata.TopicPartition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.mu.deleted, tp)
}

// spoil makes the log directory of a partition fail.
func (b *broker) spoil(tp metadata.TopicPartition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.failing[tp] = true
}

func tp(topic string, p int32) metadata.TopicPartition {
	return metadata.TopicPartition{Topic: topic, Partition: p}
}

func ids(v ...metadata.BrokerID) []metadata.BrokerID { return v }
