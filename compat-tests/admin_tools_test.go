//go:build compat

package compat

import (
	"regexp"
	"strings"
	"testing"

	"jackdaw/compat-tests/cluster"
)

// adminTools are Apache's tools by their short names. Kafka 4 has some elsewhere: a class is there in one of the two lists.
var adminTools = map[string]string{
	"acls":                "kafka.admin.AclCommand",
	"broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
	"client-metrics":      "org.apache.kafka.tools.ClientMetricsCommand",
	"cluster":             "org.apache.kafka.tools.ClusterTool",
	"configs":             "kafka.admin.ConfigCommand",
	"console-consumer":    "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"console-producer":    "kafka.tools.ConsoleProducer",
	"consumer-groups":     "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"consumer-perf-test":  "org.apache.kafka.tools.ConsumerPerformance",
	"delegation-tokens":   "org.apache.kafka.tools.DelegationTokenCommand",
	"delete-records":      "org.apache.kafka.tools.DeleteRecordsCommand",
	"dump-log":            "kafka.tools.DumpLogSegments",
	"features":            "org.apache.kafka.tools.FeatureCommand",
	"get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"leader-election":     "org.apache.kafka.tools.LeaderElectionCommand",
	"log-dirs":            "org.apache.kafka.tools.LogDirsCommand",
	"metadata-quorum":     "org.apache.kafka.tools.MetadataQuorumCommand",
	"producer-perf-test":  "org.apache.kafka.tools.ProducerPerformance",
	"reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"topics":              "org.apache.kafka.tools.TopicCommand",
	"transactions":        "org.apache.kafka.tools.TransactionsCommand",
	"verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
	"verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}

var adminTools4 = map[string]string{
	"acls":                "org.apache.kafka.tools.AclCommand",
	"broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"configs":             "org.apache.kafka.tools.ConfigCommand",
	"console-producer":    "org.apache.kafka.tools.ConsoleProducer",
	"dump-log":            "org.apache.kafka.tools.DumpLogSegments",
	"groups":              "org.apache.kafka.tools.GroupsCommand",
}

// toolRun is one call of a tool and what it has to print, as regular expressions.
type toolRun struct {
	tool string
	args []string
	want []string
	// fails: the tool has to end with an error.
	fails bool
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
