package replication

import (
	"testing"

	"jackdaw/metadata"
)

// Many new partitions in one request: their logs are made at the same time, and a state that is refused makes none.
func TestApplyLeaderAndISR_ManyNewPartitions_OneLogEach(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		m := c.nodes[1].m
		const n = 3 * createWorkers
		var states []PartitionState
		for i := range int32(n) {
			s := PartitionState{
				TP: metadata.TopicPartition{Topic: "many", Partition: i}, TopicID: metadata.TopicID{7}, Replicas: ids(1), IsNew: true,
			}
			s.Leader, s.ISR = 1, ids(1)
			states = append(states, s)
		}
		states[5].Replicas = ids(2) // assigned elsewhere
		errs, err := m.ApplyLeaderAndISR(1, 1, states)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range states {
			l, made := m.cfg.Logs.Get(s.TP)
			if refused := i == 5; made == refused || (errs[s.TP] != nil) != refused {
				t.Errorf("%s: log %v, error %v", s.TP, made, errs[s.TP])
			} else if made && l.TopicID() != s.TopicID {
				t.Errorf("%s: topic id %s", s.TP, l.TopicID())
			}
		}
	})
}
