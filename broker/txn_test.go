package broker_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol/record"
)

// txnSettings make transactions work on one broker, and transactions that are given up end soon.
var txnSettings = []string{
	"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1", "transaction.state.log.num.partitions=3",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms=100",
}

func createTopic(t *testing.T, r *running, topic string, partitions int32) {
	t.Helper()
	if _, err := kadm.NewClient(r.client(t)).CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// inTransaction produces the numbers from..to-1 and commits or aborts.
func inTransaction(t *testing.T, client *kgo.Client, topic string, from, to int, end kgo.TransactionEndTry) {
	t.Helper()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, client, topic, from, to)
	if err := client.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

func readCommitted(topic string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100 * time.Millisecond),
	}
}

func TestTransactions_CommittedAndAborted_ReadCommittedSeesTheCommitted(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir, txnSettings...)
	createTopic(t, r, "a", 1)
	producer := r.client(t, kgo.TransactionalID("x"))
	for i := range 5 {
		inTransaction(t, producer, "a", 10*i, 10*i+10, kgo.TryCommit)
		inTransaction(t, producer, "a", 1000, 1010, kgo.TryAbort)
	}
	checkSequence(t, consume(t, r.client(t, readCommitted("a")...), 50), 50)
	producer.Close()
	r.end(t)

	r = start(t, dir, txnSettings...)
	producer = r.client(t, kgo.TransactionalID("x"))
	inTransaction(t, producer, "a", 50, 60, kgo.TryCommit)
	checkSequence(t, consume(t, r.client(t, readCommitted("a")...), 60), 60)
	ends, err := kadm.NewClient(r.client(t)).ListEndOffsets(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	// 110 records, and a marker for each of 11 transactions.
	if o, _ := ends.Lookup("a", 0); o.Offset != 121 {
		t.Errorf("log end %d, want %s", o.Offset, strconv.Itoa(121))
	}
}

func TestTransactions_BrokerRestartedInside_TransactionGoesOn(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir, txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	p.begin(time.Minute)
	p.check("add", errors.Join(p.add(3, "a", 0)...), nil)
	p.check("add offsets", p.addOffsets(3, "g"), nil)
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	p.check("commit offset", p.commitOffset(3, "g", "a", 5, ""), nil)
	r.end(t)

	r = start(t, dir, txnSettings...)
	again := r.raw(t, "x")
	again.pid, again.epoch, again.seq = p.pid, p.epoch, p.seq
	admin := kadm.NewClient(r.client(t))
	if lso := committedEnd(t, admin, "a"); lso != 0 {
		t.Errorf("LSO %d, want 0", lso)
	}
	for err := error(kerr.CoordinatorLoadInProgress); err != nil; err = errors.Join(again.add(3, "a", 0)...) {
		again.check("load", err, kerr.CoordinatorLoadInProgress)
		pause(t)
	}
	again.checkProduced("produce", again.produce(9, "a", false), nil)
	again.check("end", again.end(3, true), nil)
	for committedEnd(t, admin, "a") != 3 {
		pause(t)
	}
	offsets, err := admin.FetchOffsets(t.Context(), "g")
	if o, ok := offsets.Lookup("a", 0); err != nil || !ok || o.At != 5 {
		t.Errorf("offset %v, %v, %v, want 5", o, ok, err)
	}
}

func TestTransactions_TopicDeletedInside_EndsAndBeginsAgain(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	createTopic(t, r, "b", 1)
	p := r.raw(t, "x")
	p.begin(time.Minute)
	p.check("add", errors.Join(append(p.add(3, "a", 0), p.add(3, "b", 0)...)...), nil)
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	admin := kadm.NewClient(r.client(t))
	if _, err := admin.DeleteTopic(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	p.check("end", p.end(3, true), nil)
	createTopic(t, r, "a", 1)
	for err := errors.Join(p.add(3, "a", 0)...); err != nil; err = errors.Join(p.add(3, "a", 0)...) {
		if !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Fatal(err)
		}
		pause(t)
	}
	p.seq = 0
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	p.check("end", p.end(3, true), nil)
	for committedEnd(t, admin, "a") < 2 {
		pause(t)
	}
}

// Two producers take turns, several segments and a restart lie between; each abort is told by its first offset.
func TestFetch_ReadCommitted_ListsAbortedTransactionsOfTheRange(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir, txnSettings...)
	small := "300"
	if _, err := kadm.NewClient(r.client(t)).CreateTopic(t.Context(), 1, 1, map[string]*string{"segment.bytes": &small}, "a"); err != nil {
		t.Fatal(err)
	}
	x, y := r.raw(t, "x"), r.raw(t, "y")
	x.begin(time.Minute)
	y.begin(time.Minute)
	admin := kadm.NewClient(r.client(t))
	for round := range int64(5) { // 10 offsets a round: x y x y x y x y, the abort of x, the commit of y
		x.check("add", errors.Join(append(x.add(3, "a", 0), y.add(3, "a", 0)...)...), nil)
		for range 4 {
			x.checkProduced("produce", x.produce(9, "a", false), nil)
			y.checkProduced("produce", y.produce(9, "a", false), nil)
		}
		x.check("abort", x.end(3, false), nil)
		for committedEnd(t, admin, "a") != 10*round+1 { // held by y
			pause(t)
		}
		y.check("commit", y.end(3, true), nil)
		for committedEnd(t, admin, "a") != 10*round+10 {
			pause(t)
		}
		for _, p := range []*rawProducer{x, y} {
			for errors.Is(p.end(3, p == y), kerr.ConcurrentTransactions) {
				pause(t)
			}
		}
	}
	check := func(r *running) {
		t.Helper()
		for _, c := range []struct {
			offset int64
			want   []int64 // first offsets
		}{{0, []int64{0, 10, 20, 30, 40}}, {15, []int64{10, 20, 30, 40}}, {48, []int64{40}}, {49, nil}} {
			got := abortedFrom(t, r, "a", c.offset)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fetch at %d: %s", c.offset, diff)
			}
		}
	}
	check(r)
	r.end(t)
	check(start(t, dir, txnSettings...))
}

// abortedFrom reads all that is there and returns the first offsets of the aborted transactions that it is told of, once each.
func abortedFrom(t *testing.T, r *running, topic string, offset int64) (first []int64) {
	t.Helper()
	broker := r.client(t).Broker(7)
	for offset < 50 {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = -1, 100, 1, 1<<20, 1
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{
			FetchOffset: offset, LogStartOffset: -1, CurrentLeaderEpoch: -1, PartitionMaxBytes: 1 << 20,
		}}}}
		resp, err := broker.Request(t.Context(), pinned{req, 11})
		if err != nil {
			t.Fatal(err)
		}
		p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if kerr.IsRetriable(kerr.ErrorForCode(p.ErrorCode)) {
			pause(t) // just started
			continue
		}
		if p.ErrorCode != 0 || p.LastStableOffset != 50 || len(p.RecordBatches) == 0 {
			t.Fatalf("fetch at %d: error %d, LSO %d, %d bytes", offset, p.ErrorCode, p.LastStableOffset, len(p.RecordBatches))
		}
		for _, a := range p.AbortedTransactions {
			if !slices.Contains(first, a.FirstOffset) {
				first = append(first, a.FirstOffset)
			}
		}
		for rest := p.RecordBatches; len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err != nil {
				t.Fatal(err)
			}
			offset = b.NextOffset()
		}
	}
	return first
}

func TestTransactions_Described_ShowStateAndProducers(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	p.begin(time.Minute)
	p.check("add", errors.Join(p.add(3, "a", 0)...), nil)
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	admin := kadm.NewClient(r.client(t))

	listed, err := admin.ListTransactions(t.Context(), nil, []string{"Ongoing"})
	if err != nil || listed["x"].ProducerID != p.pid || listed["x"].State != "Ongoing" || len(listed) != 1 {
		t.Errorf("listed %v, %v", listed, err)
	}
	described, err := admin.DescribeTransactions(t.Context(), "x")
	if x := described["x"]; err != nil || x.State != "Ongoing" || x.ProducerID != p.pid || x.TimeoutMillis != 60_000 || !x.Topics.Lookup("a", 0) {
		t.Errorf("described %+v, %v", described["x"], err)
	}
	var tps kadm.TopicsSet
	tps.Add("a", 0)
	producers, err := admin.DescribeProducers(t.Context(), tps)
	if err != nil {
		t.Fatal(err)
	}
	got := producers["a"].Partitions[0].ActiveProducers.Sorted()
	if len(got) != 1 || got[0].ProducerID != p.pid || got[0].CurrentTxnStartOffset != 0 || got[0].LastSequence != 0 {
		t.Errorf("producers %+v", got)
	}
}

func TestOffsetCommit_Version0_KeepsOffsetsInZooKeeper(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	fetch := func(group, topic string) (int64, error) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
		o := p.request(0, req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0]
		return o.Offset, kerr.ErrorForCode(o.ErrorCode)
	}
	commit := func(group, topic string, offset int64) error {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group = group
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset}}}}
		return kerr.ErrorForCode(p.request(0, req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if offset, err := fetch("g", "a"); offset != -1 || !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("nothing committed: %d, %v", offset, err)
	}
	for _, want := range []int64{5, 42} {
		p.check("commit", commit("g", "a", want), nil)
		if offset, err := fetch("g", "a"); offset != want || err != nil {
			t.Errorf("got %d, %v, want %d", offset, err, want)
		}
	}
	p.check("unknown topic", commit("g", "no", 1), kerr.UnknownTopicOrPartition)
	p.check("a group that is no name of a znode", commit("../brokers", "a", 1), kerr.InvalidGroupID)
}
