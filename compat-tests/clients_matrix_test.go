//go:build compat

package compat

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/clients"
	"jackdaw/compat-tests/cluster"
)

const (
	// lastingSession is for members that never die: if their partitions move, it was not the session that ended.
	lastingSession = 300_000
	// shortestSession is for members that are killed: group.min.session.timeout.ms is 6 s.
	shortestSession = 10_000
)

// matrix is one client of clients.All on its way through the phases of TestClients.
type matrix struct {
	clients.Client
	c      *cluster.Cluster
	parent *testing.T // the processes live as long as it
	id     string     // for names of topics and groups

	a, b, d *clients.Driver // b is the one that is killed
	lag     map[int32]int64 // what phase "commit" leaves
	broken  bool            // a phase failed, or a tool is missing; the later ones would tell nothing new
}

// start runs one more process of the client.
func (m *matrix) start(t *testing.T, name string) *clients.Driver {
	t.Helper()
	driver, err := m.Start(m.parent.TempDir(), name, m.c.BootstrapString())
	cluster.Need(t, err)
	m.parent.Cleanup(func() {
		if err := driver.Kill(); err != nil {
			m.parent.Error(err)
		}
		if m.parent.Failed() && m.broken {
			m.parent.Logf("---- end of the log of %s %s\n%s", m.Name, name, tail(driver.Log, 40))
		}
	})
	return driver
}

// phase is one step of all clients that have what it needs, side by side. alone runs before it, once.
type phase struct {
	name  string
	needs func(clients.Client) bool
	alone func(*testing.T, []*matrix)
	each  func(*matrix, *testing.T)
}

// TestClients takes every client through the life of a consumer group, and through all that it can write. The clients work side by
// side on one cluster; a phase begins when all have ended the one before it.
func TestClients(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"zookeeper.session.timeout.ms": shortSession()}})
	var all []*matrix
	for _, cl := range clients.All {
		all = append(all, &matrix{Client: cl, c: c, parent: t, id: cl.Name})
	}
	for _, p := range []phase{
		{name: "join shares the partitions", each: (*matrix).join},
		{name: "commit", each: (*matrix).commit},
		{name: "lag", alone: checkLag},
		{name: "leave moves the partitions at once", each: (*matrix).leave},
		{name: "kill moves the partitions after the session", each: (*matrix).kill},
		{name: "another process resumes", each: (*matrix).resume},
		{name: "seek", needs: func(c clients.Client) bool { return c.Seek }, each: (*matrix).seek},
		{name: "static member comes back", needs: func(c clients.Client) bool { return c.Static }, each: (*matrix).static},
		{name: "codecs", each: (*matrix).codecs},
		{name: "idempotence", each: (*matrix).idempotence},
		{name: "transactions", each: (*matrix).transactions},
		{name: "offsets in transactions", needs: func(c clients.Client) bool { return c.SendOffsets }, each: (*matrix).offsetsInTransactions},
		{name: "admin", each: (*matrix).admin},
		{name: "groups of one coordinator", alone: pickCoordinator, each: (*matrix).beforeKill},
		{name: "coordinator killed", alone: killCoordinator, each: (*matrix).afterKill},
	} {
		began := time.Now()
		t.Run(p.name, func(t *testing.T) { p.run(t, all) })
		t.Logf("%s: %v", p.name, time.Since(began).Round(time.Millisecond))
	}
}

func (p phase) run(t *testing.T, all []*matrix) {
	if p.alone != nil {
		p.alone(t, all)
	}
	if p.each == nil {
		return
	}
	var wait sync.WaitGroup
	for _, m := range all {
		if p.needs != nil && !p.needs(m.Client) {
			continue
		}
		wait.Go(func() {
			t.Run(m.Name, func(t *testing.T) {
				if m.broken {
					t.Skip("an earlier phase failed")
				}
				defer func() { m.broken = m.broken || t.Failed() || t.Skipped() }()
				p.each(m, t)
			})
		})
	}
	wait.Wait()
}

// tell sends a command that has to succeed.
func tell(t *testing.T, d *clients.Driver, words ...any) string {
	t.Helper()
	answer, err := d.Do(words...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// member joins a process to the group of a phase.
func (m *matrix) member(t *testing.T, d *clients.Driver, group, topic string, session int, options ...any) {
	t.Helper()
	tell(t, d, append([]any{"join", group, topic, fmt.Sprintf("session=%d", session)}, options...)...)
}

// strategy is the best that the client has.
func (m *matrix) strategy() string {
	if m.Cooperative {
		return "strategy=cooperative"
	}
	return "strategy=range"
}

// waitOwned waits until the members own the partitions 0 to n-1, each once, and as evenly as can be.
func waitOwned(t *testing.T, n int, limit time.Duration, members ...*clients.Driver) {
	t.Helper()
	var want []int32
	for p := range int32(n) {
		want = append(want, p)
	}
	cluster.Eventually(t, limit, "partitions of the members", func() error {
		var all []int32
		var shares [][]int32
		even := true
		for _, d := range members {
			owned := d.Owned()
			all = append(all, owned...)
			shares = append(shares, owned)
			even = even && len(owned) >= n/len(members)
		}
		slices.Sort(all)
		if !even || !slices.Equal(all, want) {
			return fmt.Errorf("they own %v", shares)
		}
		return nil
	})
}

// write puts PREFIX-0 to PREFIX-(n-1) into each partition.
func (m *matrix) write(t *testing.T, topic string, partitions int32, prefix string, n int) {
	t.Helper()
	cl := client(t, m.c, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range partitions {
		franzProduce(t, cl, topic, p, series(prefix, n))
	}
}

// waitReads waits until the members have read exactly the values of prefix in each of their partitions, in order and once, since
// the last Forget.
func waitReads(t *testing.T, prefix string, n int, members ...*clients.Driver) {
	t.Helper()
	for i, d := range members {
		want := map[int32][]string{}
		for _, p := range d.Owned() {
			want[p] = series(prefix, n)
		}
		waitValues(t, fmt.Sprintf("records of member %d", i), d, want)
	}
}

// waitValues waits until as many records as wanted came, and compares.
func waitValues(t *testing.T, what string, d *clients.Driver, want map[int32][]string) {
	t.Helper()
	total := 0
	for _, values := range want {
		total += len(values)
	}
	cluster.Eventually(t, 60*time.Second, what, func() error {
		if got := len(d.Records()); got < total {
			return fmt.Errorf("%d of %d", got, total)
		}
		return nil
	})
	got := map[int32][]string{}
	for _, r := range d.Records() {
		got[r.Partition] = append(got[r.Partition], r.Value)
	}
	for p, values := range want {
		if !slices.Equal(got[p], values) {
			t.Errorf("%s: partition %d has %v, want %v", what, p, got[p], values)
		}
		delete(got, p)
	}
	if len(got) > 0 {
		t.Errorf("%s: also %v", what, got)
	}
}

// settled waits until every member is told of no more rebalances by the broker: the group is stable with so many members.
func (m *matrix) settled(t *testing.T, group string, members int) {
	t.Helper()
	adm := admin(t, m.c)
	cluster.Eventually(t, 60*time.Second, "group "+group, func() error {
		d, err := adm.DescribeGroups(t.Context(), group)
		if err != nil {
			return err
		}
		if d[group].State != "Stable" || len(d[group].Members) != members {
			return fmt.Errorf("state %s with %d members", d[group].State, len(d[group].Members))
		}
		return nil
	})
}

// name is a topic or group of this client alone.
func (m *matrix) name(what string) string { return what + "-" + strings.ReplaceAll(m.id, ".", "-") }
