//go:build compat

package compat

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/cluster"
)

// TestDynamicUnclean_SwitchedOn_OfflinePartitionsGetLeadersAtOnce: a partition whose last in-sync replica is gone gets a
// leader when unclean elections are allowed for its topic, and another when they are for the cluster. Nothing else happens
// meanwhile that could make the controller look.
func TestDynamicUnclean_SwitchedOn_OfflinePartitionsGetLeadersAtOnce(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{
		"zookeeper.session.timeout.ms": shortSession(), "auto.leader.rebalance.enable": "false",
	}})
	ctl := controller(t, c)
	others := slices.DeleteFunc(slices.Clone(c.Brokers), func(b *cluster.Broker) bool { return b == ctl })
	first, second := others[0], others[1]
	topics := []string{"by-topic", "by-cluster"}
	for _, topic := range topics {
		createAssigned(t, c, topic, nil, []int32{int32(first.ID), int32(second.ID)})
	}
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		waitISR(t, c, topic, 0, 20*time.Second, first.ID)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	waitLeaderID(t, c, topics[0], -1)
	waitLeaderID(t, c, topics[1], -1)
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	yes := "true"
	adm := kadm.NewClient(client(t, c))
	change := []kadm.AlterConfig{{Name: "unclean.leader.election.enable", Value: &yes}}
	if r, err := adm.AlterTopicConfigs(t.Context(), change, topics[0]); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	waitLeaderID(t, c, topics[0], second.ID)
	if s, err := c.Tree.State(topics[1], 0); err != nil || s.Leader != -1 {
		t.Errorf("the other topic has leader %d (%v), want none", s.Leader, err)
	}
	if r, err := adm.AlterBrokerConfigs(t.Context(), change); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	waitLeaderID(t, c, topics[1], second.ID)
}

func waitLeaderID(t *testing.T, c *cluster.Cluster, topic string, id int) {
	t.Helper()
	what := fmt.Sprintf("leader %d of %s", id, topic)
	if _, err := c.Tree.WaitState(topic, 0, 20*time.Second, what, func(s cluster.PartitionState) bool { return s.Leader == id }); err != nil {
		t.Fatal(err)
	}
}

// The load of a client with a quota of 1 MiB a second. One window's worth is free, and is spent at once.
const (
	quotaRate    = 1 << 20
	quotaRecord  = 1 << 10
	quotaFree    = 3 << 20
	quotaMeasure = 12 << 20
	quotaRecords = (quotaFree + quotaMeasure + 2<<20) / quotaRecord
)

// TestQuota_OneMiBASecond_HoldsForEveryClient has clients of three kinds produce as fast as they can, at the same time and
// each under a quota of its own, and watches the log ends: within a tenth of the quota, and without a lost connection.
func TestQuota_OneMiBASecond_HoldsForEveryClient(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"quota.window.num": "2"}})
	addr := c.Brokers[0].Addr()
	clients := map[string]func(topic, id string) error{
		"franz": func(topic, id string) error { return franzLoad(t, c, topic, id) },
		"kcat":  func(topic, id string) error { return kcatLoad(t, c, topic, id) },
		"java":  func(topic, id string) error { return javaLoad(c, topic, id) },
	}
	adm := kadm.NewClient(client(t, c))
	done := make(chan error, len(clients))
	for name, load := range clients {
		topic, id := "quota-"+name, "limited-"+name
		createTopic(t, c, topic, 1, 1)
		r, err := adm.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
			Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &id}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: quotaRate}},
		}})
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
		go func() { done <- load(topic, id) }()
	}
	var topics []string
	for name := range clients {
		topics = append(topics, "quota-"+name)
	}
	checkRates(t, addr, topics)
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// checkRates reads how fast logs grow once the free part is used up.
func checkRates(t *testing.T, addr string, topics []string) {
	t.Helper()
	type growth struct {
		since time.Time
		from  int64
	}
	began, pending := map[string]growth{}, slices.Clone(topics)
	cluster.Eventually(t, time.Minute, "growth of all logs", func() error {
		pending = slices.DeleteFunc(pending, func(topic string) bool {
			asked := time.Now()
			end, now := endOffset(t, addr, topic, 0), time.Now()
			if now.Sub(asked) > 100*time.Millisecond {
				return false // nobody knows when the log ended there
			}
			g, ok := began[topic]
			if !ok && end >= quotaFree/quotaRecord {
				began[topic] = growth{now, end}
			}
			if !ok || end < g.from+quotaMeasure/quotaRecord {
				return false
			}
			rate := float64(end-g.from) * quotaRecord / now.Sub(g.since).Seconds()
			t.Logf("%s: %.2f MiB a second over %v", topic, rate/(1<<20), now.Sub(g.since).Round(time.Millisecond))
			if rate < quotaRate*0.9 || rate > quotaRate*1.1 {
				t.Errorf("%s grows by %.0f bytes a second, the quota is %d", topic, rate, quotaRate)
			}
			return true
		})
		if len(pending) > 0 {
			return fmt.Errorf("%v have not grown enough", pending)
		}
		return nil
	})
}

func franzLoad(t *testing.T, c *cluster.Cluster, topic, id string) error {
	cl := client(t, c, kgo.ClientID(id), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(64<<10),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var failed error
	for range quotaRecords {
		cl.Produce(t.Context(), &kgo.Record{Value: make([]byte, quotaRecord)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		return err
	}
	return failed
}

func kcatLoad(t *testing.T, c *cluster.Cluster, topic, id string) error {
	path, err := exec.LookPath("kcat")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), path, "-P", "-b", c.BootstrapString(), "-t", topic, "-p", "0", "-X", "client.id="+id,
		"-X", "batch.size=65536", "-X", "queue.buffering.max.messages=1000000")
	cmd.Stdin = strings.NewReader(strings.Repeat(strings.Repeat("x", quotaRecord)+"\n", quotaRecords))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "isconnect") {
		return fmt.Errorf("kcat: %w\n%s", err, out)
	}
	return nil
}

func javaLoad(c *cluster.Cluster, topic, id string) error {
	out, err := cluster.Tool("", "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", strconv.Itoa(quotaRecords),
		"--record-size", strconv.Itoa(quotaRecord), "--throughput", "-1", "--producer-props", "bootstrap.servers="+c.BootstrapString(),
		"client.id="+id, "acks=1", "batch.size=65536", "buffer.memory=67108864")
	if err != nil || strings.Contains(out, "isconnect") {
		return fmt.Errorf("java: %w\n%s", err, out)
	}
	return nil
}
