//go:build compat

package compat

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

const (
	txnStateTopic      = "__transaction_state"
	txnStatePartitions = 5 // of the tests' brokers
)

// nameIn finds a name that lives in a partition of an internal topic of so many partitions.
func nameIn(prefix string, partition, partitions int) string {
	for i := 0; ; i++ {
		if name := prefix + strconv.Itoa(i); int(javaHash(name))%partitions == partition {
			return name
		}
	}
}

// prefer puts a broker first among the replicas of a partition, which is on all three, without moving its leader.
func prefer(t *testing.T, c *cluster.Cluster, topic string, partition, id int) {
	t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, int32(partition), []int32{int32(id), int32(id%3 + 1), int32((id+1)%3 + 1)})
	if r, err := admin(t, c).AlterPartitionAssignments(t.Context(), req); err != nil || r.Error() != nil {
		t.Fatalf("replicas of %s-%d: %v, %v", topic, partition, err, r.Error())
	}
	cluster.Eventually(t, 30*time.Second, "order of replicas", func() error {
		a, err := c.Tree.Assignment(topic)
		if err == nil && (len(a[partition]) != 3 || a[partition][0] != id) {
			err = fmt.Errorf("%v, want %d first", a[partition], id)
		}
		return err
	})
}

// elect moves the leaders of partitions to their preferred replicas.
func elect(t *testing.T, c *cluster.Cluster, id int, tps map[string]int) {
	t.Helper()
	set := kadm.TopicsSet{}
	for topic, p := range tps {
		set.Add(topic, int32(p))
	}
	if _, err := admin(t, c).ElectLeaders(t.Context(), kadm.ElectPreferredReplica, set); err != nil {
		t.Fatal(err)
	}
	for topic, p := range tps {
		if _, err := c.Tree.WaitState(topic, p, 30*time.Second, fmt.Sprint("leader ", id), func(s cluster.PartitionState) bool { return s.Leader == id }); err != nil {
			t.Fatal(err)
		}
		waitLeaders(t, c, topic, 0)
	}
}

// produce writes one record of the transaction to partition 0, which must have been added.
func (p *txnByHand) produce(t *testing.T, addr, topic, value string, sequence int32) {
	t.Helper()
	b := wire.Values(value).Producer(p.pid, p.epoch, sequence)
	b.Attributes |= 1 << 4 // transactional
	req := wire.NewProduce(-1, wire.Part{Topic: topic, Records: b.Encode()})
	req.TransactionID = &p.id
	r := ask[*kmsg.ProduceResponse](t, addr, req, 9)
	if code := r.Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Fatalf("produce in transaction %s: %v", p.id, kerr.ErrorForCode(code))
	}
}

// waitTxnState waits until a transactional id is in a state.
func waitTxnState(t *testing.T, c *cluster.Cluster, id, state string) {
	t.Helper()
	cluster.Eventually(t, 30*time.Second, "transaction "+id, func() error {
		d, err := admin(t, c).DescribeTransactions(t.Context(), id)
		if err == nil && d[id].State != state {
			err = fmt.Errorf("%s at broker %d, want %s", d[id].State, d[id].Coordinator, state)
		}
		return err
	})
}

// checkMember checks that the coordinator knows a member, its generation and its assignment, as they were before it took over.
func checkMember(t *testing.T, c *cluster.Cluster, m *member) {
	t.Helper()
	m.conn = dial(t, coordinator(t, c, m.group).Addr())
	if code := m.heartbeat(t); code != 0 {
		t.Errorf("heartbeat in the old generation: %v", kerr.ErrorForCode(code))
	}
	d := describe(t, c, m.group)
	if d.State != "Stable" || len(d.Members) != 1 || d.Members[0].MemberID != m.id || string(d.Members[0].MemberAssignment) != m.id {
		t.Errorf("group %+v, want the one stable member %s", d, m.id)
	}
}

// TestMixed_CoordinatorsMove_GroupsAndOffsetsGoOn moves the leaders of __consumer_offsets and __transaction_state from Apache Kafka
// to Jackdaw and back, between live brokers: members stay in their generation, offsets of an open transaction stay pending, and
// the transaction ends at its new coordinator.
func TestMixed_CoordinatorsMove_GroupsAndOffsetsGoOn(t *testing.T) {
	c := mixedCluster(t, 2)
	data, read := "moved", "read"
	createAssigned(t, c, data, []string{"min.insync.replicas", "2"}, []int32{1, 2, 3})
	createAssigned(t, c, read, nil, []int32{3, 1, 2})
	group, id := nameIn("g", 0, 2), nameIn("x", 0, txnStatePartitions)
	coordinator(t, c, group)
	transactionCoordinator(t, c, id)
	both := map[string]int{offsetsTopic: 0, txnStateTopic: 0}
	move := func(to int) {
		t.Helper()
		for topic, p := range both {
			prefer(t, c, topic, p, to)
		}
		elect(t, c, to, both)
	}
	move(2)
	m := newMember(t, c, group)
	m.join(t)
	m.syncAll(t)
	r := startReader(t, c, nameIn("reader", 0, 2), read)
	writer := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	x := &txnByHand{cl: client(t, c, kgo.RetryTimeout(60*time.Second)), id: id}
	offset, written := int64(0), int64(0)
	for round, to := range []int{1, 2, 1} {
		offset += 10
		if code := m.commitAs(t, data, offset); code != 0 {
			t.Errorf("commit: %v", kerr.ErrorForCode(code))
		}
		x.abort = round == 1
		cluster.Eventually(t, 30*time.Second, "open transaction", func() error { return x.init(t.Context()) })
		if err := x.add(t.Context(), data, 1); err != nil {
			t.Fatal(err)
		}
		x.produce(t, leaderOf(t, c, data, 0).Addr(), data, fmt.Sprint("round ", round), 0)
		if err := x.addOffset(t.Context(), group, data, offset+5); err != nil {
			t.Fatal(err)
		}
		franzProduce(t, writer, read, 0, series(fmt.Sprint("round", round), 50))
		written += 50

		move(to)
		checkMember(t, c, m)
		waitTxnState(t, c, id, "Ongoing")
		addr := coordinator(t, c, group).Addr()
		if at, _, code := fetchOffset(t, addr, group, data, 0, 7, false); at != offset || code != 0 {
			t.Errorf("offset %d, error %d while the transaction is open, want %d", at, code, offset)
		}
		if _, _, code := fetchOffset(t, addr, group, data, 0, 7, true); code != kerr.UnstableOffsetCommit.Code {
			t.Errorf("stable offset: error %d, want UNSTABLE_OFFSET_COMMIT", code)
		}
		cluster.Eventually(t, 30*time.Second, "end of the transaction", func() error { return x.end(t.Context()) })
		if !x.abort {
			offset += 5
		}
		cluster.Eventually(t, 30*time.Second, "offset after the transaction", func() error {
			if at, _, code := fetchOffset(t, addr, group, data, 0, 7, true); at != offset || code != 0 {
				return fmt.Errorf("%d, error %d, want %d", at, code, offset)
			}
			return nil
		})
		franzProduce(t, writer, read, 0, series(fmt.Sprint("round", round), 50))
		written += 50
		r.waitAll(t, map[int32]int64{0: written})
	}
	checkSettled(t, c, data, 1)
	got := franzRead(t, c, data, 2, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if diff := cmp.Diff(map[int32][]string{0: {"round 0", "round 2"}}, got); diff != "" {
		t.Errorf("read_committed (-want +got):\n%s", diff)
	}
	r.checkCommitted(t, c, map[int32]int64{0: written})
}

// TestMixed_CoordinatorsMove_MarkersMissing: a transaction is decided, but its markers cannot be written, since the only replica of
// a partition is down. Its coordinator moves to the other kind, which writes them when the partition is back.
func TestMixed_CoordinatorsMove_MarkersMissing(t *testing.T) {
	c := mixedCluster(t, 2)
	topic := "stuck"
	createAssigned(t, c, topic, nil, []int32{3})
	cl := client(t, c, kgo.RetryTimeout(60*time.Second))
	group := nameIn("g", 0, 2)
	coordinator(t, c, group)
	// Of two transactions one is committed at Jackdaw and completed by Apache Kafka, the other one aborted the other way round.
	ids := []*txnByHand{
		{cl: cl, id: nameIn("x", 0, txnStatePartitions)},
		{cl: cl, id: nameIn("x", 1, txnStatePartitions), abort: true},
	}
	transactionCoordinator(t, c, ids[0].id)
	for p, x := range ids {
		from, to := p+1, 2-p
		prefer(t, c, txnStateTopic, p, from)
		elect(t, c, from, map[string]int{txnStateTopic: p})
		prefer(t, c, txnStateTopic, p, to)
		cluster.Eventually(t, 30*time.Second, "begin of "+x.id, func() error { return x.init(t.Context()) })
		if err := x.add(t.Context(), topic, 1); err != nil {
			t.Fatal(err)
		}
		x.produce(t, c.Broker(3).Addr(), topic, x.id, 0)
		if err := x.addOffset(t.Context(), group, topic, int64(10+p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Broker(3).Kill(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, txnStateTopic, 0, 60*time.Second, 1, 2)
	waitISR(t, c, txnStateTopic, 1, 60*time.Second, 1, 2)
	states := []string{"PrepareCommit", "PrepareAbort"}
	for p, x := range ids {
		cluster.Eventually(t, 30*time.Second, "end of "+x.id, func() error { return x.end(t.Context()) })
		waitTxnState(t, c, x.id, states[p])
		elect(t, c, 2-p, map[string]int{txnStateTopic: p})
		waitTxnState(t, c, x.id, states[p])
		cluster.Eventually(t, 30*time.Second, "partitions that lack their marker", func() error {
			d, err := admin(t, c).DescribeTransactions(t.Context(), x.id)
			if got := fmt.Sprint(d[x.id].Topics.Sorted()); err == nil && got != "[{stuck [0]}]" {
				err = fmt.Errorf("%s", got)
			}
			return err
		})
	}
	waitGone(t, c, c.Broker(3))
	if err := c.Broker(3).Start(); err != nil {
		t.Fatal(err)
	}
	waitTxnState(t, c, ids[0].id, "CompleteCommit")
	waitTxnState(t, c, ids[1].id, "CompleteAbort")
	checkSettled(t, c, topic, 1)
	readCommitted(t, c, topic, map[int32][]string{0: {ids[0].id}})
	if at, _, code := fetchOffset(t, coordinator(t, c, group).Addr(), group, topic, 0, 7, true); at != 10 || code != 0 {
		t.Errorf("offset %d, error %d, want that of the committed transaction", at, code)
	}
	for _, x := range ids { // and each can begin again
		cluster.Eventually(t, 30*time.Second, "next begin of "+x.id, func() error { return x.init(t.Context()) })
	}
}
