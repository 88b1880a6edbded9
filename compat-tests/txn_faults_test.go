//go:build compat

package compat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// copier consumes one topic and produces each record to another, offsets and records in the same transaction. When its session
// fails it is started again, as a process would be.
type copier struct {
	in, out, id string
	copied      atomic.Int64
	crash       atomic.Bool // ends the session in the middle of a transaction, without a word
	restarts    int
}

// run copies until ctx ends.
func (k *copier) run(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	for ctx.Err() == nil {
		if err := k.session(ctx, c); err != nil && ctx.Err() == nil {
			k.restarts++
			t.Logf("copier starts again: %v", err)
		}
	}
}

func (k *copier) session(ctx context.Context, c *cluster.Cluster) error {
	s, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(c.Bootstrap()...), kgo.MetadataMinAge(50*time.Millisecond), kgo.TransactionalID(k.id),
		kgo.TransactionTimeout(10*time.Second), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumerGroup(k.id),
		kgo.ConsumeTopics(k.in), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryTimeout(30*time.Second),
		kgo.FetchMaxPartitionBytes(2000),
	)
	if err != nil {
		return err
	}
	defer s.Close()
	for ctx.Err() == nil {
		if err := k.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (k *copier) step(ctx context.Context, s *kgo.GroupTransactSession) error {
	fetches := s.PollRecords(ctx, 100)
	if fetches.NumRecords() == 0 {
		return fetches.Err0()
	}
	if err := s.Begin(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	failed := kgo.AbortingFirstErrPromise(s.Client())
	fetches.EachRecord(func(r *kgo.Record) {
		s.Produce(ctx, &kgo.Record{Topic: k.out, Partition: r.Partition, Value: r.Value}, failed.Promise())
	})
	err := failed.Err()
	if k.crash.CompareAndSwap(true, false) {
		return fmt.Errorf("crash in a transaction")
	}
	committed, endErr := s.End(ctx, err == nil)
	switch {
	case endErr != nil:
		return fmt.Errorf("end: %w", endErr)
	case committed:
		k.copied.Add(int64(fetches.NumRecords()))
	}
	return nil
}

// transactionCoordinator finds the broker that coordinates a transactional id.
func transactionCoordinator(t *testing.T, c *cluster.Cluster, id string) *cluster.Broker {
	t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = 1, []string{id}
	var node int32
	cluster.Eventually(t, 30*time.Second, "coordinator of "+id, func() error {
		r, err := wire.Ask[*kmsg.FindCoordinatorResponse](c.Broker(c.Running()[0]).Addr(), req, 4)
		if err != nil {
			return err
		}
		if code := r.Coordinators[0].ErrorCode; code != 0 {
			return fmt.Errorf("error %d", code)
		}
		node = r.Coordinators[0].NodeID
		return nil
	})
	return c.Broker(int(node))
}

// startJavaCopier starts Apache's copier, in Java, from java-in to java-out. It ends by itself.
func startJavaCopier(t *testing.T, c *cluster.Cluster, source *kgo.Client) (*cluster.Process, map[int32][]string) {
	t.Helper()
	const messages = 15_000
	createTopic(t, c, "java-in", 1, 3, "min.insync.replicas", "2")
	createTopic(t, c, "java-out", 1, 3, "min.insync.replicas", "2")
	values := map[int32][]string{0: series("v", messages)}
	transact(t, source, "java-in", values, kgo.TryCommit)
	p, err := cluster.StartTool(t.TempDir(), "copier", "org.apache.kafka.tools.TransactionalMessageCopier", "--broker-list", c.BootstrapString(),
		"--input-topic", "java-in", "--input-partition", "0", "--output-topic", "java-out", "--consumer-group", "java",
		"--max-messages", strconv.Itoa(messages), "--transaction-size", "50", "--transactional-id", "java",
		"--transaction-timeout", "30000", "--use-group-metadata")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.Running() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	return p, values
}

// TestTransactions_BrokersAndCopierKilled_ExactlyOnce: brokers are killed while a Go and a Java copier run (the coordinator of the
// transaction, that of the group, a leader), and the Go copier itself once; a read_committed reader finds each record once.
func TestTransactions_BrokersAndCopierKilled_ExactlyOnce(t *testing.T) {
	const perPartition, partitions = 4000, 3
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
		"transaction.state.log.min.isr": "2",
	}})
	k := &copier{in: "in", out: "out", id: "copier"}
	for _, topic := range []string{k.in, k.out} {
		createTopic(t, c, topic, partitions, 3, "min.insync.replicas", "2")
	}
	source := transactional(t, c, "source")
	want := map[int32][]string{}
	for p := range int32(partitions) {
		for i := range perPartition {
			want[p] = append(want[p], strconv.Itoa(i))
		}
	}
	transact(t, source, k.in, want, kgo.TryCommit)
	java, javaWant := startJavaCopier(t, c, source)

	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { k.run(ctx, t, c) })
	defer done.Wait()
	defer stop()
	progress := func(n int64) {
		t.Helper()
		cluster.Eventually(t, 60*time.Second, "progress of the copier", func() error {
			if got := k.copied.Load(); got < n {
				return fmt.Errorf("%d of %d", got, n)
			}
			return nil
		})
	}
	progress(1000)
	for i, victim := range []func() *cluster.Broker{
		func() *cluster.Broker { return transactionCoordinator(t, c, k.id) },
		func() *cluster.Broker { return coordinator(t, c, k.id) },
		func() *cluster.Broker { return leaderOf(t, c, k.out, 1) },
	} {
		b, before := victim(), k.copied.Load()
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		progress(min(before+500, perPartition*partitions))
		t.Logf("broker %d killed at %d; the copier went on within %v", b.ID, before, time.Since(began).Round(time.Millisecond))
		if i == 1 {
			k.crash.Store(true)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		for p := range partitions {
			waitISR(t, c, k.out, p, 60*time.Second, 1, 2, 3)
		}
	}
	checkCopied(t, c, k.out, want)
	if code, err := java.Wait(60 * time.Second); err != nil || code != 0 {
		t.Errorf("Java's copier: exit status %d, %v\n%s", code, err, java.Tail(40))
	}
	checkCopied(t, c, "java-out", javaWant)
	checkSettled(t, c, "java-out", 1)
	stop()
	done.Wait()
	checkSettled(t, c, k.out, partitions)
	t.Logf("the copier was started again %d times", k.restarts)
}

// checkCopied reads until everything is there, and a little longer: nothing may come twice.
func checkCopied(t *testing.T, c *cluster.Cluster, topic string, want map[int32][]string) {
	t.Helper()
	n := 0
	for _, v := range want {
		n += len(v)
	}
	got := map[int32][]string{}
	cl := client(t, c, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	deadline := time.Now().Add(60 * time.Second)
	for count := 0; count < n || time.Now().Before(deadline); {
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		fetches := cl.PollFetches(ctx)
		cancel()
		if ctx.Err() != nil && fetches.NumRecords() == 0 {
			break
		}
		fetches.EachRecord(func(r *kgo.Record) { got[r.Partition] = append(got[r.Partition], string(r.Value)) })
		before := count
		if count += fetches.NumRecords(); before < n && count >= n {
			deadline = time.Now().Add(time.Second)
		}
	}
	for p, w := range want {
		if !slices.Equal(got[p], w) {
			t.Errorf("partition %d: %d records, want %d in order: lost, doubled or out of order", p, len(got[p]), len(w))
		}
	}
}

// TestTransactions_ManyEndAtOnce_BrokerKilled_AllComplete: 200 ids over three coordinators commit at the same moment and a broker
// dies just then; each completes, and its next transaction begins.
func TestTransactions_ManyEndAtOnce_BrokerKilled_AllComplete(t *testing.T) {
	const ids = 200
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	createTopic(t, c, "many", 3, 3, "min.insync.replicas", "2")
	coordinator(t, c, "g")
	transactionCoordinator(t, c, "id-0")
	cl := client(t, c, kgo.RetryTimeout(60*time.Second), kgo.RequestRetries(1000))
	producers := make([]*txnByHand, ids)
	each := func(what string, f func(p *txnByHand) error) {
		t.Helper()
		var all sync.WaitGroup
		for i := range producers {
			all.Go(func() {
				cluster.Eventually(t, 60*time.Second, what+" of "+producers[i].id, func() error { return f(producers[i]) })
			})
		}
		all.Wait()
	}
	for i := range producers {
		producers[i] = &txnByHand{cl: cl, id: fmt.Sprint("id-", i)}
	}
	each("begin", func(p *txnByHand) error { return p.init(t.Context()) })
	each("add", func(p *txnByHand) error { return p.add(t.Context(), "many", 3) })
	var ended atomic.Int64
	victim := c.Broker(2)
	each("end", func(p *txnByHand) error {
		if ended.Add(1) == ids/2 {
			if err := victim.Kill(); err != nil {
				t.Error(err)
			}
		}
		return p.end(t.Context())
	})
	began := time.Now()
	each("next begin", func(p *txnByHand) error { return p.init(t.Context()) })
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("completed after %v", took)
	}
	each("next add", func(p *txnByHand) error { return p.add(t.Context(), "many", 3) })
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	each("next end", func(p *txnByHand) error { return p.end(t.Context()) })
	checkSettled(t, c, "many", 3)
	for p := range 3 {
		waitISR(t, c, "many", p, 60*time.Second, 1, 2, 3)
		checkReplicasEqual(t, c, "many", p)
	}
}

// txnByHand is a transactional id without records.
type txnByHand struct {
	cl    *kgo.Client
	id    string
	pid   int64
	epoch int16
	abort bool // what end does
}

func (p *txnByHand) init(ctx context.Context) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &p.id, 60_000, -1, -1
	r, err := req.RequestWith(ctx, p.cl)
	if err == nil {
		p.pid, p.epoch, err = r.ProducerID, r.ProducerEpoch, kerr.ErrorForCode(r.ErrorCode)
	}
	return err
}

func (p *txnByHand) add(ctx context.Context, topic string, partitions int32) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.pid, p.epoch
	t := kmsg.AddPartitionsToTxnRequestTopic{Topic: topic}
	for i := range partitions {
		t.Partitions = append(t.Partitions, i)
	}
	req.Topics = append(req.Topics, t)
	r, err := req.RequestWith(ctx, p.cl)
	if err == nil {
		err = kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
	}
	return err
}

// addOffset takes an offset of a group into the transaction.
func (p *txnByHand) addOffset(ctx context.Context, group, topic string, offset int64) error {
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.id, p.pid, p.epoch, group
	added, err := add.RequestWith(ctx, p.cl)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("add offsets: %w", err)
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = p.id, p.pid, p.epoch, group, -1
	o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	o.Offset = offset
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{o}}}
	r, err := req.RequestWith(ctx, p.cl)
	if err == nil {
		err = kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
	}
	return err
}

func (p *txnByHand) end(ctx context.Context) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.pid, p.epoch, !p.abort
	r, err := req.RequestWith(ctx, p.cl)
	if err == nil {
		err = kerr.ErrorForCode(r.ErrorCode)
	}
	return err
}
