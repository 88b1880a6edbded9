//go:build compat

package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// jackdawOnly skips on Apache Kafka, with the reason for the difference.
func jackdawOnly(t *testing.T, why string) {
	t.Helper()
	if cluster.Target() == cluster.Apache {
		t.Skip("differs on Apache Kafka: " + why)
	}
}

// controller returns the broker that ZooKeeper names as controller.
func controller(t *testing.T, c *cluster.Cluster) *cluster.Broker {
	t.Helper()
	id, err := c.Tree.Controller()
	if err != nil {
		t.Fatal(err)
	}
	return c.Broker(id)
}

// pause lets time pass where the passing of time is what the test is about; it is never a way to wait for somebody.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func TestCreateTopic_MoreReplicasThanBrokers_RefusedWithNumbers(t *testing.T) {
	c := three(t)
	addr := controller(t, c).Addr()
	for version := int16(2); version <= 7; version++ {
		r := ask[*kmsg.CreateTopicsResponse](t, addr, wire.NewCreateTopic("too-many", 1, 4), version)
		want := "Replication factor: 4 larger than available brokers: 3."
		if r.Topics[0].ErrorCode != kerr.InvalidReplicationFactor.Code || deref(r.Topics[0].ErrorMessage) != want {
			t.Errorf("v%d: error %d, message %q; want 38 and %q", version, r.Topics[0].ErrorCode, deref(r.Topics[0].ErrorMessage), want)
		}
	}
	if _, err := c.Tree.Assignment("too-many"); err == nil {
		t.Error("the refused topic is in ZooKeeper")
	}
}

func TestLeaders_ThreePartitionsOnThreeBrokers_OneEach(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3}) // what else there is on a cluster counts for the placement
	topic := topicName(t)
	createTopic(t, c, topic, 3, 3)
	var ids []int
	for p := range 3 {
		s, err := c.Tree.State(topic, p)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.Leader)
		if s.LeaderEpoch != 0 || s.Version != 0 || !slices.Equal(s.ISR, []int{1, 2, 3}) {
			t.Errorf("partition %d of a new topic: %+v", p, s)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []int{1, 2, 3}) {
		t.Errorf("leaders %v, want three different ones", ids)
	}
}

func TestLeaders_OnlyTheLeaderServes(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	leader := leaderOf(t, c, topic, 0)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values("a"))
	for _, b := range c.Brokers {
		if b == leader {
			continue
		}
		if p := produceOne(t, b.Addr(), topic, 0, 1, wire.Values("b").Encode()); p.ErrorCode != 6 {
			t.Errorf("produce to follower %d: error %d, want 6", b.ID, p.ErrorCode)
		}
		r := ask[*kmsg.ListOffsetsResponse](t, b.Addr(), wire.NewListOffsets(topic, 0, -1), 7)
		if code := r.Topics[0].Partitions[0].ErrorCode; code != 6 {
			t.Errorf("offsets from follower %d: error %d, want 6", b.ID, code)
		}
		// KIP-392: a consumer may read from a follower since Fetch v11; below it may not.
		f := ask[*kmsg.FetchResponse](t, b.Addr(), wire.NewFetch(wire.Position{Topic: topic}), 10)
		if code := f.Topics[0].Partitions[0].ErrorCode; code != 6 {
			t.Errorf("fetch v10 from follower %d: error %d, want 6", b.ID, code)
		}
	}
}

func TestPlacement_OnePartitionTopics_SpreadEvenly(t *testing.T) {
	jackdawOnly(t, "starts each topic at a random broker: 4/3/2 leaders for nine topics")
	c := cluster.Start(t, cluster.Options{Brokers: 3})
	count := map[int]int{}
	for i := range 9 {
		topic := fmt.Sprintf("one-%d", i)
		createTopic(t, c, topic, 1, int16(1+i%3))
		s, err := c.Tree.State(topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		count[s.Leader]++
		if spread := spreadOf(count, 3); spread > 1 {
			t.Fatalf("after %d topics leaders by broker are %v", i+1, count)
		}
	}
	if count[1] != 3 || count[2] != 3 || count[3] != 3 {
		t.Errorf("leaders by broker %v, want three each", count)
	}
}

func TestPlacement_SixBrokersTenPartitions_FiveReplicasEach(t *testing.T) {
	jackdawOnly(t, "gives 6/5/5/5/5/4 replicas")
	c := cluster.Start(t, cluster.Options{Brokers: 6})
	topic := topicName(t)
	createTopic(t, c, topic, 10, 3)
	assignment, err := c.Tree.Assignment(topic)
	if err != nil {
		t.Fatal(err)
	}
	replicas, leads := map[int]int{}, map[int]int{}
	for p := range 10 {
		ids := assignment[p]
		leads[ids[0]]++
		for _, id := range ids {
			replicas[id]++
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
			t.Errorf("partition %d on brokers %v: two replicas together", p, assignment[p])
		}
	}
	if spreadOf(replicas, 6) != 0 || replicas[1] != 5 {
		t.Errorf("replicas by broker %v, want 5 each", replicas)
	}
	if spreadOf(leads, 6) > 1 {
		t.Errorf("preferred leaders by broker %v", leads)
	}
}

// spreadOf is the difference between the most and the least used of brokers 1 to n.
func spreadOf(count map[int]int, n int) int {
	low, high := count[1], count[1]
	for id := 2; id <= n; id++ {
		low, high = min(low, count[id]), max(high, count[id])
	}
	return high - low
}

// frozen stops followers and thaws them at the end of the test at the latest.
func frozen(t *testing.T, brokers ...*cluster.Broker) {
	t.Helper()
	for _, b := range brokers {
		if err := b.Freeze(); err != nil {
			t.Fatal(err)
		}
	}
	// A fetch that waited at the leader is answered by now, empty, and no other follows.
	pause(t, 700*time.Millisecond)
}

func thaw(t *testing.T, brokers ...*cluster.Broker) {
	t.Helper()
	for _, b := range brokers {
		if err := b.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
}

// fetchOne is one Fetch v11 of a consumer that does not wait.
func fetchOne(t *testing.T, addr, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := wire.NewFetch(wire.Position{Topic: topic, Offset: offset})
	req.MaxWaitMillis = 0
	return ask[*kmsg.FetchResponse](t, addr, req, 11).Topics[0].Partitions[0]
}

func TestISR_FrozenFollower_LeavesByLagAndComesBack(t *testing.T) {
	t.Parallel() // it mostly waits
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": "30000", // the freeze must not end the session
		"replica.lag.time.max.ms":      "4000",
		"replica.fetch.wait.max.ms":    "200",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2, 3})
	leader, follower := c.Broker(1), c.Broker(3)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values(series("committed", 10)...))
	before := waitISR(t, c, topic, 0, 10*time.Second, 1, 2, 3)
	cluster.Eventually(t, 10*time.Second, "high watermark 10", func() error { return wantHW(t, leader.Addr(), topic, 10) })

	frozen(t, follower)
	froze := time.Now()
	if off := mustProduce(t, leader.Addr(), topic, 0, 1, wire.Values("pending")); off != 10 {
		t.Fatalf("base offset %d, want 10", off)
	}
	// The frozen follower is in the ISR still: the record is not committed and nobody may read it.
	p := fetchOne(t, leader.Addr(), topic, 10)
	if p.ErrorCode != 0 || len(p.RecordBatches) != 0 || p.HighWatermark != 10 {
		t.Errorf("fetch of an uncommitted record: error %d, %d bytes, high watermark %d; want 0, nothing, 10", p.ErrorCode, len(p.RecordBatches), p.HighWatermark)
	}

	shrunk := waitISR(t, c, topic, 0, 30*time.Second, 1, 2)
	t.Logf("isr shrank %v after the freeze", time.Since(froze).Round(time.Millisecond))
	if took := time.Since(froze); took > 9*time.Second { // lag time x 1.5, and some for the machine
		t.Errorf("isr shrank after %v", took)
	}
	if shrunk.LeaderEpoch != before.LeaderEpoch || shrunk.Leader != 1 || shrunk.Version <= before.Version {
		t.Errorf("state before %+v, after the shrink %+v: only isr and version may change", before, shrunk)
	}
	cluster.Eventually(t, 5*time.Second, "high watermark after the shrink", func() error { return wantHW(t, leader.Addr(), topic, 11) })

	thaw(t, follower)
	grown := waitISR(t, c, topic, 0, 30*time.Second, 1, 2, 3)
	if grown.LeaderEpoch != before.LeaderEpoch || grown.Version <= shrunk.Version {
		t.Errorf("state after the return %+v", grown)
	}
	checkReplicasEqual(t, c, topic, 0)
}

func wantHW(t *testing.T, addr, topic string, want int64) error {
	t.Helper()
	if hw := endOffset(t, addr, topic, 0); hw != want {
		return fmt.Errorf("high watermark %d, want %d", hw, want)
	}
	return nil
}

func TestMinISR_TooFewInSync_WritesRefusedReadsGoOn(t *testing.T) {
	t.Parallel() // it mostly waits
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": "30000",
		"replica.lag.time.max.ms":      "4000",
		"replica.fetch.wait.max.ms":    "200",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, []string{"min.insync.replicas", "2"}, []int32{1, 2, 3})
	leader := c.Broker(1)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values(series("committed", 5)...))
	frozen(t, c.Broker(2), c.Broker(3))

	// Appended while the ISR still has three, and the ISR falls below the minimum before the others have it. The high watermark stands
	// still below the minimum (KAFKA-15583), so the write waits to its end: 7. A high watermark that had passed would give 20.
	req := wire.NewProduce(-1, wire.Part{Topic: topic, Records: wire.Values("late").Encode()})
	req.TimeoutMillis = 8000
	p := ask[*kmsg.ProduceResponse](t, leader.Addr(), req, 9).Topics[0].Partitions[0]
	if p.ErrorCode != kerr.RequestTimedOut.Code && p.ErrorCode != kerr.NotEnoughReplicasAfterAppend.Code {
		t.Errorf("acks=all while the isr falls below the minimum: error %d, want 7 or 20", p.ErrorCode)
	}
	waitISR(t, c, topic, 0, 30*time.Second, 1)

	end := endOffset(t, leader.Addr(), topic, 0)
	if p := produceOne(t, leader.Addr(), topic, 0, -1, wire.Values("refused").Encode()); p.ErrorCode != kerr.NotEnoughReplicas.Code {
		t.Errorf("acks=all with one of two in sync: error %d, want 19", p.ErrorCode)
	}
	if now := endOffset(t, leader.Addr(), topic, 0); now != end {
		t.Errorf("a refused write moved the end from %d to %d", end, now)
	}
	if p := produceOne(t, leader.Addr(), topic, 0, 1, wire.Values("one").Encode()); p.ErrorCode != 0 {
		t.Errorf("acks=1 with one of two in sync: error %d, want 0", p.ErrorCode)
	}
	if got := franzRead(t, c, topic, 5, kgo.SeedBrokers(leader.Addr()))[0]; !slices.Equal(got, series("committed", 5)) {
		t.Errorf("reading goes on, of what is committed: got %v", got)
	}
	if hw := endOffset(t, leader.Addr(), topic, 0); hw != 5 {
		t.Errorf("high watermark %d below the minimum in sync, want 5", hw)
	}

	thaw(t, c.Broker(2), c.Broker(3))
	waitISR(t, c, topic, 0, 30*time.Second, 1, 2, 3)
	mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values("again"))
	checkReplicasEqual(t, c, topic, 0)
}

// TestUnclean_OffWaits_OnLosesTheTail: two topics through the same failures. The broker allows unclean elections, topic "off" does not.
func TestUnclean_OffWaits_OnLosesTheTail(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "unclean.leader.election.enable": "true",
	}})
	ctl := controller(t, c)
	others := slices.DeleteFunc(slices.Clone(c.Brokers), func(b *cluster.Broker) bool { return b == ctl })
	first, second := others[0], others[1] // the controller stays alive and holds no replica
	replicas := []int32{int32(first.ID), int32(second.ID)}
	createAssigned(t, c, "on", nil, replicas)
	createAssigned(t, c, "off", []string{"unclean.leader.election.enable", "false"}, replicas)
	topics := []string{"on", "off"}

	for _, topic := range topics {
		mustProduce(t, first.Addr(), topic, 0, -1, wire.Values(series("both", 10)...))
	}
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		waitISR(t, c, topic, 0, 20*time.Second, first.ID)
		mustProduce(t, first.Addr(), topic, 0, -1, wire.Values(series("tail", 7)...))
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		s, err := c.Tree.WaitState(topic, 0, 20*time.Second, "no leader", func(s cluster.PartitionState) bool { return s.Leader == -1 })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.ISR, []int{first.ID}) {
			t.Errorf("%s: isr %v: the last member must stay", topic, s.ISR)
		}
		checkOffline(t, ctl, topic, replicas)
	}

	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	on, err := c.Tree.WaitState("on", 0, 20*time.Second, "unclean leader", func(s cluster.PartitionState) bool { return s.Leader == second.ID })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(on.ISR, []int{second.ID}) {
		t.Errorf("isr after the unclean election %v, want the new leader alone", on.ISR)
	}
	waitLeaders(t, c, "on", 1)
	if off := mustProduce(t, second.Addr(), "on", 0, 1, wire.Values("new")); off != 10 {
		t.Errorf("the unclean leader appends at %d, want 10: the tail is lost", off)
	}
	if s, err := c.Tree.State("off", 0); err != nil || s.Leader != -1 {
		t.Errorf("topic off has leader %d (%v) though no isr member is back", s.Leader, err)
	}
	checkOffline(t, second, "off", replicas)

	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		waitISR(t, c, topic, 0, 30*time.Second, first.ID, second.ID)
		checkReplicasEqual(t, c, topic, 0)
	}
	if got, want := franzRead(t, c, "off", 17)[0], append(series("both", 10), series("tail", 7)...); !slices.Equal(got, want) {
		t.Errorf("topic off: %v, want everything", got)
	}
	if got, want := franzRead(t, c, "on", 11)[0], append(series("both", 10), "new"); !slices.Equal(got, want) {
		t.Errorf("topic on: %v, want %v", got, want)
	}
	checkLossTold(t, c)
}

// checkOffline asks a broker for a partition without a leader: leader -1, error 5, all replicas in their order.
func checkOffline(t *testing.T, b *cluster.Broker, topic string, replicas []int32) {
	t.Helper()
	cluster.Eventually(t, 10*time.Second, fmt.Sprintf("metadata of offline %s at broker %d", topic, b.ID), func() error {
		m, err := wire.Metadata(b.Addr(), topic)
		if err != nil {
			return err
		}
		if m.Topics[0].ErrorCode != 0 || len(m.Topics[0].Partitions) != 1 {
			return fmt.Errorf("topic error %d, %d partitions", m.Topics[0].ErrorCode, len(m.Topics[0].Partitions))
		}
		p := m.Topics[0].Partitions[0]
		if p.Leader != -1 || p.ErrorCode != 5 || !slices.Equal(p.Replicas, replicas) {
			return fmt.Errorf("leader %d, error %d, replicas %v; want -1, 5, %v", p.Leader, p.ErrorCode, p.Replicas, replicas)
		}
		return nil
	})
}

// checkLossTold looks for the WARN line that names the topic and the offset from which records are gone.
func checkLossTold(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if cluster.Target() == cluster.Apache {
		return // says it at INFO, in words of its own
	}
	for _, b := range c.Brokers {
		for line := range strings.Lines(b.Tail(100000)) {
			low := strings.ToLower(line)
			if strings.Contains(line, "WARN") && strings.Contains(low, "unclean") && strings.Contains(line, "on") && strings.Contains(line, "10") {
				t.Logf("broker %d says: %s", b.ID, strings.TrimSpace(line))
				return
			}
		}
	}
	t.Error("no WARN line tells of the unclean election, the topic and the offset 10")
}

// TestLeaderFailure_DivergedTail_TruncatedByEpoch: the old leader comes back with records that nobody else has.
func TestLeaderFailure_DivergedTail_TruncatedByEpoch(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": "6000",
		"replica.lag.time.max.ms":      "30000", // all stay in the isr while two are frozen for a moment
		"replica.fetch.wait.max.ms":    "200",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, nil, []int32{1, 2, 3})
	old := c.Broker(1)
	mustProduce(t, old.Addr(), topic, 0, -1, wire.Values(series("committed", 10)...))

	frozen(t, c.Broker(2), c.Broker(3))
	mustProduce(t, old.Addr(), topic, 0, 1, wire.Values(series("lost", 5)...))
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	thaw(t, c.Broker(2), c.Broker(3))
	s, err := c.Tree.WaitState(topic, 0, 40*time.Second, "a new leader", func(s cluster.PartitionState) bool { return s.Leader > 1 })
	if err != nil {
		t.Fatal(err)
	}
	if s.LeaderEpoch < 1 || slices.Contains(s.ISR, 1) {
		t.Errorf("state after the election: %+v", s)
	}
	waitLeaders(t, c, topic, 1)
	leader := c.Broker(s.Leader)
	if off := mustProduce(t, leader.Addr(), topic, 0, -1, wire.Values("new-0", "new-1")); off != 10 {
		t.Errorf("the new leader appends at %d, want 10", off)
	}

	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, topic, 0, 60*time.Second, 1, 2, 3)
	checkReplicasEqual(t, c, topic, 0)
	want := append(series("committed", 10), "new-0", "new-1")
	if got := franzRead(t, c, topic, 12)[0]; !slices.Equal(got, want) {
		t.Errorf("contents %v, want %v", got, want)
	}
	checkEpochs(t, c, topic, leaderOf(t, c, topic, 0))
}

// checkEpochs asks for the epoch history of the test above (epoch 0 ends at 10) and for the fences.
func checkEpochs(t *testing.T, c *cluster.Cluster, topic string, leader *cluster.Broker) {
	t.Helper()
	s, err := c.Tree.State(topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	current := int32(s.LeaderEpoch)
	end := epochEnd(t, leader.Addr(), topic, 0, -1)
	if end.ErrorCode != 0 || end.LeaderEpoch != 0 || end.EndOffset != 10 {
		t.Errorf("end of epoch 0: %+v, want 10", end)
	}
	for _, fence := range []struct {
		epoch int32
		want  int16
	}{{-1, 0}, {current, 0}, {current - 1, 74}, {current + 1, 75}} {
		if got := epochEnd(t, leader.Addr(), topic, 0, fence.epoch).ErrorCode; got != fence.want {
			t.Errorf("OffsetForLeaderEpoch with current epoch %d of %d: error %d, want %d", fence.epoch, current, got, fence.want)
		}
		req := wire.NewFetch(wire.Position{Topic: topic})
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = fence.epoch
		if got := ask[*kmsg.FetchResponse](t, leader.Addr(), req, 11).Topics[0].Partitions[0].ErrorCode; got != fence.want {
			t.Errorf("Fetch with current epoch %d of %d: error %d, want %d", fence.epoch, current, got, fence.want)
		}
		list := wire.NewListOffsets(topic, 0, -1)
		list.Topics[0].Partitions[0].CurrentLeaderEpoch = fence.epoch
		if got := ask[*kmsg.ListOffsetsResponse](t, leader.Addr(), list, 7).Topics[0].Partitions[0].ErrorCode; got != fence.want {
			t.Errorf("ListOffsets with current epoch %d of %d: error %d, want %d", fence.epoch, current, got, fence.want)
		}
	}
	// A consumer that read the lost records (epoch 0, up to 15) learns where the logs part.
	req := wire.NewFetch(wire.Position{Topic: topic, Offset: 12})
	req.Topics[0].Partitions[0].LastFetchedEpoch = 0
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = current
	p := ask[*kmsg.FetchResponse](t, leader.Addr(), req, 12).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 0 || p.DivergingEpoch.EndOffset != 10 || len(p.RecordBatches) != 0 {
		t.Errorf("fetch with a diverging epoch: error %d, %+v, %d bytes", p.ErrorCode, p.DivergingEpoch, len(p.RecordBatches))
	}
}

// epochEnd asks a leader as a consumer for the end of an epoch.
func epochEnd(t *testing.T, addr, topic string, epoch, current int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	t.Helper()
	r := kmsg.NewPtrOffsetForLeaderEpochRequest()
	r.ReplicaID = -1
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.CurrentLeaderEpoch, rp.LeaderEpoch = current, epoch
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	return ask[*kmsg.OffsetForLeaderEpochResponse](t, addr, r, 4).Topics[0].Partitions[0]
}

// TestZombieLeader_WakesUp_RefusesAndFollows: a leader frozen past its session wakes up and still believes that it leads.
func TestZombieLeader_WakesUp_RefusesAndFollows(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "replica.lag.time.max.ms": "10000",
	}})
	topic := topicName(t)
	createAssigned(t, c, topic, []string{"min.insync.replicas", "2"}, []int32{1, 2, 3})
	zombie := c.Broker(1)
	mustProduce(t, zombie.Addr(), topic, 0, -1, wire.Values(series("before", 5)...))
	epoch, err := c.Tree.BrokerEpoch(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := zombie.Freeze(); err != nil {
		t.Fatal(err)
	}
	s, err := c.Tree.WaitState(topic, 0, 30*time.Second, "a new leader", func(s cluster.PartitionState) bool { return s.Leader > 1 })
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 10*time.Second, "write to the new leader", func() error {
		p := produceOne(t, c.Broker(s.Leader).Addr(), topic, 0, -1, wire.Values("after").Encode())
		return kerr.ErrorForCode(p.ErrorCode)
	})
	thaw(t, zombie)
	// Whatever it believes, a write that needs the others cannot succeed there.
	p := produceOne(t, zombie.Addr(), topic, 0, -1, wire.Values("zombie").Encode())
	if p.ErrorCode == 0 {
		t.Error("the deposed leader acknowledged a write")
	}
	waitISR(t, c, topic, 0, 60*time.Second, 1, 2, 3)
	now, err := c.Tree.BrokerEpoch(1)
	if err != nil {
		t.Fatal(err)
	}
	if now <= epoch {
		t.Errorf("broker epoch %d after the session was lost, %d before", now, epoch)
	}
	checkReplicasEqual(t, c, topic, 0)
	if got, want := franzRead(t, c, topic, 6)[0], append(series("before", 5), "after"); !slices.Equal(got, want) {
		t.Errorf("contents %v, want %v", got, want)
	}
}
