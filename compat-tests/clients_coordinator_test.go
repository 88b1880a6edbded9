//go:build compat

package compat

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/clients"
	"jackdaw/compat-tests/cluster"
)

// victim is the broker that coordinates the groups of these phases.
const victim = 2

// pickCoordinator names for each client a group that the victim coordinates.
func pickCoordinator(t *testing.T, all []*matrix) {
	for _, m := range all {
		for i := 0; ; i++ {
			m.id = fmt.Sprintf("%s-%d", m.Name, i)
			if coordinatorOf(t, m.c, m.name("kill")) == victim {
				break
			}
		}
	}
}

func coordinatorOf(t *testing.T, c *cluster.Cluster, group string) int32 {
	t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = group
	return ask[*kmsg.FindCoordinatorResponse](t, c.Broker(1).Addr(), req, 3).NodeID
}

// beforeKill: two members read, commit, and have read more.
func (m *matrix) beforeKill(t *testing.T) {
	topic, group := m.name("kill"), m.name("kill")
	createTopic(t, m.c, topic, groupPartitions, 3)
	m.member(t, m.a, group, topic, lastingSession, m.strategy())
	m.member(t, m.b, group, topic, lastingSession, m.strategy())
	waitOwned(t, groupPartitions, 60*time.Second, m.a, m.b)
	m.settled(t, group, 2)
	m.write(t, topic, groupPartitions, "first", 5)
	waitReads(t, "first", 5, m.a, m.b)
	tell(t, m.a, "commit")
	tell(t, m.b, "commit")
}

func killCoordinator(t *testing.T, all []*matrix) {
	if err := all[0].c.Broker(victim).Kill(); err != nil {
		t.Fatal(err)
	}
}

// afterKill: the group goes on with another coordinator, which has the offsets.
func (m *matrix) afterKill(t *testing.T) {
	topic, group := m.name("kill"), m.name("kill")
	cl := client(t, m.c, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(groupPartitions) {
		franzProduce(t, cl, topic, p, series("second", 5))
	}
	waitEach(t, "second", 5, m.a, m.b)
	if got := coordinatorOf(t, m.c, group); got == victim {
		t.Errorf("the killed broker %d still coordinates", got)
	}
	for p := range int32(groupPartitions) {
		m.waitCommitted(t, group, topic, p, 5)
	}
	m.commitAll(t, group, topic, 10)
	checkNotFromStart(t, m.a, m.b)
}

// commitAll commits until the group's offsets are at the end: a commit in the middle of a rebalance is refused, or lost in the client.
func (m *matrix) commitAll(t *testing.T, group, topic string, end int64) {
	t.Helper()
	adm := admin(t, m.c)
	cluster.Eventually(t, 60*time.Second, "offsets of "+group, func() error {
		_, errA := m.a.Do("commit")
		_, errB := m.b.Do("commit")
		offsets, err := adm.FetchOffsets(t.Context(), group)
		if err != nil {
			return err
		}
		for p := range int32(groupPartitions) {
			if o, _ := offsets.Lookup(topic, p); o.At != end {
				return fmt.Errorf("partition %d at %d, want %d: %w", p, o.At, end, errors.Join(errA, errB))
			}
		}
		return nil
	})
}

// waitEach waits until the values of every partition were read by some member.
func waitEach(t *testing.T, prefix string, n int, members ...*clients.Driver) {
	t.Helper()
	cluster.Eventually(t, 90*time.Second, "records "+prefix, func() error {
		seen := map[string]bool{}
		for _, d := range members {
			for _, r := range d.Records() {
				seen[fmt.Sprintf("%d/%s", r.Partition, r.Value)] = true
			}
		}
		for p := range groupPartitions {
			for _, v := range series(prefix, n) {
				if !seen[fmt.Sprintf("%d/%s", p, v)] {
					return fmt.Errorf("no %s of partition %d", v, p)
				}
			}
		}
		return nil
	})
}

// checkNotFromStart: a committed record comes once.
func checkNotFromStart(t *testing.T, members ...*clients.Driver) {
	t.Helper()
	seen := map[string]bool{}
	for _, d := range members {
		for _, r := range d.Records() {
			at := fmt.Sprintf("%d/%d", r.Partition, r.Offset)
			if r.Value[:5] == "first" && seen[at] {
				t.Errorf("%s of partition %d was committed and came again", r.Value, r.Partition)
			}
			seen[at] = true
		}
	}
}
