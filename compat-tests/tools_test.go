//go:build compat

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"jackdaw/compat-tests/cluster"
)

// toolCall is one call of a tool.
type toolCall struct {
	tool  string
	args  []string
	stdin string
	// only: just the lines count that have this text. Others may be there of other tests.
	only string
	// want is a regular expression for outputs that are never twice the same; others are compared with Apache's as a whole.
	want string
	// before is done first.
	before func() error
	// until: what it has to print in the end, when it takes a moment.
	until string
}

// toolset are the tools of one version of Apache Kafka, and the names that they work on.
type toolset struct {
	t    *testing.T
	c    *cluster.Cluster
	box  *cluster.Toolbox
	four bool // of Kafka 4
	// brokers is held while settings of brokers are changed: Apache Kafka loses one of two changes at the same time.
	brokers *sync.Mutex
	topic   string
	dir     string
	said    strings.Builder
	golden  map[string]string
}

// TestAdminTools_Apaches_PrintWhatTheyPrintWithApache runs Apache's own tools, of 3.9 and of 4.4, against the cluster, in
// order, and compares what they print with what they print in front of Apache Kafka 3.9.2: testdata/tools-*.txt.
// COMPAT_TARGET=apache COMPAT_REWRITE=1 renews those.
func TestAdminTools_Apaches_PrintWhatTheyPrintWithApache(t *testing.T) {
	c := three(t)
	old, err := cluster.Jars()
	cluster.Need(t, err)
	recent, err := cluster.Jars4()
	cluster.Need(t, err)
	var group errgroup.Group
	var brokers sync.Mutex
	for jars, name := range map[string]string{old: "tools-3", recent: "tools-4"} {
		s := &toolset{t: t, c: c, box: cluster.StartToolbox(t, jars), four: name == "tools-4", topic: name, dir: t.TempDir(), brokers: &brokers}
		s.readGolden()
		runs := s.runs()
		group.Go(func() error {
			for _, r := range runs {
				s.run(r)
			}
			return s.rewriteGolden()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s *toolset) goldenPath() string { return filepath.Join("testdata", s.topic+".txt") }

// readGolden reads what Apache's broker had the tools print: a line with each call, then what it printed.
func (s *toolset) readGolden() {
	s.golden = map[string]string{}
	text, err := os.ReadFile(s.goldenPath())
	if err != nil {
		return // it is being made
	}
	for _, part := range strings.Split("\n"+string(text), "\n$ ")[1:] {
		call, printed, _ := strings.Cut(part, "\n")
		s.golden[call] = strings.TrimSuffix(printed, "\n")
	}
}

func (s *toolset) rewriteGolden() error {
	if cluster.Target() != cluster.Apache || os.Getenv("COMPAT_REWRITE") == "" {
		return nil
	}
	return os.WriteFile(s.goldenPath(), []byte(s.said.String()), 0o600)
}

func (s *toolset) run(r toolCall) {
	if r.before != nil {
		if err := r.before(); err != nil {
			s.t.Error(err)
		}
	}
	class, ok := adminTools4[r.tool]
	if !s.four || !ok {
		class = adminTools[r.tool]
	}
	args, server := r.args, []string{"--bootstrap-server", s.c.BootstrapString()}
	switch r.tool {
	case "dump-log", "producer-perf-test":
	case "cluster":
		args = append(slices.Clone(args), server...)
	default:
		args = append(server, args...)
	}
	call := "kafka-" + r.tool + " " + s.normal(strings.Join(r.args, " "), "")
	for began := time.Now(); ; {
		out, err := s.call(r, class, args)
		printed := s.normal(out, r.only)
		if err != nil {
			printed += fmt.Sprintf("\n%v", err)
		}
		problem := s.problem(r, call, printed)
		if problem == "" || time.Since(began) > 15*time.Second {
			if problem != "" {
				s.t.Errorf("%s (%s): %s", call, s.topic, problem)
			}
			if r.want == "" {
				fmt.Fprintf(&s.said, "$ %s\n%s\n", call, printed)
			}
			return
		}
	}
}

func (s *toolset) call(r toolCall, class string, args []string) (string, error) {
	if slices.Contains(args, "brokers") {
		s.brokers.Lock()
		defer s.brokers.Unlock()
	}
	return s.box.Run(r.stdin, class, args...)
}

// problem says what is wrong with what a tool printed; empty is nothing.
func (s *toolset) problem(r toolCall, call, printed string) string {
	match := r.want + r.until
	if match != "" && !regexp.MustCompile(match).MatchString(printed) {
		return fmt.Sprintf("does not print %q, but\n%s", match, printed)
	}
	want, ok := s.golden[call]
	switch {
	case r.want != "" || os.Getenv("COMPAT_REWRITE") != "":
		return ""
	case !ok:
		return "Apache's output is not known"
	case want != printed:
		return "printed\n" + printed + "\nwith Apache's broker it is\n" + want
	}
	return ""
}

// What differs from run to run, and what stands for it.
var toolNoise = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`127\.0\.0\.1[: ]\d+`), "HOST"},
	{regexp.MustCompile(`/[^"]*/broker-\d/data`), "DIR"},
	{regexp.MustCompile(`HOST +\(\d\) *`), "HOST (ID) "},
	{regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\]`), "[TIME]"},
	{regexp.MustCompile(`TopicId: \S{22}`), "TopicId: ID"},
	{regexp.MustCompile(`Cluster ID: \S{22}`), "Cluster ID: ID"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`"(size|timestamp)":\s?\d+`), `"$1":N`},
	{regexp.MustCompile(`"logDir":"[^"]*"`), `"logDir":"DIR"`},
	{regexp.MustCompile(`  +`), " "},
	{regexp.MustCompile(`\[main\] `), ""},
}

// normal leaves out of an output what belongs to one run, and stack traces, and sorts it: Kafka's collections have no order.
func (s *toolset) normal(out, only string) string {
	out = strings.ReplaceAll(out, s.dir+"/", "")
	for _, n := range toolNoise {
		out = n.find.ReplaceAllString(out, n.put)
	}
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, " \n\t")
		if line != "" && strings.Contains(line, only) && !stackLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var stackLine = regexp.MustCompile(`^\s+(at |\.\.\. \d+ more)`)

// file writes a file that a tool reads.
func (s *toolset) file(name, format string, args ...any) string {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		s.t.Error(err)
	}
	return path
}

func (s *toolset) runs() []toolCall {
	var all []toolCall
	for _, part := range [][]toolCall{s.topicRuns(), s.configRuns(), s.recordRuns(), s.groupRuns(), s.partitionRuns(), s.transactionRuns(), s.clusterRuns()} {
		all = append(all, part...)
	}
	return all
}

func (s *toolset) topicRuns() []toolCall {
	topics := func(args ...string) toolCall { return toolCall{tool: "topics", args: args} }
	return []toolCall{
		topics("--create", "--topic", s.topic, "--replica-assignment", "1:2,2:1", "--config", "retention.ms=70000"),
		topics("--create", "--topic", s.topic, "--partitions", "1"),
		topics("--create", "--topic", s.topic, "--partitions", "1", "--if-not-exists"),
		topics("--create", "--topic", "bad name", "--partitions", "1"),
		topics("--create", "--topic", s.topic+"-other", "--partitions", "1", "--replication-factor", "4"),
		topics("--create", "--topic", s.topic+"-other", "--partitions", "2", "--replication-factor", "3"),
		{tool: "topics", args: []string{"--list"}, only: s.topic, until: s.topic + "-other"},
		topics("--alter", "--topic", s.topic, "--partitions", "3", "--replica-assignment", "1:2,2:1,3:1"),
		topics("--alter", "--topic", s.topic, "--partitions", "2"),
		{tool: "topics", args: []string{"--describe", "--topic", s.topic}, until: "Leader: 3"},
		{tool: "topics", args: []string{"--describe", "--topics-with-overrides"}, only: s.topic},
		{tool: "topics", args: []string{"--describe", "--unavailable-partitions"}, only: s.topic},
		topics("--describe", "--topic", "no-such"),
		topics("--delete", "--topic", s.topic+"-other"),
		topics("--delete", "--topic", "no-such"),
	}
}

func (s *toolset) configRuns() []toolCall {
	ofTopic := []string{"--entity-type", "topics", "--entity-name", s.topic}
	ofBrokers := []string{"--entity-type", "brokers", "--entity-default"}
	ofBroker := []string{"--entity-type", "brokers", "--entity-name", "1"}
	ofUser := []string{"--entity-type", "users", "--entity-name", s.topic}
	ofLoggers := []string{"--entity-type", "broker-loggers", "--entity-name", "1"}
	key, ip := "log.cleaner.backoff.ms", "10.9.8.3"
	if s.four {
		key, ip = "max.connection.creation.rate", "10.9.8.4"
	}
	configs := func(entity []string, rest ...string) toolCall {
		return toolCall{tool: "configs", args: append(append([]string{}, entity...), rest...)}
	}
	return []toolCall{
		configs(ofTopic, "--alter", "--add-config", "retention.ms=80000,cleanup.policy=[compact,delete]"),
		{tool: "configs", args: append(slices.Clone(ofTopic), "--describe"), until: "retention.ms=80000"},
		configs(ofTopic, "--describe", "--all"),
		configs(ofTopic, "--alter", "--delete-config", "cleanup.policy"),
		configs(ofTopic, "--alter", "--add-config", "retention.ms=soon"),
		configs([]string{"--entity-type", "topics", "--entity-name", "no-such"}, "--describe"),
		configs(ofBrokers, "--alter", "--add-config", key+"=14000"),
		{tool: "configs", args: append(slices.Clone(ofBrokers), "--describe"), only: key, until: key + "=14000"},
		configs(ofBroker, "--alter", "--add-config", key+"=13000"),
		{tool: "configs", args: append(slices.Clone(ofBroker), "--describe"), only: key, until: key + "=13000"},
		configs(ofBroker, "--alter", "--add-config", "zookeeper.connect=x"),
		configs(ofBroker, "--alter", "--delete-config", key),
		configs(ofBrokers, "--alter", "--delete-config", key),
		{tool: "configs", args: append(slices.Clone(ofLoggers), "--describe"), only: "root="},
		configs(ofLoggers, "--alter", "--add-config", "root=LOUD"),
		configs(ofUser, "--alter", "--add-config", "producer_byte_rate=1048576,consumer_byte_rate=2097152"),
		configs(ofUser, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]"),
		{tool: "configs", args: append(slices.Clone(ofUser), "--describe"), until: "SCRAM-SHA-256=iterations"},
		configs(append(slices.Clone(ofUser), "--entity-type", "clients", "--entity-name", "c"), "--alter", "--add-config", "request_percentage=50"),
		{tool: "configs", args: []string{"--entity-type", "users", "--entity-type", "clients", "--describe"}, only: s.topic, until: "request_percentage"},
		configs([]string{"--entity-type", "ips", "--entity-name", ip}, "--alter", "--add-config", "connection_creation_rate=7"),
		{tool: "configs", args: []string{"--entity-type", "ips", "--describe"}, only: ip, until: "connection_creation_rate"},
		configs(ofUser, "--alter", "--delete-config", "producer_byte_rate,consumer_byte_rate"),
		configs(ofUser, "--alter", "--delete-config", "SCRAM-SHA-256"),
		configs([]string{"--entity-type", "client-metrics", "--entity-name", "x"}, "--describe"),
	}
}

func (s *toolset) recordRuns() []toolCall {
	segment := filepath.Join(s.c.Broker(1).DataDir(), s.topic+"-0", "00000000000000000000.log")
	return []toolCall{
		{tool: "console-producer", args: []string{"--topic", s.topic, "--property", "parse.key=true"}, stdin: "k\tone\nk\ttwo\nk\tthree\n"},
		{tool: "console-consumer", args: []string{"--topic", s.topic, "--from-beginning", "--max-messages", "3", "--property", "print.key=true", "--group", s.topic}},
		{tool: "verifiable-producer", args: []string{"--topic", s.topic, "--max-messages", "5"}, want: `"name":"startup_complete"`},
		{tool: "verifiable-consumer", args: []string{"--topic", s.topic, "--max-messages", "5", "--group-id", s.topic + "-v"}, want: `"name":"records_consumed"`},
		{tool: "producer-perf-test", args: []string{
			"--topic", s.topic, "--num-records", "1000", "--record-size", "100", "--throughput", "-1", "--producer-props",
			"bootstrap.servers=" + s.c.BootstrapString(), "batch.size=4000",
		}, want: `1000 records sent, .* ms 99.9th`},
		{tool: "consumer-perf-test", args: []string{"--topic", s.topic, "--messages", "1000"}, want: `(?m), 0.\d+, [\d.]+, 1\d\d\d, `},
		{tool: "dump-log", args: []string{"--files", segment, "--print-data-log"}, want: `baseOffset: 0 lastOffset: \d+ count: \d+ .* magic: 2 compresscodec: none`},
		{tool: "get-offsets", args: []string{"--topic-partitions", s.topic + ":0-2", "--time", "earliest"}},
		{tool: "get-offsets", args: []string{"--topic", s.topic}, want: s.topic + `:0:\d+\n` + s.topic + `:1:\d+\n` + s.topic + `:2:\d+`},
		{tool: "get-offsets", args: []string{"--topic", s.topic, "--time", "max-timestamp"}, want: s.topic + `:0:\d+`},
	}
}

func (s *toolset) groupRuns() []toolCall {
	groups := func(args ...string) toolCall { return toolCall{tool: "consumer-groups", args: args} }
	var all []toolCall
	if s.four {
		all = append(all, toolCall{tool: "groups", args: []string{"--list"}, only: s.topic})
	}
	return append(all, []toolCall{
		{tool: "consumer-groups", args: []string{"--list"}, only: s.topic},
		{tool: "consumer-groups", args: []string{"--list", "--state"}, only: s.topic},
		{tool: "consumer-groups", args: []string{"--describe", "--group", s.topic}, want: `GROUP +TOPIC +PARTITION +CURRENT-OFFSET +LOG-END-OFFSET +LAG(.*\n)*` + s.topic + " " + s.topic + ` \d +\d+ \d+ \d+ - - -`},
		groups("--describe", "--group", s.topic, "--state"),
		groups("--describe", "--group", s.topic, "--members"),
		groups("--describe", "--group", "no-such"),
		groups("--reset-offsets", "--group", s.topic, "--topic", s.topic, "--to-earliest", "--execute"),
		groups("--reset-offsets", "--group", s.topic, "--topic", s.topic+":0", "--shift-by", "2", "--dry-run"),
		groups("--delete-offsets", "--group", s.topic, "--topic", s.topic),
		groups("--delete", "--group", s.topic),
		groups("--delete", "--group", "no-such"),
	}...)
}

func (s *toolset) partitionRuns() []toolCall {
	records := s.file("records.json", `{"version":1,"partitions":[{"topic":%q,"partition":0,"offset":2}]}`, s.topic)
	move := s.file("move.json", `{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[3,2]}]}`, s.topic)
	back := s.file("back.json", `{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[2,3]}]}`, s.topic)
	list := s.file("list.json", `{"partitions":[{"topic":%[1]q,"partition":0},{"topic":%[1]q,"partition":1}]}`, s.topic)
	topics := s.file("topics.json", `{"version":1,"topics":[{"topic":%q}]}`, s.topic)
	reassign := func(args ...string) toolCall { return toolCall{tool: "reassign-partitions", args: args} }
	return []toolCall{
		{tool: "delete-records", args: []string{"--offset-json-file", records}},
		{tool: "get-offsets", args: []string{"--topic", s.topic, "--time", "earliest"}},
		{tool: "log-dirs", args: []string{"--describe", "--topic-list", s.topic, "--broker-list", "1"}},
		{tool: "leader-election", args: []string{"--election-type", "preferred", "--path-to-json-file", list}},
		{tool: "leader-election", args: []string{"--election-type", "unclean", "--topic", s.topic, "--partition", "0"}},
		reassign("--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2"),
		reassign("--execute", "--reassignment-json-file", move, "--throttle", "100000000"),
		{tool: "reassign-partitions", args: []string{"--verify", "--reassignment-json-file", move}, until: "is completed"},
		reassign("--execute", "--reassignment-json-file", back),
		{tool: "reassign-partitions", args: []string{"--list"}, only: s.topic},
		reassign("--cancel", "--reassignment-json-file", move),
		{tool: "leader-election", args: []string{"--election-type", "preferred", "--topic", s.topic, "--partition", "0"}},
	}
}

func (s *toolset) transactionRuns() []toolCall {
	id := s.topic + "-txn"
	cl := transactional(s.t, s.c, id, kgo.TransactionTimeout(10*time.Minute))
	begin := func() error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		return cl.ProduceSync(s.t.Context(), &kgo.Record{Topic: s.topic, Partition: 2}).FirstErr()
	}
	transactions := func(args ...string) toolCall { return toolCall{tool: "transactions", args: args} }
	return []toolCall{
		{tool: "transactions", args: []string{"list"}, before: begin, only: id, want: id + `\s+\d\s+\d+\s+Ongoing`},
		{tool: "transactions", args: []string{"describe", "--transactional-id", id}, want: `\d\s+` + id + `\s+\d+\s+0\s+Ongoing\s+600000\s+\d+\s+\d+\s+` + s.topic + "-2"},
		{tool: "transactions", args: []string{"describe-producers", "--topic", s.topic, "--partition", "2"}, want: `(?m)\d+\s+0\s+-1\s+0\s+\d+\s+\d+$`},
		transactions("find-hanging", "--broker-id", "1"),
		transactions("describe", "--transactional-id", "no-such"),
		transactions("abort", "--topic", s.topic, "--partition", "0", "--start-offset", "0"),
		transactions("forceTerminateTransaction", "--transactionalId", id),
	}
}

func (s *toolset) clusterRuns() []toolCall {
	all := []toolCall{
		{tool: "broker-api-versions", only: "HOST"},
		{tool: "features", args: []string{"describe"}},
		{tool: "cluster", args: []string{"cluster-id"}},
		{tool: "metadata-quorum", args: []string{"describe", "--status"}},
		{tool: "client-metrics", args: []string{"--list"}},
		{tool: "client-metrics", args: []string{"--describe"}},
		{tool: "delegation-tokens", args: []string{"--describe", "--command-config", s.file("empty.properties", "")}},
		{tool: "acls", args: []string{"--list"}},
	}
	if s.four {
		all = append(all, toolCall{tool: "cluster", args: []string{"list-endpoints"}})
	}
	return all
}
