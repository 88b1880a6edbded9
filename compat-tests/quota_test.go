//go:build compat

package compat

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// The load of a client with a quota of 1 MiB a second. One window's worth is free, and is spent at once.
const (
	quotaRate    = 1 << 20
	quotaRecord  = 1 << 10
	quotaFree    = 3 << 20
	quotaMeasure = 16 << 20
	quotaRecords = (quotaFree + quotaMeasure + 2<<20) / quotaRecord
)

// quotaLoad is a client that goes as fast as it is let. read is told the bytes that a consumer has got.
type quotaLoad func(t *testing.T, c *cluster.Cluster, topic, id string, read func(int)) error

// quotaLoads are clients of three kinds, as producers and as consumers.
var quotaLoads = map[string]struct{ produce, consume quotaLoad }{
	"franz": {franzProduceLoad, franzConsumeLoad},
	"kcat":  {kcatProduceLoad, kcatConsumeLoad},
	"java":  {javaProduceLoad, javaConsumeLoad},
}

// TestQuota_EveryKind_HoldsUpAsKafkaDoes has a quota of each kind on one broker.
func TestQuota_EveryKind_HoldsUpAsKafkaDoes(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"quota.window.num": "2", "controller.quota.window.num": "2"}})
	for _, kind := range []struct {
		name  string
		check func(*testing.T, *cluster.Cluster)
	}{
		{"bytes", checkByteRates},
		{"changes of topics", checkMutationRate},
		{"time of requests", checkRequestTime},
		{"connections", checkConnectionRate},
	} {
		t.Run(kind.name, func(t *testing.T) { kind.check(t, c) })
	}
}

// checkByteRates has clients of three kinds produce and consume as fast as they can, at the same time and each under a quota
// of its own, which it has by another kind of entity: within a tenth of the quota, and without a lost connection. Quotas of
// weaker entities do not count.
func checkByteRates(t *testing.T, c *cluster.Cluster) {
	quotaTopics(t, c)
	anonymous := "ANONYMOUS"
	for name, user := range map[string]*string{"franz": nil, "kcat": &anonymous} {
		for _, way := range []string{"produce", "consume"} {
			id := way + "-" + name
			setByteRates(t, c, quotaRate, kadm.ClientQuotaEntity{{Type: "user", Name: user}, {Type: "client-id", Name: &id}})
		}
	}
	setByteRates(t, c, quotaRate, kadm.ClientQuotaEntity{{Type: "user"}, {Type: "client-id"}}) // java has no other
	for _, weaker := range []kadm.ClientQuotaEntity{{{Type: "user"}}, {{Type: "client-id"}}} {
		setByteRates(t, c, quotaRate/16, weaker)
	}

	done, meters := make(chan error, 2*len(quotaLoads)), map[string]*rateMeter{}
	for name, l := range quotaLoads {
		meters["consume-"+name], meters["produce-"+name] = &rateMeter{}, &rateMeter{}
		go func() { done <- l.produce(t, c, "to-"+name, "produce-"+name, nil) }()
		go func() { done <- l.consume(t, c, "from-"+name, "consume-"+name, meters["consume-"+name].add) }()
	}
	stop := make(chan struct{})
	go watchLogs(c.Brokers[0].Addr(), meters, stop)
	for range 2 * len(quotaLoads) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for name, m := range meters {
		rate := m.rate()
		t.Logf("%s: %.2f MiB a second", name, rate/(1<<20))
		if rate < quotaRate*0.9 || rate > quotaRate*1.1 {
			t.Errorf("%s: %.0f bytes a second, the quota is %d", name, rate, quotaRate)
		}
	}
}

// checkMutationRate: a request may overdraw what is allowed once. The next is refused in new versions, and executed but held up
// in old ones (KIP-599).
func checkMutationRate(t *testing.T, c *cluster.Cluster) {
	id := "changes"
	setQuota(t, c, kadm.ClientQuotaEntity{{Type: "client-id", Name: &id}}, kadm.AlterClientQuotaOp{Key: "controller_mutation_rate", Value: 2})
	adm := admin(t, c)
	conn := dialAs(t, c, id)
	create := func(name string, partitions int32, version int16) (code int16, throttle int32) {
		t.Helper()
		r := do[*kmsg.CreateTopicsResponse](t, conn, wire.NewCreateTopic(name, partitions, 1), version)
		return r.Topics[0].ErrorCode, r.ThrottleMillis
	}
	cluster.Eventually(t, 10*time.Second, "a request that overdraws", func() error {
		if code, _ := create("overdraws", 12, 6); code != 0 {
			return fmt.Errorf("error %d", code)
		}
		code, throttle := create("too-many", 1, 6)
		if code == 0 {
			_, err := adm.DeleteTopics(t.Context(), "overdraws", "too-many")
			return errors.Join(errors.New("the quota is not in force yet"), err)
		}
		if code != kerr.ThrottlingQuotaExceeded.Code || throttle < 1000 || throttle > 6000 {
			t.Errorf("CreateTopics v6: error %d, throttle %d ms", code, throttle)
		}
		return nil
	})
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.TimeoutMillis = 10000
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "overdraws", Count: 20}}
	conn = dialAs(t, c, id) // the other one is muted
	if r := do[*kmsg.CreatePartitionsResponse](t, conn, grow, 3); r.Topics[0].ErrorCode != kerr.ThrottlingQuotaExceeded.Code || r.ThrottleMillis == 0 {
		t.Errorf("CreatePartitions v3: error %d, throttle %d ms", r.Topics[0].ErrorCode, r.ThrottleMillis)
	}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TimeoutMillis, remove.TopicNames = 10000, []string{"overdraws"}
	conn = dialAs(t, c, id)
	if r := do[*kmsg.DeleteTopicsResponse](t, conn, remove, 5); r.Topics[0].ErrorCode != kerr.ThrottlingQuotaExceeded.Code || r.ThrottleMillis == 0 {
		t.Errorf("DeleteTopics v5: error %d, throttle %d ms", r.Topics[0].ErrorCode, r.ThrottleMillis)
	}
	conn = dialAs(t, c, id)
	code, throttle := create("of-old", 1, 5)
	if code != 0 || throttle == 0 {
		t.Errorf("CreateTopics v5: error %d, throttle %d ms", code, throttle)
	}
	began := time.Now()
	do[*kmsg.MetadataResponse](t, conn, wire.NewMetadata(), 12)
	if took := time.Since(began); took < time.Duration(throttle)*time.Millisecond/2 {
		t.Errorf("the next request was answered after %v, the throttle was %d ms", took, throttle)
	}
}

// checkRequestTime: a client that uses more time of handlers than it may is held up, for a window at most.
func checkRequestTime(t *testing.T, c *cluster.Cluster) {
	id := "busy"
	setQuota(t, c, kadm.ClientQuotaEntity{{Type: "client-id", Name: &id}}, kadm.AlterClientQuotaOp{Key: "request_percentage", Value: 0.01})
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"}}
	conn, idle := dialAs(t, c, id), dialAs(t, c, "idle")
	cluster.Eventually(t, 20*time.Second, "a throttle", func() error {
		switch ms := do[*kmsg.DescribeConfigsResponse](t, conn, req, 4).ThrottleMillis; {
		case ms == 0:
			return errors.New("not held up")
		case ms > 1000:
			t.Errorf("held up for %d ms, which is more than a window", ms)
		}
		return nil
	})
	if ms := do[*kmsg.DescribeConfigsResponse](t, idle, req, 4).ThrottleMillis; ms > 0 {
		t.Errorf("another client is held up for %d ms", ms)
	}
}

// checkConnectionRate: what is too much is closed without an answer, after a wait (KIP-612).
func checkConnectionRate(t *testing.T, c *cluster.Cluster) {
	ip := "127.0.0.1"
	entity := kadm.ClientQuotaEntity{{Type: "ip", Name: &ip}}
	adm := admin(t, c) // keeps its connection
	if _, err := adm.ListBrokers(t.Context()); err != nil {
		t.Fatal(err)
	}
	setQuota(t, c, entity, kadm.AlterClientQuotaOp{Key: "connection_creation_rate", Value: 2})
	cluster.Eventually(t, 20*time.Second, "a refused connection", func() error {
		conn := dialAs(t, c, "comes")
		defer conn.Close()
		began := time.Now()
		_, err := conn.Do(kmsg.NewPtrApiVersionsRequest(), 0)
		if err == nil {
			return errors.New("served")
		}
		if took := time.Since(began); !errors.Is(err, wire.ErrClosed) || took > 2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		return nil
	})
	r, err := adm.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: []kadm.AlterClientQuotaOp{{Key: "connection_creation_rate", Remove: true}}}})
	if err != nil || r[0].Err != nil {
		t.Errorf("on a connection that was there before: %v, %v", err, r)
	}
	cluster.Eventually(t, 20*time.Second, "connections again", func() error {
		conn := dialAs(t, c, "comes")
		defer conn.Close()
		_, err := conn.Do(kmsg.NewPtrApiVersionsRequest(), 0)
		return err
	})
}

// dialAs connects with a client id.
func dialAs(t *testing.T, c *cluster.Cluster, id string) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(c.Brokers[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	conn.ClientID = id
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// do asks on a connection.
func do[R kmsg.Response](t *testing.T, conn *wire.Conn, req kmsg.Request, version int16) R {
	t.Helper()
	resp, err := conn.Do(req, version)
	if err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp.(R)
}

// quotaTopics makes the topics, those to read with their records.
func quotaTopics(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cl := client(t, c, kgo.ProducerBatchMaxBytes(64<<10), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for name := range quotaLoads {
		createTopic(t, c, "to-"+name, 1, 1)
		createTopic(t, c, "from-"+name, 1, 1)
		for range quotaRecords {
			cl.Produce(t.Context(), &kgo.Record{Topic: "from-" + name, Value: make([]byte, quotaRecord)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("produce: %v", err)
				}
			})
		}
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func setByteRates(t *testing.T, c *cluster.Cluster, rate float64, e kadm.ClientQuotaEntity) {
	t.Helper()
	setQuota(t, c, e, kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: rate}, kadm.AlterClientQuotaOp{Key: "consumer_byte_rate", Value: rate})
}

func setQuota(t *testing.T, c *cluster.Cluster, e kadm.ClientQuotaEntity, ops ...kadm.AlterClientQuotaOp) {
	t.Helper()
	r, err := admin(t, c).AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{Entity: e, Ops: ops}})
	if err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
}

// rateMeter measures between the moments at which quotaFree and quotaFree+quotaMeasure bytes are there. One goroutine adds.
type rateMeter struct {
	total         int
	began, ended  time.Time
	before, after int
}

func (m *rateMeter) add(n int) {
	m.total += n
	now := time.Now()
	if m.began.IsZero() && m.total >= quotaFree {
		m.began, m.before = now, m.total
	}
	if m.ended.IsZero() && !m.began.IsZero() && m.total >= m.before+quotaMeasure {
		m.ended, m.after = now, m.total
	}
}

// rate is in bytes a second; 0 when there were not enough of them.
func (m *rateMeter) rate() float64 {
	if m.ended.IsZero() {
		return 0
	}
	return float64(m.after-m.before) / m.ended.Sub(m.began).Seconds()
}

// watchLogs reads how fast the logs of producers grow.
func watchLogs(addr string, meters map[string]*rateMeter, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		for name := range quotaLoads {
			asked := time.Now()
			r, err := wire.Ask[*kmsg.ListOffsetsResponse](addr, wire.NewListOffsets("to-"+name, 0, -1), 7)
			// After a long wait nobody knows when the log ended there.
			if m := meters["produce-"+name]; err == nil && time.Since(asked) < 100*time.Millisecond {
				m.add(int(r.Topics[0].Partitions[0].Offset)*quotaRecord - m.total)
			}
		}
	}
}

// quotaHooks see what a client is told, and what happens to its connections.
type quotaHooks struct {
	throttled, before atomic.Int32
	lost              atomic.Int32
}

// OnBrokerThrottle implements kgo.HookBrokerThrottle.
func (h *quotaHooks) OnBrokerThrottle(_ kgo.BrokerMetadata, _ time.Duration, afterResponse bool) {
	h.throttled.Add(1)
	if !afterResponse {
		h.before.Add(1)
	}
}

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (h *quotaHooks) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { h.lost.Add(1) }

// err says what was wrong: the broker answers at once and then lets nothing in (KIP-219), and keeps the connection.
func (h *quotaHooks) err(id string) error {
	if h.throttled.Load() == 0 || h.before.Load() > 0 || h.lost.Load() > 0 {
		return fmt.Errorf("%s: told of %d throttles, %d of them before the answer, %d connections lost", id, h.throttled.Load(), h.before.Load(), h.lost.Load())
	}
	return nil
}

func franzProduceLoad(t *testing.T, c *cluster.Cluster, topic, id string, _ func(int)) error {
	var hooks quotaHooks
	cl := client(t, c, kgo.ClientID(id), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(64<<10), kgo.WithHooks(&hooks),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var failed error
	for range quotaRecords {
		cl.Produce(t.Context(), &kgo.Record{Value: make([]byte, quotaRecord)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	return errors.Join(cl.Flush(t.Context()), failed, hooks.err(id))
}

func franzConsumeLoad(t *testing.T, c *cluster.Cluster, topic, id string, read func(int)) error {
	var hooks quotaHooks
	cl := client(t, c, kgo.ClientID(id), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(64<<10), kgo.WithHooks(&hooks))
	for n := 0; n < quotaRecords; {
		fetches := cl.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			return err
		}
		n += fetches.NumRecords()
		read(fetches.NumRecords() * quotaRecord)
	}
	return hooks.err(id)
}

func kcatProduceLoad(t *testing.T, c *cluster.Cluster, topic, id string, _ func(int)) error {
	return runLoad(t, strings.NewReader(strings.Repeat(strings.Repeat("x", quotaRecord)+"\n", quotaRecords)), nil,
		"kcat", "-P", "-b", c.BootstrapString(), "-t", topic, "-p", "0", "-X", "client.id="+id,
		"-X", "batch.size=65536", "-X", "queue.buffering.max.messages=1000000")
}

func kcatConsumeLoad(t *testing.T, c *cluster.Cluster, topic, id string, read func(int)) error {
	return runLoad(t, nil, read, "kcat", "-C", "-q", "-b", c.BootstrapString(), "-t", topic, "-p", "0", "-o", "beginning", "-c", strconv.Itoa(quotaRecords),
		"-X", "client.id="+id, "-X", "fetch.message.max.bytes=65536", "-D", "\n")
}

func javaProduceLoad(t *testing.T, c *cluster.Cluster, topic, id string, _ func(int)) error {
	return javaLoad(t, nil, "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", strconv.Itoa(quotaRecords),
		"--record-size", strconv.Itoa(quotaRecord), "--throughput", "-1", "--producer-props", "bootstrap.servers="+c.BootstrapString(),
		"client.id="+id, "acks=1", "batch.size=65536", "buffer.memory=67108864")
}

func javaConsumeLoad(t *testing.T, c *cluster.Cluster, topic, id string, read func(int)) error {
	return javaLoad(t, read, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", topic, "--partition", "0", "--offset", "earliest",
		"--max-messages", strconv.Itoa(quotaRecords), "--bootstrap-server", c.BootstrapString(), "--consumer-property", "client.id="+id,
		"--consumer-property", "max.partition.fetch.bytes=65536")
}

func javaLoad(t *testing.T, read func(int), class string, args ...string) error {
	path, line, err := cluster.ToolLine(class, args...)
	if err != nil {
		return err
	}
	return runLoad(t, nil, read, path, line...)
}

// runLoad runs a client that may not complain of a lost connection. read is told what it prints.
func runLoad(t *testing.T, stdin io.Reader, read func(int), path string, args ...string) error {
	cmd := exec.CommandContext(t.Context(), path, args...)
	var said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &said, &said
	if read != nil {
		cmd.Stdout = countingWriter(read)
	}
	if err := cmd.Run(); err != nil || strings.Contains(said.String(), "isconnect") {
		return fmt.Errorf("%s: %w\n%s", args, err, said.String())
	}
	return nil
}

type countingWriter func(int)

func (f countingWriter) Write(p []byte) (int, error) {
	f(len(p))
	return len(p), nil
}
