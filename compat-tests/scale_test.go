//go:build compat

package compat

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
)

// The cluster whose controller fails: 60,000 replicas on three brokers that only say yes.
const (
	scaleTopics     = 1000
	scalePartitions = 20
)

// yesBroker takes every control request and counts what it has heard from the newest controller.
type yesBroker struct {
	id int
	ln net.Listener
	zk *zk.Conn
	wg sync.WaitGroup

	mu    sync.Mutex
	epoch int32
	led   map[string]struct{} // partitions in LeaderAndIsr
	told  map[string]struct{} // partitions in UpdateMetadata
	// leaders has the leader last told of each partition.
	leaders map[string]int32
	conns   []net.Conn
}

// startYesBroker registers a broker.
func startYesBroker(t *testing.T, id int, zookeeper string) *yesBroker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &yesBroker{id: id, ln: ln, leaders: map[string]int32{}}
	if b.zk, _, err = zk.Connect([]string{zookeeper}, 30*time.Second, zk.WithLogInfo(false)); err != nil {
		t.Fatal(err)
	}
	b.wg.Go(b.accept)
	t.Cleanup(b.close)
	port := ln.Addr().(*net.TCPAddr).Port
	node := fmt.Sprintf(`{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:%d"],`+
		`"jmx_port":-1,"port":%d,"host":"127.0.0.1","version":5,"timestamp":"1"}`, port, port)
	if _, err := b.zk.Create(fmt.Sprintf("/brokers/ids/%d", id), []byte(node), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *yesBroker) close() {
	b.zk.Close()
	_ = b.ln.Close()
	b.mu.Lock()
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *yesBroker) accept() {
	for {
		c, err := b.ln.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns = append(b.conns, c)
		b.mu.Unlock()
		b.wg.Go(func() { b.serve(c) })
	}
}

func (b *yesBroker) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var frame []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		if n > cap(frame) {
			frame = make([]byte, n)
		}
		frame = frame[:n]
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		if _, err := c.Write(b.answer(frame)); err != nil {
			return
		}
	}
}

func (b *yesBroker) answer(frame []byte) []byte {
	r := kbin.Reader{Src: frame}
	key, version, corr := r.Int16(), r.Int16(), r.Int32()
	r.NullableString()
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	if err := req.ReadFrom(r.Src); err != nil {
		panic(err)
	}
	b.take(req)
	resp := req.ResponseKind()
	out := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	if req.IsFlexible() && key != int16(kmsg.ApiVersions) {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// take notes what a controller says. A new epoch begins a new count.
func (b *yesBroker) take(req kmsg.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		b.heard(r.ControllerEpoch)
		for _, t := range r.TopicStates {
			for _, p := range t.PartitionStates {
				b.led[fmt.Sprint(t.Topic, p.Partition)] = struct{}{}
			}
		}
	case *kmsg.UpdateMetadataRequest:
		b.heard(r.ControllerEpoch)
		for _, t := range r.TopicStates {
			for _, p := range t.PartitionStates {
				key := fmt.Sprint(t.Topic, p.Partition)
				b.told[key] = struct{}{}
				b.leaders[key] = p.Leader
			}
		}
	}
}

func (b *yesBroker) heard(epoch int32) {
	if epoch != b.epoch {
		b.epoch, b.led, b.told = epoch, map[string]struct{}{}, map[string]struct{}{}
	}
}

// complete says what is missing of what a new controller must tell: all partitions, with a leader that is not dead.
func (b *yesBroker) complete(after int32, dead int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	const all = scaleTopics * scalePartitions
	if b.epoch <= after || len(b.led) < all || len(b.told) < all {
		return fmt.Errorf("broker %d: epoch %d, %d and %d of %d partitions", b.id, b.epoch, len(b.led), len(b.told), all)
	}
	for key, leader := range b.leaders {
		if int(leader) == dead || leader < 0 {
			return fmt.Errorf("broker %d: %s is led by %d", b.id, key, leader)
		}
	}
	return nil
}

// writeScale writes the topics as a controller of epoch 1 would have left them.
func writeScale(t *testing.T, conn *zk.Conn, ids []int) {
	t.Helper()
	acl := zk.WorldACL(zk.PermAll)
	for _, path := range []string{"/brokers", "/brokers/ids", "/brokers/topics"} {
		if _, err := conn.Create(path, nil, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
	}
	for i := range scaleTopics {
		path := fmt.Sprintf("/brokers/topics/scale-%04d", i)
		var list []string
		ops := []any{nil, &zk.CreateRequest{Path: path + "/partitions", Acl: acl}}
		for p := range scalePartitions {
			a := []int{ids[(i+p)%3], ids[(i+p+1)%3], ids[(i+p+2)%3]}
			isr := strings.ReplaceAll(fmt.Sprint(a), " ", ",")
			list = append(list, fmt.Sprintf(`"%d":%s`, p, isr))
			part := fmt.Sprintf("%s/partitions/%d", path, p)
			state := fmt.Sprintf(`{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":%s}`, a[0], isr)
			ops = append(ops, &zk.CreateRequest{Path: part, Acl: acl}, &zk.CreateRequest{Path: part + "/state", Data: []byte(state), Acl: acl})
		}
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], uint64(i)+1)
		ops[0] = &zk.CreateRequest{Path: path, Acl: acl, Data: fmt.Appendf(nil,
			`{"removing_replicas":{},"partitions":{%s},"topic_id":%q,"adding_replicas":{},"version":3}`,
			strings.Join(list, ","), base64.RawURLEncoding.EncodeToString(id[:]))}
		if _, err := conn.Multi(ops...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScale_ControllerFailsOver measures, for both kinds of brokers, how long the brokers of a large cluster wait for a new
// controller: from the moment the seat is free until each has heard of all its partitions and every partition has a live
// leader. A broker dies at the same moment, with a third of the leaders.
func TestScale_ControllerFailsOver(t *testing.T) {
	if os.Getenv("JACKDAW_SCALE") == "" {
		t.Skip("a figure for docs/performance.md: JACKDAW_SCALE=1 make compat ARGS='-run Scale -v'")
	}
	for _, kind := range []cluster.Kind{cluster.Jackdaw, cluster.Apache} {
		t.Run(string(kind), func(t *testing.T) { scaleFailover(t, kind) })
	}
}

func scaleFailover(t *testing.T, kind cluster.Kind) {
	c := cluster.Start(t, cluster.Options{Kinds: map[int]cluster.Kind{1: kind}, OwnZooKeeper: true, ZooKeeper: cluster.Embedded})
	conn, _, err := zk.Connect([]string{c.ZooKeeper.Addr()}, 30*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ids := []int{101, 102, 103}
	writeScale(t, conn, ids)
	var yes []*yesBroker
	for _, id := range ids {
		yes = append(yes, startYesBroker(t, id, c.ZooKeeper.Addr()))
	}
	for id := 1; id <= 2; id++ {
		b, err := c.Add(id, kind)
		if err != nil {
			t.Fatal(err)
		}
		b.Config["zookeeper.session.timeout.ms"] = "30000"
		b.Config["auto.leader.rebalance.enable"] = "false"
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	await := func(after int32, dead int, live ...*yesBroker) {
		t.Helper()
		for _, b := range live {
			cluster.Eventually(t, 3*time.Minute, "all partitions", func() error { return b.complete(after, dead) })
		}
	}
	await(0, -1, yes...)
	pause(t, 5*time.Second) // what the first controller still does
	for round := range 3 {
		now := controller(t, c)
		epoch, err := c.Tree.ControllerEpoch()
		if err != nil {
			t.Fatal(err)
		}
		frozen(t, now)
		dead := -1
		live := yes
		if round == 2 { // now with a death
			dead, live = yes[2].id, yes[:2]
			if err := conn.Delete(fmt.Sprintf("/brokers/ids/%d", dead), -1); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := c.Tree.Delete("/controller"); err != nil {
			t.Fatal(err)
		}
		await(int32(epoch), dead, live...)
		t.Logf("%s, broker dies %t: fail-over of %d partitions in %v", kind, dead >= 0, scaleTopics*scalePartitions,
			time.Since(began).Round(time.Millisecond))
		thaw(t, now)
		pause(t, 5*time.Second)
	}
}
