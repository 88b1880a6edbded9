//go:build compat

package compat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// transactional returns a franz-go client with a transactional id and manual partitions.
func transactional(t *testing.T, c *cluster.Cluster, id string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, c, append([]kgo.Opt{kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

// transact writes values to each partition in one transaction.
func transact(t *testing.T, cl *kgo.Client, topic string, values map[int32][]string, end kgo.TransactionEndTry) {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for p, v := range values {
		franzProduce(t, cl, topic, p, v)
	}
	if err := cl.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

// readCommitted reads n records of a topic with both clients' isolation level read_committed, and compares.
func readCommitted(t *testing.T, c *cluster.Cluster, topic string, want map[int32][]string) {
	t.Helper()
	n := 0
	for _, v := range want {
		n += len(v)
	}
	if diff := cmp.Diff(want, franzRead(t, c, topic, n, kgo.FetchIsolationLevel(kgo.ReadCommitted()))); diff != "" {
		t.Errorf("franz-go, read_committed (-want +got):\n%s", diff)
	}
	config := saramaConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	for p, v := range want {
		if diff := cmp.Diff(v, saramaReadBy(t, c, config, topic, p, len(v), 20*time.Second)); diff != "" {
			t.Errorf("sarama, read_committed, partition %d (-want +got):\n%s", p, diff)
		}
	}
}

// stableOffset asks a leader for a partition's last stable offset.
func stableOffset(addr, topic string, partition int32) (int64, error) {
	req := wire.NewListOffsets(topic, partition, -1)
	req.IsolationLevel = 1
	r, err := wire.Ask[*kmsg.ListOffsetsResponse](addr, req, 7)
	if err != nil {
		return 0, err
	}
	p := r.Topics[0].Partitions[0]
	return p.Offset, kerr.ErrorForCode(p.ErrorCode)
}

// checkSettled waits until no transaction holds the last stable offset of any partition back.
func checkSettled(t *testing.T, c *cluster.Cluster, topic string, partitions int) {
	t.Helper()
	for p := range partitions {
		cluster.Eventually(t, 30*time.Second, fmt.Sprintf("last stable offset of %s-%d", topic, p), func() error {
			addr := leaderOf(t, c, topic, p).Addr()
			end := endOffset(t, addr, topic, int32(p))
			stable, err := stableOffset(addr, topic, int32(p))
			if err == nil && stable != end {
				err = fmt.Errorf("%d of %d", stable, end)
			}
			return err
		})
	}
}

func TestTransactions_Franz_CommittedAreReadAbortedAreNot(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 3, 3, "min.insync.replicas", "2")
	cl := transactional(t, c, topic)
	want := map[int32][]string{}
	for i := range 4 {
		values := spread(fmt.Sprint("round", i))
		transact(t, cl, topic, values, kgo.TryCommit)
		transact(t, cl, topic, spread("aborted"), kgo.TryAbort)
		for p, v := range values {
			want[p] = append(want[p], v...)
		}
	}
	readCommitted(t, c, topic, want)
	checkSettled(t, c, topic, 3)
	// 4 x (100 + marker) committed and as many aborted.
	for p := range 3 {
		if end := endOffset(t, leaderOf(t, c, topic, p).Addr(), topic, int32(p)); end != 808 {
			t.Errorf("partition %d ends at %d, want 808", p, end)
		}
		checkReplicasEqual(t, c, topic, p)
	}
}

func TestTransactions_SameIDStartedAgain_FirstIsFenced(t *testing.T) {
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	old := transactional(t, c, topic)
	if err := old.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	franzProduce(t, old, topic, 0, []string{"old"})
	transact(t, transactional(t, c, topic), topic, map[int32][]string{0: {"new"}}, kgo.TryCommit)

	err := old.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("late")}).FirstErr()
	if !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Errorf("late produce: %v", err)
	}
	if err := old.EndTransaction(t.Context(), kgo.TryCommit); err == nil {
		t.Error("the fenced producer commits")
	}
	readCommitted(t, c, topic, map[int32][]string{0: {"new"}})
	checkSettled(t, c, topic, 1)
}

func TestTransactions_TimeoutOfFiveSeconds_AbortedAndFenced(t *testing.T) {
	t.Parallel() // it mostly waits
	c := three(t)
	topic := topicName(t)
	createTopic(t, c, topic, 1, 3)
	cl := transactional(t, c, topic, kgo.TransactionTimeout(5*time.Second))
	began := time.Now()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	franzProduce(t, cl, topic, 0, []string{"v"})
	addr := leaderOf(t, c, topic, 0).Addr()
	if stable, err := stableOffset(addr, topic, 0); stable != 0 || err != nil {
		t.Errorf("last stable offset %d, %v while the transaction is open", stable, err)
	}
	checkSettled(t, c, topic, 1)
	if took := time.Since(began); took < 5*time.Second || took > 17*time.Second {
		t.Errorf("aborted after %v, want 5 to 15 s", took)
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err == nil {
		t.Error("the late commit succeeds")
	}
	if end := endOffset(t, addr, topic, 0); end != 2 {
		t.Errorf("log end %d, want 2: a record and its abort marker", end)
	}
}

func TestTransactions_Sarama_CommitsAbortsAndMovesOffsets(t *testing.T) {
	c := three(t)
	topic, group := topicName(t), topicName(t)
	createTopic(t, c, topic, 3, 3)
	config := saramaConfig()
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = topic
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(c.Bootstrap(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeNow(t, producer)
	want := map[int32][]string{}
	for i := range int64(4) {
		commit := i%2 == 0
		if err := producer.BeginTxn(); err != nil {
			t.Fatal(err)
		}
		for p := range int32(3) {
			v := fmt.Sprintf("v-%d-%d", i, p)
			if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Partition: p, Value: sarama.StringEncoder(v)}); err != nil {
				t.Fatal(err)
			}
			if commit {
				want[p] = append(want[p], v)
			}
		}
		offsets := map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: 10 + i}}}
		if err := producer.AddOffsetsToTxn(offsets, group); err != nil {
			t.Fatal(err)
		}
		end := producer.AbortTxn
		if commit {
			end = producer.CommitTxn
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	readCommitted(t, c, topic, want)
	cluster.Eventually(t, 10*time.Second, "offset of the last commit", func() error {
		offset, _, code := fetchOffset(t, coordinator(t, c, group).Addr(), group, topic, 0, 7, true)
		if code != 0 || offset != 12 {
			return fmt.Errorf("offset %d, error %d, want 12", offset, code)
		}
		return nil
	})
}

// Apache's own copier (consume, transform, produce, with aborts at random) and the tools that look at transactions.
func TestTransactions_Java_CopierAndTools(t *testing.T) {
	c := three(t)
	in, out := topicName(t)+"-in", topicName(t)+"-out"
	createTopic(t, c, in, 1, 3)
	createTopic(t, c, out, 1, 3)
	values := series("v", 500)
	franzProduce(t, client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner())), in, 0, values)
	text, err := cluster.Tool("", "org.apache.kafka.tools.TransactionalMessageCopier", "--broker-list", c.BootstrapString(),
		"--input-topic", in, "--input-partition", "0", "--output-topic", out, "--consumer-group", in, "--max-messages", "500",
		"--transaction-size", "50", "--transactional-id", in, "--transaction-timeout", "30000", "--enable-random-aborts",
		"--group-mode", "--use-group-metadata")
	if err != nil {
		t.Fatalf("copier: %v\n%s", err, text)
	}
	readCommitted(t, c, out, map[int32][]string{0: values})

	// A transaction that stays open is shown by Apache's command.
	open := transactional(t, c, out)
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	franzProduce(t, open, out, 0, []string{"open"})
	run := func(args ...string) string {
		t.Helper()
		args = append([]string{"--bootstrap-server", c.BootstrapString()}, args...)
		text, err := cluster.Tool("", "org.apache.kafka.tools.TransactionsCommand", args...)
		if err != nil {
			t.Errorf("kafka-transactions %v: %v\n%s", args, err, text)
		}
		return text
	}
	listed := strings.Fields(lineWith(run("list"), out))
	if len(listed) != 4 || listed[3] != "Ongoing" {
		t.Errorf("list: %v", listed)
	}
	described := run("describe", "--transactional-id", out)
	if !strings.Contains(described, "Ongoing") || !strings.Contains(described, out+"-0") {
		t.Errorf("describe:\n%s", described)
	}
	if err := open.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	checkSettled(t, c, out, 1)
}

// lineWith returns the first line that begins with a word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); slices.Index(f, word) == 0 {
			return line
		}
	}
	return ""
}
