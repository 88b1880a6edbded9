//go:build compat

package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// startEmbedded starts `jackdaw zookeeper` alone.
func startEmbedded(t *testing.T) *cluster.ZooKeeper {
	t.Helper()
	z, err := cluster.StartZooKeeper(cluster.Embedded, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("---- end of the log of %s\n%s", z.Name, z.Tail(40))
		}
		if err := z.Close(); err != nil {
			t.Errorf("end of %s: %v", z.Name, err)
		}
	})
	return z
}

// shell runs ZooKeeper's own command line client with commands from standard input.
func shell(t *testing.T, z *cluster.ZooKeeper, commands ...string) string {
	t.Helper()
	out, err := cluster.Tool(strings.Join(append(commands, "quit", ""), "\n"), "org.apache.zookeeper.ZooKeeperMain", "-server", z.Addr())
	if err != nil {
		t.Fatalf("zookeeper-shell: %v\n%s", err, out)
	}
	return out
}

// TestEmbedded_ZooKeeperShell_Works: Apache's client sees a ZooKeeper, and the data is there after a kill -9.
func TestEmbedded_ZooKeeperShell_Works(t *testing.T) {
	jackdawOnly(t, "has no embedded ZooKeeper")
	_, err := cluster.Jars()
	cluster.Need(t, err)
	z := startEmbedded(t)
	out := shell(t, z, "create /a one", "create /a/b two", "create -e /a/e ephemeral", "create -s /a/s- three", "set /a/b four",
		"get -s /a/b", "ls /a", "delete /a/b", "ls /a", "get /missing", "deleteall /a", "create /kept data", "stat /kept")
	for _, want := range []string{
		"Created /a", "Created /a/b", "Created /a/e", "Created /a/s-0000000002", "four", "dataVersion = 1",
		"[b, e, s-0000000002]", "[e, s-0000000002]", "Node does not exist: /missing", "Created /kept", "dataLength = 4",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what the shell printed:\n%s", want, out)
			break
		}
	}
	if err := z.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := z.Start(); err != nil {
		t.Fatal(err)
	}
	if out := shell(t, z, "get /kept"); !strings.Contains(out, "data") || strings.Contains(out, "does not exist") {
		t.Errorf("after a kill -9:\n%s", out)
	}
	answer, err := cluster.FourLetterWord(z.Addr(), "ruok")
	if err != nil || answer != "imok" {
		t.Errorf("ruok: %q, %v", answer, err)
	}
}

// TestEmbedded_ApacheBroker_LivesOnIt: an Apache Kafka broker, alone, with `jackdaw zookeeper` as its ZooKeeper.
func TestEmbedded_ApacheBroker_LivesOnIt(t *testing.T) {
	jackdawOnly(t, "has no embedded ZooKeeper")
	c := cluster.Start(t, cluster.Options{
		Brokers: 1, ZooKeeper: cluster.Embedded, Kinds: map[int]cluster.Kind{1: cluster.Apache},
		Config: map[string]string{"zookeeper.session.timeout.ms": "8000"},
	})
	createTopic(t, c, "t", 2, 1, "retention.ms", "100000")
	b := c.Brokers[0]
	mustProduce(t, b.Addr(), "t", 0, -1, wire.Values("one"))
	producerID(t, b.Addr())
	coordinator(t, c, "g")
	if err := c.ZooKeeper.Kill(); err != nil { // and it comes back with everything, sessions too
		t.Fatal(err)
	}
	if err := c.ZooKeeper.Start(); err != nil {
		t.Fatal(err)
	}
	createTopic(t, c, "t2", 1, 1)
	mustProduce(t, b.Addr(), "t2", 0, -1, wire.Values("two"))
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 20*time.Second, "no broker registered", func() error {
		live, err := c.Tree.Brokers()
		if err == nil && len(live) != 0 {
			err = fmt.Errorf("brokers %v", live)
		}
		return err
	})
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, "t", 2)
	if got := franzRead(t, c, "t", 1)[0]; !slices.Equal(got, []string{"one"}) {
		t.Errorf("after a restart: %v", got)
	}
}

// TestEmbedded_ThreeBrokers_LikeOnZooKeeper: three Jackdaw brokers on `jackdaw zookeeper`, with a leader killed.
func TestEmbedded_ThreeBrokers_LikeOnZooKeeper(t *testing.T) {
	jackdawOnly(t, "has no embedded ZooKeeper")
	c := cluster.Start(t, cluster.Options{Brokers: 3, ZooKeeper: cluster.Embedded, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	createTopic(t, c, "t", 3, 3)
	old := leaderOf(t, c, "t", 0)
	mustProduce(t, old.Addr(), "t", 0, -1, wire.Values(series("a", 10)...))
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	s, err := c.Tree.WaitState("t", 0, 30*time.Second, "another leader", func(s cluster.PartitionState) bool { return s.Leader >= 0 && s.Leader != old.ID })
	if err != nil {
		t.Fatal(err)
	}
	waitLeaders(t, c, "t", 3)
	mustProduce(t, c.Broker(s.Leader).Addr(), "t", 0, -1, wire.Values("b"))
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	waitISR(t, c, "t", 0, 30*time.Second, 1, 2, 3)
	checkReplicasEqual(t, c, "t", 0)
}

// TestEmbedded_InsideTheBroker_OneProcess: zookeeper.connect=embedded needs nothing else, and keeps its data.
func TestEmbedded_InsideTheBroker_OneProcess(t *testing.T) {
	jackdawOnly(t, "has no embedded ZooKeeper")
	b := alone(t)
	b.Config["zookeeper.connect"] = fmt.Sprintf("embedded:%d", reserve(t).Number)
	began := time.Now()
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready in %v with %d MiB resident", time.Since(began).Round(time.Millisecond), rss(t, b)>>20)
	r, err := wire.Metadata(b.Addr())
	if err != nil || len(r.Brokers) != 1 {
		t.Fatalf("metadata: %+v, %v", r, err)
	}
	id := deref(r.ClusterID)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil { // its own registration is no obstacle
		t.Fatal(err)
	}
	if r, err = wire.Metadata(b.Addr()); err != nil || deref(r.ClusterID) != id {
		t.Errorf("cluster id %q after a crash, %q before (%v)", deref(r.ClusterID), id, err)
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
}
