//go:build compat

package compat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// streamsApp is a Kafka Streams application with exactly_once_v2 on two instances: testdata/Totals.java. It counts and sums up
// numbers by key, through a repartition topic and a store with a changelog.
type streamsApp struct {
	c         *cluster.Cluster
	id        string
	keys      int
	instances []*cluster.Process

	// What the application must do with what is sent, and what a read_committed reader has seen of it.
	sent []int64 // numbers by key; the n-th of a key is n
	mu   sync.Mutex
	seen map[string][]string
}

const streamsPartitions = 3

// startStreamsApp creates the topics, and starts both instances and a reader.
func startStreamsApp(t *testing.T, c *cluster.Cluster) *streamsApp {
	t.Helper()
	a := &streamsApp{c: c, id: "totals", keys: 10, seen: map[string][]string{}}
	a.sent = make([]int64, a.keys)
	for _, topic := range []string{"in", "out"} {
		createTopic(t, c, a.id+"-"+topic, streamsPartitions, 3, "min.insync.replicas", "2")
	}
	for i := range 2 {
		dir := t.TempDir()
		p, err := cluster.StartTool(dir, "streams instance "+strconv.Itoa(i), filepath.Join("testdata", "Totals.java"), c.BootstrapString(), a.id, dir)
		if err != nil {
			t.Fatal(err)
		}
		a.instances = append(a.instances, p)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("---- end of the log of %s\n%s", p.Name, p.Tail(40))
			}
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	a.read(t)
	return a
}

// read collects what is committed, until the test ends.
func (a *streamsApp) read(t *testing.T) {
	t.Helper()
	cl := client(t, a.c, kgo.ConsumeTopics(a.id+"-out"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			a.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { a.seen[string(r.Key)] = append(a.seen[string(r.Key)], string(r.Value)) })
			a.mu.Unlock()
		}
	})
	t.Cleanup(done.Wait)
	t.Cleanup(stop)
}

// feed sends numbers for all keys over all partitions, until ctx ends and all are acknowledged.
func (a *streamsApp) feed(ctx context.Context, t *testing.T, cl *kgo.Client) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		k := i % a.keys
		a.sent[k]++
		r := &kgo.Record{Topic: a.id + "-in", Partition: int32(i % streamsPartitions), Value: fmt.Appendf(nil, "key-%d %d", k, a.sent[k])}
		cl.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("input: %v", err)
			}
		})
		<-tick.C
	}
	if err := cl.Flush(context.Background()); err != nil {
		t.Error(err)
	}
}

func (a *streamsApp) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, values := range a.seen {
		n += len(values)
	}
	return n
}

// goesOn waits until 100 more results are committed: no transaction holds back the last stable offset of a topic for longer.
func (a *streamsApp) goesOn(t *testing.T, what string) {
	t.Helper()
	before, began := a.count(), time.Now()
	cluster.Eventually(t, 2*time.Minute, "results after "+what, func() error {
		if n := a.count(); n < before+100 {
			return fmt.Errorf("%d, had %d", n, before)
		}
		return nil
	})
	t.Logf("%s: goes on within %v", what, time.Since(began).Round(time.Millisecond))
}

// transactionCoordinator is the broker that coordinates one of the application's transactional ids.
func (a *streamsApp) transactionCoordinator(t *testing.T) *cluster.Broker {
	t.Helper()
	var id string
	cluster.Eventually(t, 30*time.Second, "transactional ids of the application", func() error {
		listed, err := admin(t, a.c).ListTransactions(t.Context(), nil, nil)
		for _, x := range listed.Sorted() {
			if strings.HasPrefix(x.TxnID, a.id+"-") {
				id = x.TxnID
				return nil
			}
		}
		return errors.Join(err, errNotYet)
	})
	return transactionCoordinator(t, a.c, id)
}

// check compares what was committed with what was sent: for each key the counts 1, 2, 3, and in the end the sum of all.
func (a *streamsApp) check(t *testing.T) {
	t.Helper()
	total := 0
	for _, n := range a.sent {
		total += int(n)
	}
	cluster.Eventually(t, 2*time.Minute, "results of all inputs", func() error {
		if n := a.count(); n < total {
			return fmt.Errorf("%d of %d", n, total)
		}
		return nil
	})
	for _, topic := range []string{a.id + "-out", a.id + "-totals-changelog", a.id + "-totals-repartition"} {
		checkSettled(t, a.c, topic, streamsPartitions)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, n := range a.sent {
		key := "key-" + strconv.Itoa(k)
		if err := countsUp(a.seen[key], n); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	t.Logf("%d records, each counted once", total)
}

// countsUp checks the results of one key to which the numbers 1 to n were sent.
func countsUp(results []string, n int64) error {
	if int64(len(results)) != n {
		return fmt.Errorf("%d results of %d inputs", len(results), n)
	}
	for i, r := range results {
		if count, _, _ := strings.Cut(r, " "); count != strconv.Itoa(i+1) {
			return fmt.Errorf("result %d is %q: an input has no effect, or two\n%v", i+1, r, slices.Compact(results[max(0, i-3):min(len(results), i+3)]))
		}
	}
	if want := fmt.Sprint(n, " ", n*(n+1)/2); n > 0 && results[n-1] != want {
		return fmt.Errorf("the last result is %q, want %q", results[n-1], want)
	}
	return nil
}

// TestStreams_BrokersAndInstancesKilled_EachInputCountsOnce kills what a Kafka Streams application with exactly_once_v2 depends on,
// one after the other, while it works: coordinators, the leader of its store's changelog, and one of its own instances.
func TestStreams_BrokersAndInstancesKilled_EachInputCountsOnce(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
		"transaction.state.log.min.isr": "2",
	}})
	a := startStreamsApp(t, c)
	ctx, stop := context.WithCancel(t.Context())
	input := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryTimeout(60*time.Second))
	var done sync.WaitGroup
	done.Go(func() { a.feed(ctx, t, input) })
	defer done.Wait()
	defer stop()
	a.goesOn(t, "start")

	changelog := a.id + "-totals-changelog"
	for _, victim := range []struct {
		what string
		find func() *cluster.Broker
	}{
		{"transaction coordinator", func() *cluster.Broker { return a.transactionCoordinator(t) }},
		{"group coordinator", func() *cluster.Broker { return coordinator(t, c, a.id) }},
		{"leader of a changelog", func() *cluster.Broker { return leaderOf(t, c, changelog, 0) }},
	} {
		b := victim.find()
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		a.goesOn(t, victim.what+" killed")
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		for p := range streamsPartitions {
			waitISR(t, c, changelog, p, 60*time.Second, 1, 2, 3)
		}
	}
	if err := a.instances[0].Kill(); err != nil {
		t.Fatal(err)
	}
	a.goesOn(t, "instance killed")
	if err := a.instances[0].Start(); err != nil {
		t.Fatal(err)
	}
	if err := a.instances[0].WaitOutput("state RUNNING", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	a.goesOn(t, "instance started")
	stop()
	done.Wait()
	a.check(t)
}
