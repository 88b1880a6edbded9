package broker_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
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
