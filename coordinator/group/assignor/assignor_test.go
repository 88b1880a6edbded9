package assignor

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jackdaw/metadata"
)

func topic(n int) metadata.TopicID { return metadata.TopicID{15: byte(n)} }

// member subscribes to topics and has what "1-0" and so on name.
func member(id string, topics []int, owned ...string) Member {
	m := Member{ID: id, Owned: Partitions{}}
	for _, t := range topics {
		m.Topics = append(m.Topics, topic(t))
	}
	for _, o := range owned {
		var t, p int
		if _, err := fmt.Sscanf(o, "%d-%d", &t, &p); err != nil {
			panic(err)
		}
		m.Owned.Add(topic(t), int32(p))
	}
	return m
}

func static(m Member, instance string) Member {
	m.InstanceID = &instance
	return m
}

func counts(n ...int32) map[metadata.TopicID]int32 {
	out := map[metadata.TopicID]int32{}
	for i, c := range n {
		out[topic(i+1)] = c
	}
	return out
}

func show(p Partitions) (out []string) {
	for _, t := range p.Topics() {
		for _, n := range p[t] {
			out = append(out, strconv.Itoa(int(t[15]))+"-"+strconv.Itoa(int(n)))
		}
	}
	return out
}

// The expected assignments follow from Kafka's RangeAssignor and UniformAssignor, where their order is not that of a hash.
func TestAssign_Cases_LikeKafka(t *testing.T) {
	both := []int{1, 2}
	for _, tc := range []struct {
		name    string
		assign  Assignor
		counts  map[metadata.TopicID]int32
		members []Member
		want    map[string][]string
	}{
		{
			"range splits topics of three partitions alike", Range, counts(3, 3),
			[]Member{member("B", both), member("A", both)},
			map[string][]string{"A": {"1-0", "1-1", "2-0", "2-1"}, "B": {"1-2", "2-2"}},
		},
		{
			"range of a topic goes to its subscribers only", Range, counts(3, 2),
			[]Member{member("A", both), member("B", []int{2}), member("C", []int{1})},
			map[string][]string{"A": {"1-0", "1-1", "2-0"}, "B": {"2-1"}, "C": {"1-2"}},
		},
		{
			"range has static members first, by instance id", Range, counts(3),
			[]Member{
				member("A", []int{1}), static(member("B", []int{1}), "z"), static(member("C", []int{1}), "y"),
			},
			map[string][]string{"A": {"1-2"}, "B": {"1-1"}, "C": {"1-0"}},
		},
		{
			"range with more members than partitions leaves the last empty", Range, counts(1),
			[]Member{member("A", []int{1}), member("B", []int{1})},
			map[string][]string{"A": {"1-0"}, "B": nil},
		},
		{
			"uniform fills members in order", Uniform, counts(3, 2),
			[]Member{member("A", both), member("B", both)},
			map[string][]string{"A": {"1-0", "1-1", "1-2"}, "B": {"2-0", "2-1"}},
		},
		{
			"uniform takes only what is too much when one joins", Uniform, counts(4),
			[]Member{member("A", []int{1}, "1-0", "1-1", "1-2", "1-3"), member("B", []int{1})},
			map[string][]string{"A": {"1-0", "1-1"}, "B": {"1-2", "1-3"}},
		},
		{
			"uniform leaves one more where it is", Uniform, counts(5),
			[]Member{member("A", []int{1}, "1-0", "1-1"), member("B", []int{1}, "1-2", "1-3", "1-4")},
			map[string][]string{"A": {"1-0", "1-1"}, "B": {"1-2", "1-3", "1-4"}},
		},
		{
			"uniform gives away what a member does not subscribe to any more, and what is gone", Uniform, counts(2),
			[]Member{member("A", []int{1}, "1-0", "2-0", "1-7"), member("B", []int{1}, "2-1")},
			map[string][]string{"A": {"1-0"}, "B": {"1-1"}},
		},
		{
			"uniform counts a partition that two claim once", Uniform, counts(2),
			[]Member{member("A", []int{1}, "1-0", "1-1"), member("B", []int{1}, "1-0")},
			map[string][]string{"A": {"1-0"}, "B": {"1-1"}},
		},
		{
			"uniform with different subscriptions gives what only one can have first", Uniform, counts(3, 3),
			[]Member{member("A", both), member("B", []int{2})},
			map[string][]string{"A": {"1-0", "1-1", "1-2"}, "B": {"2-0", "2-1", "2-2"}},
		},
		{
			"uniform with different subscriptions moves no more than it must", Uniform, counts(6, 2),
			[]Member{member("A", []int{1}, "1-0", "1-1", "1-2", "1-3", "1-4", "1-5"), member("B", both, "2-0", "2-1")},
			map[string][]string{"A": {"1-2", "1-3", "1-4", "1-5"}, "B": {"1-0", "1-1", "2-0", "2-1"}},
		},
		{
			"uniform without topics", Uniform, counts(),
			[]Member{member("A", nil), member("B", nil)},
			map[string][]string{"A": nil, "B": nil},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := map[string][]string{}
			for id, p := range tc.assign(tc.members, tc.counts) {
				got[id] = show(p)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Whatever members subscribe to and had: each partition of a subscribed topic has one owner, who subscribes to it; nothing could
// be moved to make it more even; and what is balanced already stays as it is.
func TestAssign_AnyGroup_CompleteEvenAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := map[metadata.TopicID]int32{}
		for i := range rapid.IntRange(1, 4).Draw(t, "topics") {
			counts[topic(i+1)] = int32(rapid.IntRange(1, 7).Draw(t, "partitions"))
		}
		members := drawMembers(t, counts)
		even := rapid.Bool().Draw(t, "uniform")
		assign := Range
		if even {
			assign = Uniform
		}
		out := assign(members, counts)
		owner := checkComplete(t, members, counts, out)
		if !even {
			return
		}
		for tp, id := range owner {
			for i := range members {
				if m := &members[i]; m.subscribes(tp.topic) && out[m.ID].Len()+1 < out[id].Len() {
					t.Fatalf("%v could go from %s with %d to %s with %d", tp, id, out[id].Len(), m.ID, out[m.ID].Len())
				}
			}
		}
		for i := range members {
			members[i].Owned = out[members[i].ID]
		}
		if d := cmp.Diff(out, assign(members, counts)); d != "" {
			t.Fatalf("the second assignment differs (-first +second):\n%s", d)
		}
	})
}

func drawMembers(t *rapid.T, counts map[metadata.TopicID]int32) []Member {
	var members []Member
	alike := rapid.Bool().Draw(t, "alike")
	for i := range rapid.IntRange(1, 6).Draw(t, "members") {
		m := Member{ID: "m" + strconv.Itoa(i), Owned: Partitions{}}
		for n := range len(counts) {
			if alike || rapid.Bool().Draw(t, "subscribes") {
				m.Topics = append(m.Topics, topic(n+1))
			}
		}
		for range rapid.IntRange(0, 8).Draw(t, "owned") {
			m.Owned.Add(topic(rapid.IntRange(1, 5).Draw(t, "topic")), int32(rapid.IntRange(0, 8).Draw(t, "partition")))
		}
		members = append(members, m)
	}
	return members
}

func checkComplete(t *rapid.T, members []Member, counts map[metadata.TopicID]int32, out map[string]Partitions) map[topicPartition]string {
	owner := map[topicPartition]string{}
	want := 0
	for id, n := range counts {
		if slices.ContainsFunc(members, func(m Member) bool { return m.subscribes(id) }) {
			want += int(n)
		}
	}
	for i := range members {
		m := &members[i]
		p, ok := out[m.ID]
		if !ok {
			t.Fatalf("%s is not in the result", m.ID)
		}
		for id, l := range p {
			if !m.subscribes(id) || !slices.IsSorted(l) || len(l) == 0 {
				t.Fatalf("%s got %v of %v", m.ID, l, id)
			}
			for _, n := range l {
				tp := topicPartition{id, n}
				if owner[tp] != "" || n >= counts[id] {
					t.Fatalf("%v went to %s and %s", tp, owner[tp], m.ID)
				}
				owner[tp] = m.ID
			}
		}
	}
	if len(owner) != want {
		t.Fatalf("%d of %d partitions have an owner", len(owner), want)
	}
	return owner
}
