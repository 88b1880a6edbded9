package config

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference is the broker that testdata/describe-3.9.2.txt was taken from.
func reference(t *testing.T) (*Loaded, Dynamic) {
	t.Helper()
	l, err := load(map[string]string{
		"broker.id": "1", "listeners": "PLAINTEXT://127.0.0.1:19592", "log.dirs": "/data", "log.retention.hours": "100",
		"log.segment.bytes": "2000000", "compression.type": "lz4", "ssl.keystore.password": "geheim", "custom.key": "hello",
		"offsets.topic.num.partitions": "5", "offsets.topic.replication.factor": "1", "transaction.state.log.num.partitions": "5",
		"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0", "zookeeper.connect": "127.0.0.1:12581",
	}, "me")
	if err != nil {
		t.Fatal(err)
	}
	return l, Dynamic{
		PerBroker: map[string]string{"log.retention.ms": "999", "log.cleaner.threads": "2"},
		Default:   map[string]string{"log.retention.ms": "888", "message.max.bytes": "777777"},
	}
}

// render prints entries in the form of the golden file.
func render(entries []Entry) []string {
	null := func(s *string) string {
		if s == nil {
			return "<null>"
		}
		return *s
	}
	var out []string
	for _, e := range entries {
		var synonyms []string
		for _, s := range e.Synonyms {
			synonyms = append(synonyms, fmt.Sprintf("%s=%s@%d", s.Name, null(s.Value), s.Source))
		}
		out = append(out, fmt.Sprintf("%s = %s\tro=%v src=%d sens=%v type=%d syn=[%s]", e.Name, null(e.Value), e.ReadOnly, e.Source,
			e.Sensitive, e.Type, strings.Join(synonyms, " ")))
	}
	return out
}

// golden reads the answers of Apache Kafka by resource, sorted.
func golden(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open("testdata/describe-3.9.2.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]string{}
	section := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "# "); ok {
			section, _, _ = strings.Cut(rest, " err")
			continue
		}
		out[section] = append(out[section], s.Text())
	}
	for _, lines := range out {
		slices.SortFunc(lines, func(a, b string) int {
			x, _, _ := strings.Cut(a, " = ")
			y, _, _ := strings.Cut(b, " = ")
			return strings.Compare(x, y)
		})
	}
	return out
}

// S28: all keys, values, sources, synonyms, types and secrets as Apache Kafka 3.9.2 tells them.
func TestDescribe_EveryResource_AsKafka(t *testing.T) {
	l, d := reference(t)
	want := golden(t)
	// Kafka forgets a static log.retention.hours in the value, but not in the synonyms, while log.retention.ms is set
	// dynamically; here the value is the one that was set.
	for i, s := range want[`BROKER "1"`] {
		want[`BROKER "1"`][i] = strings.Replace(s, "log.retention.hours = 168\t", "log.retention.hours = 100\t", 1)
	}
	for resource, entries := range map[string][]Entry{
		`TOPIC "t"`:  l.DescribeTopic(map[string]string{"retention.ms": "12345"}, d, nil),
		`BROKER "1"`: l.DescribeBroker(d, nil),
		`BROKER ""`:  l.DescribeBrokerDefaults(d, nil),
	} {
		got := slices.DeleteFunc(render(entries), func(s string) bool { return strings.HasPrefix(s, "jackdaw.") })
		if diff := cmp.Diff(want[resource], got); diff != "" {
			t.Errorf("%s (-kafka +here)\n%s", resource, diff)
		}
	}
}

func TestDescribe_SomeKeys_ExactlyThose(t *testing.T) {
	l, d := reference(t)
	only := []string{"segment.bytes", "retention.ms", "no.such"}
	if got := l.DescribeTopic(nil, d, only); len(got) != 2 || got[0].Name != "retention.ms" || got[1].Name != "segment.bytes" {
		t.Errorf("topic: %v", render(got))
	}
	if got := l.DescribeBroker(d, []string{"message.max.bytes", "broker.id"}); len(got) != 2 || got[0].Name != "broker.id" {
		t.Errorf("broker: %v", render(got))
	}
	if got := l.DescribeBrokerDefaults(d, []string{"message.max.bytes"}); len(got) != 1 {
		t.Errorf("default: %v", render(got))
	}
}

func TestDescribe_Docs_AreThere(t *testing.T) {
	l, d := reference(t)
	for _, e := range slices.Concat(l.DescribeTopic(nil, d, nil), l.DescribeBroker(d, nil)) {
		if e.Doc == "" && e.Name != "custom.key" {
			t.Errorf("%s: no doc", e.Name)
		}
	}
}

func TestWithDynamic_Layers_ThisBrokerWins(t *testing.T) {
	l, d := reference(t)
	d.Default["broker.id"] = "9"          // may not be changed
	d.PerBroker["message.max.bytes"] = "" // does not parse
	b, err := l.WithDynamic(d)
	if err != nil {
		t.Fatal(err)
	}
	topic, err := b.Topic(nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.ID != 1 || topic.RetentionAge.Milliseconds() != 999 || topic.MaxMessageBytes != 777777 || b.Log.Cleaner.Threads != 2 {
		t.Fatalf("got broker %d, %+v", b.ID, topic)
	}
}
