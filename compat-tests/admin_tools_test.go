//go:build compat

package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// Apache's tools by their short names.
var adminTools = map[string]string{
	"configs":             "kafka.admin.ConfigCommand",
	"acls":                "kafka.admin.AclCommand",
	"topics":              "org.apache.kafka.tools.TopicCommand",
	"delete-records":      "org.apache.kafka.tools.DeleteRecordsCommand",
	"get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"log-dirs":            "org.apache.kafka.tools.LogDirsCommand",
	"leader-election":     "org.apache.kafka.tools.LeaderElectionCommand",
	"reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"features":            "org.apache.kafka.tools.FeatureCommand",
}

// toolRun is one call of a tool and what it has to print, as regular expressions.
type toolRun struct {
	tool string
	args []string
	want []string
	// fails: the tool has to end with an error.
	fails bool
}

// TestAdminTools_Apaches_WorkUnchanged runs Apache's own tools against the cluster, in order, and reads what they print.
func TestAdminTools_Apaches_WorkUnchanged(t *testing.T) {
	c := three(t)
	topic := "admin-tools"
	createAssigned(t, c, topic, nil, []int32{1, 2}, []int32{2, 1})
	for range 10 {
		mustProduce(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, -1, wire.Values("v"))
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	records := file("records.json", fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"offset":4}]}`, topic))
	move := file("move.json", fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[3,2]}]}`, topic))
	list := file("list.json", fmt.Sprintf(`{"partitions":[{"topic":%q,"partition":0},{"topic":%q,"partition":1}]}`, topic, topic))
	for _, r := range configRuns(topic) {
		runTool(t, c, r)
	}
	for _, r := range []toolRun{
		{tool: "topics", args: []string{"--alter", "--topic", topic, "--partitions", "3"}},
		{tool: "topics", args: []string{"--describe", "--topic", topic}, want: []string{
			`PartitionCount: 3\s+ReplicationFactor: 2\s+Configs: .*retention.ms=70000`, `Partition: 0\s+Leader: 1\s+Replicas: 1,2\s+Isr: [12],[12]`,
		}},
		{tool: "delete-records", args: []string{"--offset-json-file", records}, want: []string{`partition: ` + topic + `-0\s+low_watermark: 4`}},
		{tool: "get-offsets", args: []string{"--topic", topic, "--time", "earliest"}, want: []string{topic + ":0:4", topic + ":1:0", topic + ":2:0"}},
		{tool: "log-dirs", args: []string{"--describe", "--topic-list", topic, "--broker-list", "1"}, want: []string{
			`"broker":1,.*"error":null`, `"partition":"` + topic + `-0","size":[1-9]\d*,"offsetLag":0,"isFuture":false`,
		}},
		{tool: "leader-election", args: []string{"--election-type", "preferred", "--path-to-json-file", list}, want: []string{
			`Valid replica already elected for partitions ` + topic + `-[01], ` + topic + `-[01]`,
		}},
		{tool: "reassign-partitions", args: []string{"--execute", "--reassignment-json-file", move}, want: []string{
			`Successfully started partition reassignment for ` + topic + `-0`, `Current partition replica assignment`,
		}},
	} {
		runTool(t, c, r)
	}
	waitReplicas(t, c, topic, 0, 3, 2)
	for _, r := range []toolRun{
		{tool: "reassign-partitions", args: []string{"--verify", "--reassignment-json-file", move}, want: []string{
			`Reassignment of partition ` + topic + `-0 is completed`,
		}},
		{tool: "acls", args: []string{"--list"}, want: []string{`SecurityDisabledException: No Authorizer is configured`}, fails: true},
	} {
		runTool(t, c, r)
	}
}

// configRuns are the calls of kafka-configs.
func configRuns(topic string) []toolRun {
	ofTopic := []string{"--entity-type", "topics", "--entity-name", topic}
	ofBrokers := []string{"--entity-type", "brokers", "--entity-default"}
	ofUser := []string{"--entity-type", "users", "--entity-name", "tool-user"}
	configs := func(entity []string, rest ...string) toolRun {
		return toolRun{tool: "configs", args: append(append([]string{}, entity...), rest...)}
	}
	with := func(r toolRun, want ...string) toolRun { r.want = want; return r }
	failing := func(r toolRun) toolRun { r.fails = true; return r }
	return []toolRun{
		with(configs(ofTopic, "--alter", "--add-config", "retention.ms=70000,cleanup.policy=[compact,delete]"), `Completed updating config for topic `+topic),
		with(configs(ofTopic, "--describe"), `retention.ms=70000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=70000`,
			`cleanup.policy=compact,delete sensitive=false`),
		failing(with(configs(ofTopic, "--alter", "--add-config", "retention.ms=soon"), `InvalidConfigurationException.*retention.ms: Not a number of type LONG`)),
		with(configs(ofBrokers, "--alter", "--add-config", "log.cleaner.backoff.ms=14000"), `Completed updating default config for brokers in the cluster`),
		with(configs(ofBrokers, "--describe"), `log.cleaner.backoff.ms=14000 sensitive=false synonyms=\{DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.backoff.ms=14000`),
		with(configs(ofBrokers, "--alter", "--delete-config", "log.cleaner.backoff.ms"), `Completed updating default config`),
		with(configs([]string{"--entity-type", "broker-loggers", "--entity-name", "1"}, "--describe"), `root=INFO sensitive=false`),
		with(configs(ofUser, "--alter", "--add-config", "producer_byte_rate=1048576"), `Completed updating config for user tool-user`),
		with(configs(ofUser, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]"), `Completed updating config for user tool-user`),
		with(configs(ofUser, "--describe"), `user-principal 'tool-user' are producer_byte_rate=1048576`, `SCRAM-SHA-256=iterations=4096`),
	}
}

func runTool(t *testing.T, c *cluster.Cluster, r toolRun) {
	t.Helper()
	out, err := cluster.Tool("", adminTools[r.tool], append([]string{"--bootstrap-server", c.BootstrapString()}, r.args...)...)
	checkPrinted(t, "kafka-"+r.tool, r, out, err)
}

// checkPrinted holds what a tool printed against what it has to.
func checkPrinted(t *testing.T, tool string, r toolRun, out string, err error) {
	t.Helper()
	line := tool + " " + strings.Join(r.args, " ")
	if err != nil && !r.fails {
		t.Errorf("%s: %v\n%s", line, err, out)
		return
	}
	for _, want := range r.want {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: does not print %q, but:\n%s", line, want, out)
		}
	}
}

// waitReplicas waits until a partition is where it should be, and nowhere else.
func waitReplicas(t *testing.T, c *cluster.Cluster, topic string, partition int, ids ...int) {
	t.Helper()
	cluster.Eventually(t, 20*time.Second, "the replicas of "+topic, func() error {
		a, err := c.Tree.Assignment(topic)
		if err != nil {
			return err
		}
		if got := fmt.Sprint(a[partition]); got != fmt.Sprint(ids) {
			return fmt.Errorf("replicas %v, want %v", got, ids)
		}
		return nil
	})
}
