//go:build compat

package compat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// consumerProtocol turns KIP-848 on, with time-outs for tests. Apache Kafka has it with KRaft only.
var consumerProtocol = map[string]string{
	"group.coordinator.rebalance.protocols":    "classic,consumer",
	"group.consumer.migration.policy":          "bidirectional",
	"group.consumer.min.heartbeat.interval.ms": "300",
	"group.consumer.heartbeat.interval.ms":     "300",
	"group.consumer.min.session.timeout.ms":    "6000",
	"group.consumer.session.timeout.ms":        "6000",
	"group.initial.rebalance.delay.ms":         "0",
	"offsets.topic.num.partitions":             "2",
	"auto.leader.rebalance.enable":             "false",
}

func consumerCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	jackdawOnly(t, "the consumer protocol needs KRaft there")
	_, err := cluster.Jars4()
	cluster.Need(t, err)
	return cluster.Start(t, cluster.Options{Brokers: 3, Config: consumerProtocol})
}

// traffic is a topic that is written to all the time, and what was read of it.
type traffic struct {
	c          *cluster.Cluster
	topic      string
	partitions int
	written    func() map[int32]int64 // ends the writing
	mu         sync.Mutex
	seen       []map[int64]int // reads of each offset, by partition
}

func startTraffic(t *testing.T, c *cluster.Cluster, topic string, partitions int) *traffic {
	t.Helper()
	createTopic(t, c, topic, int32(partitions), 3, "min.insync.replicas", "2")
	l := &traffic{c: c, topic: topic, partitions: partitions}
	for range partitions {
		l.seen = append(l.seen, map[int64]int{})
	}
	cl := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(2*time.Minute))
	ctx, stop := context.WithCancel(t.Context())
	ends := map[int32]int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			p := int32(i % partitions)
			r := &kgo.Record{Topic: topic, Partition: p, Value: []byte("v")}
			if err := cl.ProduceSync(context.WithoutCancel(ctx), r).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
			ends[p] = r.Offset + 1
		}
	}()
	l.written = func() map[int32]int64 {
		stop()
		<-done
		return ends
	}
	t.Cleanup(func() { stop(); <-done })
	return l
}

func (l *traffic) read(partition int32, from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o := from; o <= to; o++ {
		l.seen[partition][o]++
	}
}

// check holds what was read against what was written: nothing is skipped, and nobody began at the start again.
func (l *traffic) check(t *testing.T, ends map[int32]int64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	total, twice := 0, 0
	for p, seen := range l.seen {
		for o := range ends[int32(p)] {
			switch n := seen[o]; {
			case n == 0:
				t.Fatalf("offset %d of partition %d was skipped", o, p)
			case n > 1:
				twice++
			}
			total++
		}
	}
	t.Logf("%d records, %d read more than once", total, twice)
	if total < 100 || twice > total/2 {
		t.Errorf("%d of %d records were read more than once: positions were lost", twice, total)
	}
}

// javaConsumer is Apache's VerifiableConsumer with group.protocol=consumer. It commits what it has read.
type javaConsumer struct {
	*cluster.Process
	l    *traffic
	mu   sync.Mutex
	told int // bytes of its output that were counted
}

func startJava(t *testing.T, l *traffic, name, group string, start func(dir, name, class string, args ...string) (*cluster.Process, error)) *javaConsumer {
	t.Helper()
	p, err := start(t.TempDir(), name, "org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", l.c.BootstrapString(),
		"--topic", l.topic, "--group-id", group, "--group-protocol", "consumer", "--reset-policy", "earliest")
	if err != nil {
		t.Fatal(err)
	}
	j := &javaConsumer{Process: p, l: l}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("---- end of the output of %s\n%s", p.Name, p.Tail(20))
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// count takes notice of what the consumer has reported since the last time.
func (j *javaConsumer) count() {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.Output()
	fresh := out[j.told:]
	fresh = fresh[:bytes.LastIndexByte(fresh, '\n')+1]
	j.told += len(fresh)
	for lines := bufio.NewScanner(bytes.NewReader(fresh)); lines.Scan(); {
		var event struct {
			Name       string
			Partitions []struct {
				Partition            int32
				MinOffset, MaxOffset int64
			}
		}
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Name == "records_consumed" {
			for _, p := range event.Partitions {
				j.l.read(p.Partition, p.MinOffset, p.MaxOffset)
			}
		}
	}
}

// kgoMember is a member of the classic protocol in this process.
type kgoMember struct{ end func() }

func startKgo(t *testing.T, l *traffic, group string) *kgoMember {
	t.Helper()
	cl := client(t, l.c, kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.topic), kgo.Balancers(kgo.RangeBalancer()), kgo.AutoCommitMarks(),
		kgo.BlockRebalanceOnPoll(), kgo.HeartbeatInterval(300*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			fs := cl.PollFetches(ctx)
			fs.EachRecord(func(r *kgo.Record) { l.read(r.Partition, r.Offset, r.Offset) })
			cl.MarkCommitRecords(fs.Records()...)
			if err := cl.CommitMarkedOffsets(context.WithoutCancel(ctx)); err != nil {
				t.Logf("commit of a classic member: %v", err) // a rebalance, or a coordinator that is gone
			}
			cl.AllowRebalance()
		}
	}()
	m := &kgoMember{end: sync.OnceFunc(func() { stop(); <-done; cl.Close() })}
	t.Cleanup(m.end)
	return m
}

// describeConsumers asks the coordinator for a consumer group.
func describeConsumers(t *testing.T, c *cluster.Cluster, group string) (kmsg.ConsumerGroupDescribeResponseGroup, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	r, err := req.RequestWith(t.Context(), client(t, c))
	if err != nil {
		return kmsg.ConsumerGroupDescribeResponseGroup{}, err
	}
	return r.Groups[0], kerr.ErrorForCode(r.Groups[0].ErrorCode)
}

// waitShared waits until the group is stable with so many members who share all partitions evenly.
func waitShared(t *testing.T, l *traffic, group string, members int) kmsg.ConsumerGroupDescribeResponseGroup {
	t.Helper()
	var g kmsg.ConsumerGroupDescribeResponseGroup
	cluster.Eventually(t, 60*time.Second, fmt.Sprintf("group %s with %d members", group, members), func() (err error) {
		if g, err = describeConsumers(t, l.c, group); err != nil {
			return err
		}
		var shares []int
		for _, m := range g.Members {
			n := 0
			for _, tp := range m.Assignment.TopicPartitions {
				n += len(tp.Partitions)
			}
			shares = append(shares, n)
		}
		if g.State != "Stable" || len(g.Members) != members || slices.Min(shares) != l.partitions/members || slices.Max(shares) > slices.Min(shares)+1 {
			return fmt.Errorf("%s, shares %v", g.State, shares)
		}
		return nil
	})
	return g
}

// waitRead waits until the group has committed the ends.
func waitRead(t *testing.T, l *traffic, group string, ends map[int32]int64) {
	t.Helper()
	cluster.Eventually(t, 60*time.Second, "all read and committed", func() error {
		offsets, err := admin(t, l.c).FetchOffsets(t.Context(), group)
		if err != nil {
			return err
		}
		for p, end := range ends {
			if o, ok := offsets.Lookup(l.topic, p); !ok || o.At != end {
				return fmt.Errorf("partition %d is at %d of %d", p, o.At, end)
			}
		}
		return nil
	})
}

// TestConsumerProtocol_CoordinatorAndMemberDie_NothingSkipped: Kafka's consumers of 3.9.2 and 4.4.0 share a topic by the protocol of
// KIP-848. The coordinator is killed: they go on as the members that they are. One of them is killed: the other takes over when its
// session has ended. The topic grows in between: they share the new partitions, too.
func TestConsumerProtocol_CoordinatorAndMemberDie_NothingSkipped(t *testing.T) {
	c := consumerCluster(t)
	l := startTraffic(t, c, "shared", 4)
	old := startJava(t, l, "consumer 3.9.2", "g", cluster.StartTool)
	waitShared(t, l, "g", 1)
	fresh := startJava(t, l, "consumer 4.4.0", "g", cluster.StartTool4)
	before := waitShared(t, l, "g", 2)

	b := coordinator(t, c, "g")
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	after := waitShared(t, l, "g", 2)
	if after.Epoch != before.Epoch || after.Members[0].MemberID != before.Members[0].MemberID {
		t.Errorf("epoch %d, members %v after the fail-over; before %d, %v", after.Epoch, after.Members, before.Epoch, before.Members)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	l.partitions = 6
	if r, err := admin(t, c).UpdatePartitions(t.Context(), l.partitions, l.topic); err != nil || r.Error() != nil {
		t.Fatal(err, r.Error())
	}
	waitShared(t, l, "g", 2)
	out, err := cluster.Tool4("", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", c.BootstrapString(),
		"--describe", "--group", "g", "--members", "--verbose")
	if err != nil || strings.Count(out, "shared") < 2 {
		t.Errorf("kafka-consumer-groups: %v\n%s", err, out)
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	waitShared(t, l, "g", 1)
	ends := l.written()
	waitRead(t, l, "g", ends)
	old.count()
	fresh.count()
	l.check(t, ends)
}

// TestConsumerProtocol_Migration_NothingSkipped: a classic group under load gets a member of the consumer protocol and becomes a
// consumer group, with the others in it; when that member leaves it is a classic group again.
func TestConsumerProtocol_Migration_NothingSkipped(t *testing.T) {
	c := consumerCluster(t)
	l := startTraffic(t, c, "moving", 4)
	first, second := startKgo(t, l, "g"), startKgo(t, l, "g")
	isType := func(group, want string) {
		t.Helper()
		cluster.Eventually(t, 60*time.Second, "group of type "+want, func() error {
			r, err := kmsg.NewPtrListGroupsRequest().RequestWith(t.Context(), client(t, c, kgo.SeedBrokers(coordinator(t, c, group).Addr())))
			if err != nil || len(r.Groups) != 1 || r.Groups[0].GroupType != want || r.Groups[0].GroupState != "Stable" {
				return errors.Join(err, fmt.Errorf("groups %+v", r))
			}
			return nil
		})
	}
	isType("g", "classic")
	java := startJava(t, l, "consumer 4.4.0", "g", cluster.StartTool4)
	waitShared(t, l, "g", 3)
	isType("g", "consumer")
	second.end()
	waitShared(t, l, "g", 2)
	if _, err := java.Terminate(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	isType("g", "classic")
	ends := l.written()
	waitRead(t, l, "g", ends)
	first.end()
	java.count()
	l.check(t, ends)
}

// beat sends a ConsumerGroupHeartbeat and returns the answer.
func beat(t *testing.T, addr, group, id string, epoch int32, topics ...string) *kmsg.ConsumerGroupHeartbeatResponse {
	t.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = group, id, epoch
	req.RebalanceTimeoutMillis, req.Topics = -1, nil
	if epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 30000, topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	return ask[*kmsg.ConsumerGroupHeartbeatResponse](t, addr, req, 0)
}

// TestConsumerProtocol_ApacheTakesOver_OffsetsStay: an Apache broker in ZooKeeper mode that becomes coordinator of a consumer group
// skips the records that it does not know. It has the offsets, and no members; when the coordinator is Jackdaw again the group is there
// as it was.
func TestConsumerProtocol_ApacheTakesOver_OffsetsStay(t *testing.T) {
	jackdawOnly(t, "there is nothing to mix")
	c := cluster.Start(t, cluster.Options{Brokers: 3, Kinds: map[int]cluster.Kind{2: cluster.Apache}, Config: map[string]string{
		"auto.leader.rebalance.enable": "false", "offsets.topic.num.partitions": "2", "group.consumer.session.timeout.ms": "60000",
	}})
	for _, id := range []int{1, 3} {
		if err := c.Broker(id).Stop(); err != nil {
			t.Fatal(err)
		}
		c.Broker(id).Config["group.coordinator.rebalance.protocols"] = "classic,consumer"
		if err := c.Broker(id).Start(); err != nil {
			t.Fatal(err)
		}
	}
	createAssigned(t, c, "read", nil, []int32{1, 3})
	group := nameIn("g", 0, 2)
	coordinator(t, c, group)
	move := func(to int) string {
		t.Helper()
		prefer(t, c, offsetsTopic, 0, to)
		elect(t, c, to, map[string]int{offsetsTopic: 0})
		return coordinator(t, c, group).Addr()
	}
	addr := move(1)
	if r := beat(t, addr, group, "m", 0, "read"); r.ErrorCode != 0 || r.MemberEpoch != 1 {
		t.Fatalf("join: %+v", r)
	}
	committed := ask[*kmsg.OffsetCommitResponse](t, addr, wire.NewCommit(group, "m", 1, wire.Commit{Topic: "read", Offset: 7}), 9)
	if code := committed.Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Fatalf("commit: %v", kerr.ErrorForCode(code))
	}

	addr = move(2)
	if r := beat(t, addr, group, "m", 1); r.ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("heartbeat at Apache Kafka: error %d", r.ErrorCode)
	}
	if at, _, code := fetchOffset(t, addr, group, "read", 0, 7, true); at != 7 || code != 0 {
		t.Errorf("offset %d, error %d at Apache Kafka, want 7", at, code)
	}
	if log := string(c.Broker(2).Output()); !strings.Contains(log, "Unknown message key with version 3") {
		t.Error("Apache Kafka does not say that it skips records")
	}

	addr = move(1)
	if r := beat(t, addr, group, "m", 1); r.ErrorCode != 0 || r.MemberEpoch != 1 {
		t.Errorf("heartbeat of the member after all: %+v", r)
	}
}
