//go:build compat

package compat

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"jackdaw/compat-tests/clients"
	"jackdaw/compat-tests/cluster"
)

// groupPartitions is the size of the topics that groups share.
const groupPartitions = 6

// join: two members share the partitions, and each record is read by one of them.
func (m *matrix) join(t *testing.T) {
	topic, group := m.name("life"), m.name("life")
	createTopic(t, m.c, topic, groupPartitions, 3)
	m.a, m.b = m.start(t, "a"), m.start(t, "b")
	m.member(t, m.a, group, topic, lastingSession, m.strategy())
	m.member(t, m.b, group, topic, shortestSession, m.strategy())
	waitOwned(t, groupPartitions, 90*time.Second, m.a, m.b)
	m.settled(t, group, 2)
	m.write(t, topic, groupPartitions, "first", 5)
	waitReads(t, "first", 5, m.a, m.b)
}

// commit: a third member takes no more than it must (KIP-429), and starts where the others committed. It and one other commit what
// they read next.
func (m *matrix) commit(t *testing.T) {
	topic, group := m.name("life"), m.name("life")
	tell(t, m.a, "commit")
	if m.Async {
		tell(t, m.b, "commit-async")
	} else {
		tell(t, m.b, "commit")
	}
	before := [][]int32{m.a.Owned(), m.b.Owned()}
	for _, d := range []*clients.Driver{m.a, m.b} {
		d.Rebalances()
		d.Forget()
	}
	m.d = m.start(t, "d")
	m.member(t, m.d, group, topic, lastingSession, m.strategy())
	waitOwned(t, groupPartitions, 90*time.Second, m.a, m.b, m.d)
	m.settled(t, group, 3)
	m.checkIncremental(t, before, m.a, m.b)

	m.write(t, topic, groupPartitions, "second", 4)
	waitReads(t, "second", 4, m.a, m.b, m.d)
	tell(t, m.a, "commit")
	tell(t, m.d, "commit")
	m.lag = map[int32]int64{}
	for _, p := range m.b.Owned() {
		m.lag[p] = 4
	}
	if got := tell(t, m.a, "committed", m.a.Owned()[0]); got != "9" {
		t.Errorf("the client reads the committed offset %s, want 9", got)
	}
}

// checkIncremental: with the cooperative assignor nothing is taken that is given back.
func (m *matrix) checkIncremental(t *testing.T, before [][]int32, members ...*clients.Driver) {
	t.Helper()
	for i, d := range members {
		_, revoked := d.Rebalances()
		for _, p := range d.Owned() {
			kept := slices.Contains(before[i], p)
			if m.Cooperative && kept && slices.Contains(revoked, p) {
				t.Errorf("member %d kept partition %d, and lost it in between: %v", i, p, revoked)
			}
		}
	}
}

// checkLag reads what Apache's kafka-consumer-groups prints for all groups.
func checkLag(t *testing.T, all []*matrix) {
	args := []string{"--bootstrap-server", all[0].c.BootstrapString(), "--describe", "--timeout", "60000"}
	for _, m := range all {
		if m.lag != nil {
			args = append(args, "--group", m.name("life"))
		}
	}
	out, err := cluster.Tool("", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range all {
		if m.broken || m.lag == nil {
			continue
		}
		for p := range int32(groupPartitions) {
			line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s +%[1]s +%d +(.*)$`, regexp.QuoteMeta(m.name("life")), p)).FindStringSubmatch(out)
			if line == nil {
				t.Errorf("%s: no line of partition %d in\n%s", m.Name, p, out)
				return
			}
			// committed offset, end, lag, member, host, client id
			words := strings.Fields(line[1])
			want := []string{fmt.Sprint(9 - m.lag[p]), "9", fmt.Sprint(m.lag[p])}
			if len(words) != 6 || !slices.Equal(words[:3], want) || words[3] == "-" || words[4] != "/127.0.0.1" {
				t.Errorf("%s: partition %d has %v, want %v and a member", m.Name, p, words, want)
			}
		}
	}
}

// leave: a member that closes gives its partitions away long before its session would end.
func (m *matrix) leave(t *testing.T) {
	topic, group := m.name("life"), m.name("life")
	m.a.Forget()
	m.b.Forget()
	tell(t, m.d, "leave")
	waitOwned(t, groupPartitions, 60*time.Second, m.a, m.b)
	m.settled(t, group, 2)
	m.catchUp(t, topic)
}

// catchUp waits until a and b are at the end of all partitions. What b read and never committed may come again.
func (m *matrix) catchUp(t *testing.T, topic string) {
	t.Helper()
	m.write(t, topic, groupPartitions, "third", 1)
	cluster.Eventually(t, 60*time.Second, "the last record of each partition", func() error {
		seen := map[int32]bool{}
		for _, d := range []*clients.Driver{m.a, m.b} {
			for _, r := range d.Records() {
				seen[r.Partition] = seen[r.Partition] || r.Value == "third-0"
			}
		}
		if len(seen) != groupPartitions || slices.Contains(slices.Collect(maps.Values(seen)), false) {
			return fmt.Errorf("seen: %v", seen)
		}
		return nil
	})
	tell(t, m.a, "commit")
	tell(t, m.b, "commit")
}

// kill: the partitions of a killed member come to the other when its session ends, from its committed offset on.
func (m *matrix) kill(t *testing.T) {
	topic := m.name("life")
	m.a.Forget()
	m.b.Forget()
	m.write(t, topic, groupPartitions, "fourth", 3)
	cluster.Eventually(t, 60*time.Second, "records of the member that will die", func() error {
		if n := len(m.b.Records()); n < 3 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if err := m.b.Kill(); err != nil {
		t.Fatal(err)
	}
	waitOwned(t, groupPartitions, 90*time.Second, m.a)
	waitOnce(t, m.a, "fourth", 3, !m.Cooperative)
	tell(t, m.a, "commit")
	tell(t, m.a, "leave")
}

// waitOnce waits until a member that owns all partitions has read the values of each. What it had before a rebalance and did not
// commit comes again to a member whose assignor gives all away.
func waitOnce(t *testing.T, d *clients.Driver, prefix string, n int, again bool) {
	t.Helper()
	cluster.Eventually(t, 60*time.Second, "records "+prefix, func() error {
		count := map[string]int{}
		for _, r := range d.Records() {
			count[fmt.Sprintf("%d/%s", r.Partition, r.Value)]++
		}
		for p := range groupPartitions {
			for _, v := range series(prefix, n) {
				switch got := count[fmt.Sprintf("%d/%s", p, v)]; {
				case got == 0:
					return fmt.Errorf("no %s of partition %d", v, p)
				case got > 1 && !again:
					return cluster.Stop(fmt.Errorf("%s of partition %d came %d times", v, p, got))
				}
			}
		}
		return nil
	})
}

// resume: a process that was away reads only what nobody has committed.
func (m *matrix) resume(t *testing.T) {
	topic, group := m.name("life"), m.name("life")
	m.write(t, topic, groupPartitions, "fifth", 2)
	m.member(t, m.d, group, topic, lastingSession, m.strategy())
	waitOwned(t, groupPartitions, 60*time.Second, m.d)
	waitReads(t, "fifth", 2, m.d)
	tell(t, m.d, "leave")
	m.b = m.start(t, "b2") // for the phases to come
}

// seek: beginning, offset, timestamp and end.
func (m *matrix) seek(t *testing.T) {
	topic, group := m.name("seek"), m.name("seek")
	createTopic(t, m.c, topic, 1, 3)
	began := time.Now().Add(-time.Hour)
	var records []*kgo.Record
	for i := range 10 {
		records = append(records, &kgo.Record{Topic: topic, Timestamp: began.Add(time.Duration(i) * time.Minute), Value: fmt.Appendf(nil, "v-%d", i)})
	}
	if err := client(t, m.c).ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	m.member(t, m.d, group, topic, lastingSession, "strategy=range")
	values := series("v", 10)
	waitValues(t, "all", m.d, map[int32][]string{0: values})
	for _, tc := range []struct {
		where string
		want  int
	}{
		{"beginning", 0},
		{"4", 4},
		{fmt.Sprintf("@%d", began.Add(7*time.Minute-time.Second).UnixMilli()), 7},
		{"end", 10},
	} {
		m.d.Forget()
		if got := tell(t, m.d, "seek", 0, tc.where); got != fmt.Sprint(tc.want) {
			t.Errorf("seek %s: position %s, want %d", tc.where, got, tc.want)
		}
		if tc.where == "end" {
			m.write(t, topic, 1, "late", 1)
			waitValues(t, "after "+tc.where, m.d, map[int32][]string{0: {"late-0"}})
			continue
		}
		waitValues(t, "after "+tc.where, m.d, map[int32][]string{0: values[tc.want:]})
	}
	tell(t, m.d, "leave")
}

// static: a killed member with a group.instance.id comes back, has what it had, and nobody else notices. KIP-345.
func (m *matrix) static(t *testing.T) {
	topic, group := m.name("static"), m.name("static")
	createTopic(t, m.c, topic, groupPartitions, 3)
	m.member(t, m.a, group, topic, lastingSession, "strategy=range", "instance=one")
	m.member(t, m.b, group, topic, lastingSession, "strategy=range", "instance=two")
	waitOwned(t, groupPartitions, 60*time.Second, m.a, m.b)
	m.settled(t, group, 2)
	m.write(t, topic, groupPartitions, "first", 2)
	waitReads(t, "first", 2, m.a, m.b)
	tell(t, m.a, "commit")
	tell(t, m.b, "commit")
	owned := m.b.Owned()
	m.a.Rebalances()
	if err := m.b.Kill(); err != nil {
		t.Fatal(err)
	}

	m.b = m.start(t, "b3")
	m.member(t, m.b, group, topic, lastingSession, "strategy=range", "instance=two")
	cluster.Eventually(t, 60*time.Second, "partitions of the static member", func() error {
		if got := m.b.Owned(); !slices.Equal(got, owned) {
			return fmt.Errorf("%v, had %v", got, owned)
		}
		return nil
	})
	m.a.Forget()
	m.write(t, topic, groupPartitions, "second", 2)
	waitReads(t, "second", 2, m.a, m.b)
	if changes, _ := m.a.Rebalances(); changes > 0 {
		t.Errorf("the other member saw %d changes of its assignment", changes)
	}
	tell(t, m.a, "leave")
	tell(t, m.b, "leave")
}

// tail is the end of a file, for messages.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
