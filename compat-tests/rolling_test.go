//go:build compat

package compat

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"jackdaw/compat-tests/cluster"
)

// rolling is a cluster whose brokers are replaced one at a time by those of the other kind, on the same ids and data.
type rolling struct {
	*cluster.Cluster
	topic   string
	load    *crowd
	readers []*reader
}

const (
	rollingPartitions = 6
	offsetsTopic      = "__consumer_offsets"
)

// startRolling starts three Apache brokers, the load, and a group for each of the three partitions of the offsets topic.
func startRolling(t *testing.T) *rolling {
	t.Helper()
	jackdawOnly(t, "there is nothing to replace")
	kinds := map[int]cluster.Kind{1: cluster.Apache, 2: cluster.Apache, 3: cluster.Apache}
	r := &rolling{topic: "rolling", Cluster: cluster.Start(t, cluster.Options{Brokers: 3, Kinds: kinds, Config: map[string]string{
		"zookeeper.session.timeout.ms": "9000", "auto.leader.rebalance.enable": "false", "offsets.topic.num.partitions": "3",
		"controlled.shutdown.retry.backoff.ms": "1000", "log.segment.bytes": "1048576", "replica.lag.time.max.ms": "10000",
	}})}
	var replicas [][]int32
	for p := range int32(rollingPartitions) {
		replicas = append(replicas, []int32{p%3 + 1, (p+1)%3 + 1, (p+2)%3 + 1})
	}
	createAssigned(t, r.Cluster, r.topic, []string{"min.insync.replicas", "2"}, replicas...)
	r.load = startCrowd(t, r.Cluster, r.topic, rollingPartitions, 2)
	for _, g := range groupsOf(3) {
		r.readers = append(r.readers, startReader(t, r.Cluster, g, r.topic))
	}
	for _, reader := range r.readers {
		reader.waitReading(t)
	}
	return r
}

// replace stops a broker, in good order or not, and starts one of another kind in its place. Then it leads what it should, is
// coordinator of a group and becomes controller, and the load goes on all the time.
func (r *rolling) replace(t *testing.T, id int, kind cluster.Kind, kill bool) {
	t.Helper()
	began := time.Now()
	b := r.Broker(id)
	if kill {
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		waitGone(t, r.Cluster, b) // a JVM refuses to start beside the registration of its former life
	} else if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	r.load.flows(t, 100)
	if err := b.Become(kind); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	r.waitHealthy(t)
	r.lead(t)
	r.control(t, id)
	r.load.flows(t, 300)
	for _, reader := range r.readers {
		coordinator(t, r.Cluster, reader.group)
	}
	t.Logf("broker %d is %s now, and leader, follower, coordinator and controller; %v, %d records so far",
		id, kind, time.Since(began).Round(time.Second), r.load.acked.Load())
}

func (r *rolling) topics() map[string]int {
	return map[string]int{r.topic: rollingPartitions, offsetsTopic: 3}
}

// waitHealthy waits until every replica is in sync.
func (r *rolling) waitHealthy(t *testing.T) {
	t.Helper()
	if err := r.WaitAll(); err != nil {
		t.Fatal(err)
	}
	for topic, n := range r.topics() {
		for p := range n {
			waitISR(t, r.Cluster, topic, p, 90*time.Second, 1, 2, 3)
		}
	}
}

// lead gives every partition back to its preferred leader.
func (r *rolling) lead(t *testing.T) {
	t.Helper()
	set := kadm.TopicsSet{}
	for topic, n := range r.topics() {
		for p := range n {
			set.Add(topic, int32(p))
		}
	}
	if _, err := admin(t, r.Cluster).ElectLeaders(t.Context(), kadm.ElectPreferredReplica, set); err != nil {
		t.Fatalf("preferred election: %v", err)
	}
	for topic, n := range r.topics() {
		assignment, err := r.Tree.Assignment(topic)
		if err != nil {
			t.Fatal(err)
		}
		for p := range n {
			want := assignment[p][0]
			if _, err := r.Tree.WaitState(topic, p, 30*time.Second, "its preferred leader", func(s cluster.PartitionState) bool { return s.Leader == want }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// control makes a broker the controller, as an administrator would: by deleting the controller znode. The others are held for
// the moment of the election, which is won by whoever is fastest.
func (r *rolling) control(t *testing.T, id int) {
	t.Helper()
	for _, b := range r.Brokers {
		if b.ID != id {
			if err := b.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cluster.Eventually(t, 5*time.Second, "broker as controller", func() error {
		now, err := r.Tree.Controller()
		if err != nil || now == id {
			return err
		}
		return errors.Join(fmt.Errorf("controller %d, want %d", now, id), r.Tree.Delete("/controller"))
	})
	thaw(t, r.Brokers...)
	if err := r.WaitAll(); err != nil {
		t.Fatal(err)
	}
}

// finish stops the load and checks every promise.
func (r *rolling) finish(t *testing.T) {
	t.Helper()
	r.load.halt()
	ends := map[int32]int64{}
	for p := range rollingPartitions {
		ends[int32(p)] = endOffset(t, leaderOf(t, r.Cluster, r.topic, p).Addr(), r.topic, int32(p))
	}
	for _, reader := range r.readers {
		reader.waitAll(t, ends)
		reader.checkCommitted(t, r.Cluster, ends)
	}
	r.load.check(t, r.Cluster)
	for topic, n := range r.topics() {
		for p := range n {
			checkReplicasEqual(t, r.Cluster, topic, p)
		}
	}
	for _, b := range r.Brokers {
		r.complaints(t, b)
	}
}

// complaints shows what a broker logged as an error, and fails for what can never be right.
func (r *rolling) complaints(t *testing.T, b *cluster.Broker) {
	t.Helper()
	data, err := os.ReadFile(b.Log)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(data)) {
		switch {
		case strings.Contains(line, "panic:"), strings.Contains(line, "invariant"), strings.Contains(line, "CorruptRecordException"),
			strings.Contains(line, "FATAL"):
			t.Errorf("broker %d: %s", b.ID, line)
		case strings.Contains(line, "] ERROR"):
			kinds[line[min(len(line), strings.Index(line, "] ERROR")+2):min(len(line), 160)]]++
		}
	}
	for what, n := range kinds {
		t.Logf("broker %d, %d times: %s", b.ID, n, strings.TrimSpace(what))
	}
}

// TestRolling_ApacheToJackdawAndBack_Short replaces two brokers of three and one back again.
func TestRolling_ApacheToJackdawAndBack_Short(t *testing.T) {
	r := startRolling(t)
	r.replace(t, 2, cluster.Jackdaw, false)
	r.replace(t, 1, cluster.Jackdaw, true)
	r.replace(t, 2, cluster.Apache, false)
	r.finish(t)
}

// TestMixedLong_ApacheToJackdawAndBack is `make mixed`: every broker is replaced, and back, with Apache's tools at each station
// and a Java consumer group all the way.
func TestMixedLong_ApacheToJackdawAndBack(t *testing.T) {
	if os.Getenv("JACKDAW_MIXED") == "" {
		t.Skip("several minutes: make mixed")
	}
	r := startRolling(t)
	java := r.startJavaGroup(t)
	for round, kind := range []cluster.Kind{cluster.Jackdaw, cluster.Apache} {
		for id := 1; id <= 3; id++ {
			r.replace(t, id, kind, id == 3-round)
			r.toolsReportHealth(t)
			if !java.Running() {
				t.Fatalf("the Java consumer ended:\n%s", java.Tail(40))
			}
		}
	}
	r.finish(t)
	java.check(t, r)
}

// javaGroup is a console consumer of Apache's in a group of its own.
type javaGroup struct{ *cluster.Process }

func (r *rolling) startJavaGroup(t *testing.T) *javaGroup {
	t.Helper()
	p, err := cluster.StartTool(t.TempDir(), "console consumer", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", r.BootstrapString(),
		"--topic", r.topic, "--group", "java", "--from-beginning")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return &javaGroup{p}
}

// check waits until the Java consumer has printed every record at least once.
func (j *javaGroup) check(t *testing.T, r *rolling) {
	t.Helper()
	var want []string
	for i, sent := range r.load.sent {
		for _, n := range sent {
			for k := range n {
				want = append(want, fmt.Sprintf("%d %d", i, k))
			}
		}
	}
	slices.Sort(want)
	cluster.Eventually(t, time.Minute, "records read by a Java consumer", func() error {
		var got []string
		for line := range strings.Lines(string(j.Output())) {
			if v := strings.TrimSpace(line); v != "" && v[0] >= '0' && v[0] <= '9' {
				got = append(got, v)
			}
		}
		slices.Sort(got)
		return covers(got, want)
	})
}

// covers reports whether got has every element of want as often as want; both are sorted.
func covers(got, want []string) error {
	i := 0
	for _, w := range want {
		for i < len(got) && got[i] < w {
			i++
		}
		if i == len(got) || got[i] != w {
			return fmt.Errorf("%q is missing among %d lines", w, len(got))
		}
		i++
	}
	return nil
}

// toolsReportHealth asks Apache's own tools.
func (r *rolling) toolsReportHealth(t *testing.T) {
	t.Helper()
	tool := func(stdin, class string, args ...string) string {
		t.Helper()
		out, err := cluster.Tool(stdin, class, args...)
		if err != nil {
			t.Errorf("%s %v: %v\n%s", class, args, err, out)
		}
		return out
	}
	const topics = "org.apache.kafka.tools.TopicCommand"
	bootstrap := []string{"--bootstrap-server", r.BootstrapString()}
	if out := tool("", topics, append(bootstrap, "--describe", "--topic", r.topic)...); strings.Count(out, "Isr: ") != rollingPartitions {
		t.Errorf("kafka-topics --describe:\n%s", out)
	}
	for _, flag := range []string{"--under-replicated-partitions", "--unavailable-partitions"} {
		if out := tool("", topics, append(bootstrap, "--describe", flag)...); strings.TrimSpace(out) != "" {
			t.Errorf("kafka-topics --describe %s:\n%s", flag, out)
		}
	}
	r.reassign(t, tool, bootstrap)
	out := tool("", "org.apache.kafka.tools.LeaderElectionCommand", append(bootstrap, "--election-type", "preferred", "--all-topic-partitions")...)
	if strings.Contains(out, "Error") {
		t.Errorf("kafka-leader-election:\n%s", out)
	}
	out = tool("get /controller\nls /brokers/ids\nquit\n", "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka", "-server", r.Connect())
	if !strings.Contains(out, fmt.Sprintf(`"brokerid":%d`, controller(t, r.Cluster).ID)) || !strings.Contains(out, "[1, 2, 3]") {
		t.Errorf("zookeeper-shell:\n%s", out)
	}
}

// reassign reverses the replicas of one partition and puts them back in order, under a throttle that hardly throttles.
func (r *rolling) reassign(t *testing.T, tool func(stdin, class string, args ...string) string, bootstrap []string) {
	t.Helper()
	const class = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
	assignment, err := r.Tree.Assignment(r.topic)
	if err != nil {
		t.Fatal(err)
	}
	order := assignment[0]
	for _, replicas := range [][]int{{order[1], order[2], order[0]}, order} {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(replicas), "[]"), " ", ",")
		file := t.TempDir() + "/reassign.json"
		text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%s]}]}`, r.topic, list)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(slices.Clone(bootstrap), "--reassignment-json-file", file)
		tool("", class, append(args, "--execute", "--throttle", "50000000")...)
		cluster.Eventually(t, 30*time.Second, "kafka-reassign-partitions --verify", func() error {
			if out := tool("", class, append(args, "--verify")...); !strings.Contains(out, "is completed") && !strings.Contains(out, "is complete.") {
				return fmt.Errorf("%s", out)
			}
			return nil
		})
	}
}
