package replication

import (
	"testing"
	"time"

	"jackdaw/metadata"
)

// While records come, followers move to more connections and back to one: nothing is lost, nothing is copied twice.
func TestSetFetchers_WhileRecordsCome_AllAreCopied(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		const partitions = 8
		for i := range int32(partitions) {
			c.create(metadata.TopicPartition{Topic: "t", Partition: i}, 1, 2)
		}
		settle(time.Second)
		follower := c.nodes[2].m
		for _, n := range []int{4, 2, 1, 3} {
			for i := range int32(partitions) {
				c.nodes[1].produce(metadata.TopicPartition{Topic: "t", Partition: i}, 1, "a", "b").want(nil)
			}
			follower.SetFetchers(n)
			for i := range int32(partitions) {
				c.nodes[1].produce(metadata.TopicPartition{Topic: "t", Partition: i}, -1, "c")
			}
			settle(2 * time.Second)
			follower.fetchers.mu.Lock()
			running := len(follower.fetchers.mu.byKey)
			follower.fetchers.mu.Unlock()
			if running < 1 || running > n || n > 1 && running < 2 {
				t.Errorf("%d fetchers run, want up to %d", running, n)
			}
		}
		for i := range int32(partitions) {
			c.wantSame(metadata.TopicPartition{Topic: "t", Partition: i}, 1, 2)
		}
	})
}
