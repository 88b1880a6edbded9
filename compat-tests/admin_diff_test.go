//go:build compat

package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// adminCase is one request that is sent to Apache Kafka and to Jackdaw, at every version that both offer.
type adminCase struct {
	name string
	// req makes the request; the version matters to few.
	req func(version int16) kmsg.Request
	// from and to narrow the versions; a to of 0 is the highest.
	from, to int16
}

// TestAdminDiff_RightAndWrongRequests_AnsweredAlike sends the same administrative requests in the same order to both
// brokers, and compares what they answer field by field. explainedAdmin has what differs on purpose.
func TestAdminDiff_RightAndWrongRequests_AnsweredAlike(t *testing.T) {
	jackdawOnly(t, "it starts both kinds")
	kafka, ours := adminPair(t)
	defer kafka.close()
	defer ours.close()
	sent, used := 0, map[string]bool{}
	for _, c := range adminCases() {
		low, high := commonVersions(t, kafka.addr, ours.addr, c.req(0).Key())
		if c.to > 0 {
			high = min(high, c.to)
		}
		for v := max(low, c.from); v <= high; v++ {
			sent++
			req := c.req(v)
			name := fmt.Sprintf("%s v%d: %s", kmsg.NameForKey(req.Key()), v, c.name)
			want, got := kafka.answer(req, v), ours.answer(c.req(v), v)
			for end := time.Now().Add(settled); want != got && req.Key() == int16(kmsg.DescribeConfigs) && time.Now().Before(end); {
				want = kafka.answer(req, v) // a change before reaches Kafka's brokers by a watch
			}
			if e, ok := explainedAdmin[fmt.Sprintf("%s: %s", kmsg.NameForKey(req.Key()), c.name)]; ok {
				used[fmt.Sprintf("%s: %s", kmsg.NameForKey(req.Key()), c.name)] = true
				if !strings.Contains(got, e.ours) {
					t.Errorf("%s\n jackdaw %s\n expected to contain %s", name, got, e.ours)
				}
				continue
			}
			if want != got {
				t.Errorf("%s\n   kafka %s\n jackdaw %s", name, want, got)
			}
		}
	}
	for name := range explainedAdmin {
		if !used[name] {
			t.Errorf("explained, but never sent: %s", name)
		}
	}
	compareBrokerConfigs(t, kafka, ours)
	t.Logf("%d requests compared", sent)
}

// ownKeys have values of one broker, or are Jackdaw's.
var ownKeys = regexp.MustCompile(`^(jackdaw\..*|listeners|advertised\.listeners|log\.dirs|zookeeper\.connect)$`)

// compareBrokerConfigs compares what both say about each key of a broker: value, source, type, flags and synonyms.
func compareBrokerConfigs(t *testing.T, kafka, ours *answerer) {
	t.Helper()
	describe := func(a *answerer) map[string]string {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.IncludeSynonyms = true
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: brokerResource, ResourceName: "1"}}
		out := map[string]string{}
		for _, c := range ask[*kmsg.DescribeConfigsResponse](t, a.addr, req, 4).Resources[0].Configs {
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if !ownKeys.MatchString(c.Name) {
				out[c.Name] = string(text)
			}
		}
		return out
	}
	want, got := describe(kafka), describe(ours)
	for name := range want {
		if want[name] != got[name] {
			t.Errorf("broker key %s\n   kafka %s\n jackdaw %s", name, want[name], got[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("broker key %s is not Kafka's: %s", name, got[name])
		}
	}
	if len(want) < 250 {
		t.Errorf("only %d keys compared", len(want))
	}
}

// settled bounds the wait until a change of settings is seen.
const settled = 2 * time.Second

// adminPair starts a broker of each kind, each with a ZooKeeper tree of its own.
func adminPair(t *testing.T) (kafka, ours *answerer) {
	t.Helper()
	settings := map[string]string{"group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false"}
	apache := cluster.Start(t, cluster.Options{Brokers: 1, Kinds: map[int]cluster.Kind{1: cluster.Apache}, Config: settings})
	jackdaw := cluster.Start(t, cluster.Options{Brokers: 1, Config: settings})
	return &answerer{addr: apache.Brokers[0].Addr()}, &answerer{addr: jackdaw.Brokers[0].Addr()}
}

func commonVersions(t *testing.T, kafka, ours string, key int16) (low, high int16) {
	t.Helper()
	low, high, ok := offered(t, kafka, key)
	low2, high2, ok2 := offered(t, ours, key)
	if !ok || !ok2 {
		t.Fatalf("%s: offered by Kafka: %v, by Jackdaw: %v", kmsg.NameForKey(key), ok, ok2)
	}
	return max(low, low2), min(high, high2)
}

// answerer is one of the two brokers. The connection is used until the broker closes it.
type answerer struct {
	addr string
	conn *wire.Conn
}

func (p *answerer) close() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// answer sends a request and renders the answer.
func (p *answerer) answer(req kmsg.Request, version int16) string {
	if p.conn == nil {
		conn, err := wire.Dial(p.addr)
		if err != nil {
			return err.Error()
		}
		p.conn = conn
	}
	resp, err := p.conn.Do(req, version)
	if err != nil {
		p.close()
	}
	switch {
	case errors.Is(err, wire.ErrClosed):
		return "connection closed"
	case err != nil:
		return "no answer: " + err.Error()
	}
	text, err := json.Marshal(resp)
	if err != nil {
		return err.Error()
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return err.Error()
	}
	text, err = json.Marshal(canonical(tree))
	if err != nil {
		return err.Error()
	}
	return javaNoise.ReplaceAllString(directories.ReplaceAllString(string(text), "DIR"), "")
}

// ownFields have values that belong to one broker.
var ownFields = []string{
	"Version", "UnknownTags", "TopicID", "Port", "Host", "ClusterID", "Dir", "TotalBytes", "UsableBytes", "Size", "LastTimestamp",
	"IssueTimestamp", "Documentation",
	"IsDefault", // Kafka 3.9 never sets it, in the only version that has it
}

// directories differ from broker to broker. javaNoise is what Kafka's own classes leave in its texts: the kinds of its
// collections, Scala's "requirement failed", and an exception printed as the value of another.
var (
	directories = regexp.MustCompile(`/[^" ]*/broker-1/data`)
	javaNoise   = regexp.MustCompile(`(ArrayBuffer|List|Hash|HashSet|Set)+\(|requirement failed: |` +
		`Invalid value org.apache.kafka.common.config.ConfigException: | for configuration Invalid dynamic configuration`)
)

// canonical sorts all arrays, whose order is that of hash tables in Kafka, and leaves out fields of one broker.
func canonical(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for _, name := range ownFields {
			delete(x, name)
		}
		for k, e := range x {
			x[k] = canonical(e)
		}
	case []any:
		for i := range x {
			x[i] = canonical(x[i])
		}
		slices.SortFunc(x, func(a, b any) int {
			p, _ := json.Marshal(a)
			q, _ := json.Marshal(b)
			return bytes.Compare(p, q)
		})
	}
	return v
}
