package cluster

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options say what New starts.
type Options struct {
	Dir     string            // parent of all data and logs
	Brokers int               // ids 1 to Brokers
	Kinds   map[int]Kind      // by broker id; others are Target()
	Config  map[string]string // lines for every server.properties, over the defaults of the harness

	ZooKeeper    ZooKeeperKind // default RealZooKeeper
	OwnZooKeeper bool          // a server of this cluster alone, so that the test may stop it
}

// Cluster is a ZooKeeper (shared or own) and brokers.
type Cluster struct {
	Brokers   []*Broker // in order of their ids
	ZooKeeper *ZooKeeper
	Tree      *Tree // the znodes of this cluster
	Chroot    string
	dir       string
	config    map[string]string
	ownsZK    bool
}

// New starts a cluster and waits until every broker knows every other. Close ends it.
func New(o Options) (*Cluster, error) {
	c := &Cluster{dir: o.Dir, config: o.Config}
	if err := c.startZooKeeper(o); err != nil {
		return nil, err
	}
	err := c.start(o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Start is New for one test: missing tools skip it (or fail it under CI=true), the cluster ends with it, and a failure prints the logs.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	NeedFor(t, o)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	began := time.Now()
	c, err := New(o)
	if err != nil {
		t.Fatalf("start of the cluster: %v", err)
	}
	t.Logf("cluster of %d (%s) up in %v", o.Brokers, Target(), time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if t.Failed() {
			c.LogTails(t, 60)
		}
		if err := c.Close(); err != nil {
			t.Errorf("end of the cluster: %v", err)
		}
	})
	return c
}

// NeedFor checks the tools that the options ask for.
func NeedFor(t testing.TB, o Options) {
	t.Helper()
	if o.ZooKeeper != Embedded || Target() == Apache || slices.Contains(slices.Collect(maps.Values(o.Kinds)), Apache) {
		_, err := Jars()
		Need(t, err)
	}
}

func (c *Cluster) startZooKeeper(o Options) error {
	var err error
	switch {
	case o.OwnZooKeeper || o.ZooKeeper == Embedded:
		kind := o.ZooKeeper
		if kind == "" {
			kind = RealZooKeeper
		}
		c.ownsZK = true
		c.ZooKeeper, err = StartZooKeeper(kind, filepath.Join(o.Dir, "zookeeper"))
	default:
		c.ZooKeeper, c.Chroot, err = sharedZooKeeper()
	}
	if err != nil {
		return fmt.Errorf("zookeeper: %w", err)
	}
	c.Tree, err = newTree(c.ZooKeeper.Addr(), c.Chroot)
	return err
}

func (c *Cluster) start(o Options) error {
	for id := 1; id <= o.Brokers; id++ {
		kind, ok := o.Kinds[id]
		if !ok {
			kind = Target()
		}
		if _, err := c.Add(id, kind); err != nil {
			return err
		}
	}
	internal := strconv.Itoa(min(3, o.Brokers))
	for i, b := range c.Brokers {
		b.Config["offsets.topic.replication.factor"] = internal
		b.Config["transaction.state.log.replication.factor"] = internal
		maps.Copy(b.Config, o.Config)
		if err := b.Launch(); err != nil {
			return err
		}
		if i == 0 && c.Chroot != "" { // The first makes the chroot and the cluster id without a race.
			if err := b.WaitStarted(); err != nil {
				return err
			}
		}
	}
	for _, b := range c.Brokers {
		if err := b.WaitStarted(); err != nil {
			return err
		}
	}
	return c.WaitAll()
}

// Add prepares one more broker, with the cluster's configuration, without starting it.
func (c *Cluster) Add(id int, kind Kind) (*Broker, error) {
	b, err := newBroker(id, kind, filepath.Join(c.dir, "broker-"+strconv.Itoa(id)), c.Connect())
	if err != nil {
		return nil, err
	}
	maps.Copy(b.Config, c.config)
	c.Brokers = append(c.Brokers, b)
	return b, nil
}

// Connect is the cluster's zookeeper.connect.
func (c *Cluster) Connect() string { return c.ZooKeeper.Addr() + c.Chroot }

// Broker returns the broker with that id; there is one.
func (c *Cluster) Broker(id int) *Broker {
	for _, b := range c.Brokers {
		if b.ID == id {
			return b
		}
	}
	panic(fmt.Sprintf("no broker %d in this cluster", id))
}

// Bootstrap lists the addresses of all brokers, running or not.
func (c *Cluster) Bootstrap() []string {
	var addrs []string
	for _, b := range c.Brokers {
		addrs = append(addrs, b.Addr())
	}
	return addrs
}

// BootstrapString is Bootstrap joined by commas.
func (c *Cluster) BootstrapString() string { return strings.Join(c.Bootstrap(), ",") }

// Running lists the ids of the brokers whose processes run.
func (c *Cluster) Running() []int {
	var ids []int
	for _, b := range c.Brokers {
		if b.Running() {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// WaitAll waits until ZooKeeper has all running brokers and a controller, and each broker's Metadata has them all.
func (c *Cluster) WaitAll() error {
	want := c.Running()
	if len(want) == 0 {
		return nil
	}
	return Until(startLimit, func() error {
		live, err := c.Tree.Brokers()
		if err != nil {
			return err
		}
		if !slices.Equal(live, want) {
			return fmt.Errorf("registered brokers %v, want %v", live, want)
		}
		if _, err := c.Tree.Controller(); err != nil {
			return err
		}
		for _, id := range want {
			known, err := brokersKnownTo(c.Broker(id).Addr())
			if err != nil {
				return fmt.Errorf("broker %d: %w", id, err)
			}
			if !slices.Equal(known, want) {
				return fmt.Errorf("broker %d knows %v, want %v", id, known, want)
			}
		}
		return nil
	})
}

// LogTails prints the last lines of each process's log, and copies the whole to $COMPAT_LOGS when that is set.
func (c *Cluster) LogTails(t testing.TB, lines int) {
	t.Helper()
	processes := []*Process{c.ZooKeeper.Process}
	for _, b := range c.Brokers {
		processes = append(processes, b.Process)
	}
	for _, p := range processes {
		t.Logf("---- end of the log of %s (pid %d, running %v)\n%s", p.Name, p.PID(), p.Running(), p.Tail(lines))
		if err := keepLog(t, p); err != nil {
			t.Logf("log of %s not kept: %v", p.Name, err)
		}
	}
}

func keepLog(t testing.TB, p *Process) error {
	dir := os.Getenv("COMPAT_LOGS")
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := strings.ReplaceAll(t.Name(), "/", "_") + "-" + filepath.Base(p.Log)
	return os.WriteFile(filepath.Join(dir, name), text, 0o644)
}

// Close kills every process of the cluster. Killing is enough: the data is thrown away.
func (c *Cluster) Close() error {
	var errs []error
	if c.Tree != nil {
		c.Tree.Close()
	}
	for _, b := range c.Brokers {
		errs = append(errs, b.Close())
	}
	if c.ownsZK {
		errs = append(errs, c.ZooKeeper.Close())
	}
	return errors.Join(errs...)
}
