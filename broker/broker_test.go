package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"jackdaw/broker"
	"jackdaw/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a broker inside this process, with its embedded ZooKeeper.
type running struct {
	*broker.Broker
	stop context.CancelFunc
	done chan error
}

// start runs a broker on the data of dir. Later settings win.
func start(t *testing.T, dir string, settings ...string) *running {
	t.Helper()
	file := filepath.Join(dir, "server.properties")
	text := "broker.id=7\nlisteners=PLAINTEXT://127.0.0.1:0\nzookeeper.connect=embedded:0\n" +
		"offsets.topic.num.partitions=3\noffsets.topic.replication.factor=1\ngroup.initial.rebalance.delay.ms=0\n" +
		"log.dirs=" + filepath.Join(dir, "data") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file, nil, settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Broker: broker.New(loaded, slog.New(slog.NewTextHandler(t.Output(), nil))), stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- r.Run(ctx) }()
	t.Cleanup(func() { r.end(t) })
	select {
	case <-r.Ready():
	case err := <-r.done:
		r.done <- err
		t.Fatalf("the broker ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the broker is not ready after a minute")
	}
	return r
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("stop: %v", err)
	}
	r.done <- nil
}

func (r *running) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	e := r.Endpoints()[0]
	addr := net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func produce(t *testing.T, client *kgo.Client, topic string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(i))}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// consume reads n records and returns their values in order.
func consume(t *testing.T, client *kgo.Client, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for len(got) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

func checkSequence(t *testing.T, got []string, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("got %d records, want %d", len(got), n)
	}
	for i, v := range got {
		if v != strconv.Itoa(i) {
			t.Fatalf("record %d: got %s", i, v)
		}
	}
}

func TestBroker_RestartedAfterCleanStop_ServesAllRecordsAndOffsets(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	client := first.client(t)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	produce(t, client, "a", 0, 100)
	group := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	member := first.client(t, group...)
	checkSequence(t, consume(t, member, 100), 100)
	if err := member.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	member.Close()
	client.Close()
	first.end(t)

	second := start(t, dir)
	produce(t, second.client(t), "a", 100, 150)
	resumed := consume(t, second.client(t, group...), 50)
	if resumed[0] != "100" {
		t.Errorf("the group resumed at record %s, want 100", resumed[0])
	}
	all := consume(t, second.client(t, kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), 150)
	checkSequence(t, all, 150)
}

func TestBroker_DataOfAnotherBroker_IsRefusedWithBothIDs(t *testing.T) {
	dir := t.TempDir()
	start(t, dir).end(t)

	loaded, err := config.Load(filepath.Join(dir, "server.properties"), nil, []string{"broker.id=8"})
	if err != nil {
		t.Fatal(err)
	}
	err = broker.New(loaded, slog.New(slog.DiscardHandler)).Run(t.Context())
	want := "broker.id=8: the data directories in log.dirs belong to broker 7: correct broker.id, or log.dirs"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBroker_NoBrokerID_IsGeneratedOnceAndKept(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		r := start(t, dir, "broker.id=-1")
		brokers, err := kadm.NewClient(r.client(t)).ListBrokers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(brokers.NodeIDs()); got != "[1001]" {
			t.Errorf("got brokers %s, want [1001]", got)
		}
		r.end(t)
	}
}

func TestBroker_TopicDeletedAndCreatedAgain_StartsEmpty(t *testing.T) {
	r := start(t, t.TempDir())
	client := r.client(t)
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(t.Context(), 2, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	produce(t, client, "a", 0, 10)
	if _, err := admin.DeleteTopic(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	// A client of its own: the first one remembers the partitions of the first topic.
	ends, err := kadm.NewClient(r.client(t)).ListEndOffsets(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ends["a"]); n != 1 {
		t.Errorf("got %d partitions, want 1", n)
	}
	if o, _ := ends.Lookup("a", 0); o.Offset != 0 || o.Err != nil {
		t.Errorf("log end: got %d, %v, want 0", o.Offset, o.Err)
	}
}
