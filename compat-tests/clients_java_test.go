//go:build compat

package compat

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/compat-tests/clients"
	"jackdaw/compat-tests/cluster"
)

// TestClients_OldJava_WriteReadAndCommit runs Apache's Java clients of ten years. Those below 2.1 are refused by brokers of 4.x.
func TestClients_OldJava_WriteReadAndCommit(t *testing.T) {
	c := one(t)
	dir := filepath.Join(cluster.CacheDir(), "clients-java")
	libs, err := cluster.Jars()
	cluster.Need(t, err)
	program, err := clients.Compile("Old", "0.9", filepath.Join(dir, "kafka-clients-0.9.0.1.jar"))
	cluster.Need(t, err)
	var wait sync.WaitGroup
	defer wait.Wait()
	for _, tc := range []struct{ version, transactions string }{
		{"0.9.0.1", "false"}, {"0.10.2.2", "false"}, {"0.11.0.3", "true"}, {"1.1.1", "true"}, {"2.8.2", "true"},
	} {
		wait.Go(func() {
			t.Run(tc.version, func(t *testing.T) {
				topic := topicName(t)
				createTopic(t, c, topic, 1, 1)
				want := series("v", 50)
				if tc.transactions == "true" {
					want = append(want, series("t", 50)...)
				}
				// The client first, so that it is not the one among the jars of 3.9.2, which have its logger and codecs.
				classpath := filepath.Join(dir, "kafka-clients-"+tc.version+".jar") + ":" + filepath.Join(libs, "*")
				out, err := program.Run(t.Context(), t.TempDir(), classpath, c.BootstrapString(), topic, "50", tc.transactions)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if diff := cmp.Diff(want, lines(out)); diff != "" {
					t.Errorf("read back (-want +got):\n%s", diff)
				}
				offsets, err := admin(t, c).FetchOffsets(t.Context(), topic)
				if o, ok := offsets.Lookup(topic, 0); err != nil || !ok || o.At < int64(len(want)) {
					t.Errorf("committed %+v, %v", o, err)
				}
			})
		})
	}
}

// TestClients_NewestJava_AsksForWhatIsNotThere: a client of 4.x gets answers that it understands, also a refusal.
func TestClients_NewestJava_AsksForWhatIsNotThere(t *testing.T) {
	c := one(t)
	libs, err := cluster.Jars4()
	cluster.Need(t, err)
	topic := "newest"
	createTopic(t, c, topic, 3, 1)
	program, err := clients.Compile("Newest", "4.4.0", filepath.Join(libs, "*"))
	cluster.Need(t, err)
	out, err := program.Run(t.Context(), t.TempDir(), "", c.BootstrapString(), topic)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := lines(out)
	for i, want := range []string{
		"cluster: 1",
		"features: {}",
		`groups: \d+`,
		"topics: 3",
		"client metrics: .*UnsupportedVersionException: The node does not support LIST_CONFIG_RESOURCES",
		"share group: .*UnsupportedVersionException: The node does not support SHARE_GROUP_DESCRIBE",
		"share consumer: .*UnsupportedVersionException: The cluster does not support the share group protocol .*",
	} {
		if i >= len(got) || !regexp.MustCompile("^"+want+"$").MatchString(got[i]) {
			t.Errorf("line %d is not %q:\n%s", i, want, strings.Join(got, "\n"))
		}
	}
}
