//go:build compat

package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"jackdaw/compat-tests/cluster"
)

// saramaOld are the versions in which sarama writes message formats 0 and 1, and reads them.
var saramaOld = []sarama.KafkaVersion{sarama.V0_8_2_0, sarama.V0_9_0_0, sarama.V0_10_0_0, sarama.V0_10_2_0}

// saramaReadAs reads partition 0 as sarama did it for a broker of that version.
func saramaReadAs(t *testing.T, c *cluster.Cluster, version sarama.KafkaVersion, topic string, n int) []string {
	t.Helper()
	config := saramaConfig()
	config.Version = version
	return saramaReadBy(t, c, config, topic, 0, n, 20*time.Second)
}

// S06: sarama as it was for old brokers writes each codec; it and current clients read it.
func TestSarama_OldVersions_WriteAndRead(t *testing.T) {
	c := one(t)
	for _, version := range saramaOld {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
			if codec == "lz4" && !version.IsAtLeast(sarama.V0_10_0_0) {
				continue
			}
			t.Run(version.String()+"/"+codec, func(t *testing.T) {
				topic := topicName(t)
				createTopic(t, c, topic, 1, 1)
				config := saramaConfig()
				config.Version = version
				config.Producer.Compression = saramaCodec(codec)
				config.Producer.Flush.Messages = 7
				want := series(codec, 50)
				saramaProduce(t, c, config, topic, 0, want)
				if got := saramaReadAs(t, c, version, topic, len(want)); !slices.Equal(got, want) {
					t.Errorf("sarama %s reads %v", version, got)
				}
				if got := franzRead(t, c, topic, len(want))[0]; !slices.Equal(got, want) {
					t.Errorf("franz-go reads %v", got)
				}
			})
		}
	}
}

// python is the interpreter of the environment that setup.sh makes.
func python() (string, error) {
	path := filepath.Join(cluster.CacheDir(), "kafka-python", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	return path, nil
}

// kafkaPython runs testdata/kafka_python.py, which writes, reads in a group and commits, and returns what it read.
func kafkaPython(t *testing.T, c *cluster.Cluster, topic, apiVersion, codec string, n int) []string {
	t.Helper()
	path, err := python()
	cluster.Need(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "testdata/kafka_python.py", c.BootstrapString(), topic, apiVersion, codec, fmt.Sprint(n))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kafka_python.py: %v\n%s", err, stderr.String())
	}
	var values []string
	if err := json.Unmarshal(out, &values); err != nil {
		t.Fatalf("%v: %q\n%s", err, out, stderr.String())
	}
	return values
}

// S06: kafka-python with the protocol of old brokers.
func TestKafkaPython_OldVersions_WriteReadAndCommit(t *testing.T) {
	c := one(t)
	for _, tc := range []struct{ version, codec string }{{"0.9", "none"}, {"0.10", "none"}, {"0.10", "gzip"}, {"0.10.2", "gzip"}, {"2.6", "gzip"}} {
		t.Run(tc.version+"/"+tc.codec, func(t *testing.T) {
			topic := topicName(t)
			createTopic(t, c, topic, 1, 1)
			got := kafkaPython(t, c, topic, tc.version, tc.codec, 30)
			want := series("py", 30)
			if !slices.Equal(got, want) {
				t.Errorf("kafka-python reads %v", got)
			}
			if got := franzRead(t, c, topic, len(want))[0]; !slices.Equal(got, want) {
				t.Errorf("franz-go reads %v", got)
			}
			offsets, err := admin(t, c).FetchOffsets(t.Context(), topic+"-group")
			if o, ok := offsets.Lookup(topic, 0); err != nil || !ok || o.At != 30 {
				t.Errorf("committed %+v, %v", o, err)
			}
		})
	}
}
