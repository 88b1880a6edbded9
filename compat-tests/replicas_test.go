//go:build compat

package compat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
)

// checkReplicasEqual waits until the logs of all replicas of a partition hold the same bytes below the high watermark, and the
// replicas reach it. It reads the segment files.
func checkReplicasEqual(t *testing.T, c *cluster.Cluster, topic string, partition int) {
	t.Helper()
	assignment, err := c.Tree.Assignment(topic)
	if err != nil {
		t.Fatal(err)
	}
	hw := endOffset(t, leaderOf(t, c, topic, partition).Addr(), topic, int32(partition))
	cluster.Eventually(t, 30*time.Second, fmt.Sprintf("equal replicas of %s-%d below %d", topic, partition, hw), func() error {
		var first []byte
		for i, id := range assignment[partition] {
			log, err := logBelow(c.Broker(id), topic, partition, hw)
			if err != nil {
				return fmt.Errorf("broker %d: %w", id, err)
			}
			if i == 0 {
				first = log
			} else if !bytes.Equal(first, log) {
				return fmt.Errorf("broker %d (%d bytes) differs from broker %d (%d bytes) at byte %d",
					id, len(log), assignment[partition][0], len(first), firstDifference(first, log))
			}
		}
		return nil
	})
}

// logBelow joins a partition's segments and cuts them behind the last batch below hw; an error when the log does not reach it.
func logBelow(b *cluster.Broker, topic string, partition int, hw int64) ([]byte, error) {
	segments, err := filepath.Glob(filepath.Join(b.Dir, "data*", fmt.Sprintf("%s-%d", topic, partition), "*.log"))
	if err != nil || len(segments) == 0 {
		return nil, fmt.Errorf("no segment of %s-%d", topic, partition)
	}
	slices.Sort(segments)
	var all []byte
	for _, s := range segments {
		p, err := os.ReadFile(s)
		if err != nil {
			return nil, err
		}
		all = append(all, p...)
	}
	at, next := 0, int64(0)
	for next < hw && at+61 <= len(all) {
		size := 12 + int(binary.BigEndian.Uint32(all[at+8:]))
		if at+size > len(all) {
			break
		}
		next = int64(binary.BigEndian.Uint64(all[at:])) + int64(binary.BigEndian.Uint32(all[at+23:])) + 1
		at += size
	}
	if next < hw {
		return nil, fmt.Errorf("log of %s-%d ends at %d, high watermark %d", topic, partition, next, hw)
	}
	return all[:at], nil
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
