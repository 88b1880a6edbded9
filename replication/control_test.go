package replication

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// order builds a state of t0 in the way a controller would send it to broker 1.
func order(edit func(*PartitionState)) PartitionState {
	s := PartitionState{TP: t0, TopicID: metadata.TopicID{1}, Replicas: ids(1, 2)}
	s.Leader, s.LeaderEpoch, s.PartitionEpoch, s.ISR = 1, 5, 7, ids(1, 2)
	if edit != nil {
		edit(&s)
	}
	return s
}

func (nd *node) apply(controllerEpoch int32, s PartitionState) error {
	errs, err := nd.m.ApplyLeaderAndISR(9, controllerEpoch, []PartitionState{s})
	return errors.Join(err, errs[s.TP])
}

func TestLeaderAndISR_Fencing_ByEpochsAndID(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		if err := nd.apply(3, order(nil)); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name       string
			controller int32
			edit       func(*PartitionState)
			want       error
			epoch      metadata.LeaderEpoch // afterwards
			isr        []metadata.BrokerID
		}{
			{"former controller", 2, func(s *PartitionState) { s.LeaderEpoch = 9 }, kerr.StaleControllerEpoch, 5, ids(1, 2)},
			{"lower leader epoch", 3, func(s *PartitionState) { s.LeaderEpoch = 4 }, kerr.StaleControllerEpoch, 5, ids(1, 2)},
			{"lower partition epoch", 3, func(s *PartitionState) { s.PartitionEpoch, s.ISR = 6, ids(1) }, nil, 5, ids(1, 2)},
			{"another topic of that name", 3, func(s *PartitionState) { s.TopicID, s.LeaderEpoch = metadata.TopicID{2}, 9 }, kerr.InconsistentTopicID, 5, ids(1, 2)},
			{"not a replica", 3, func(s *PartitionState) { s.Replicas, s.LeaderEpoch = ids(2, 3), 9 }, kerr.UnknownTopicOrPartition, 5, ids(1, 2)},
			{"equal epochs", 3, func(s *PartitionState) { s.ISR = ids(1) }, nil, 5, ids(1)},
			{"higher partition epoch", 3, func(s *PartitionState) { s.PartitionEpoch, s.ISR = 8, ids(1, 2) }, nil, 5, ids(1, 2)},
			{"no topic id", 3, func(s *PartitionState) { s.TopicID, s.LeaderEpoch, s.PartitionEpoch = metadata.TopicID{}, 6, 9 }, nil, 6, ids(1, 2)},
			{"new controller", 4, func(s *PartitionState) { s.LeaderEpoch, s.PartitionEpoch = 7, 10 }, nil, 7, ids(1, 2)},
			{"the old one again", 3, func(s *PartitionState) { s.LeaderEpoch, s.PartitionEpoch = 8, 11 }, kerr.StaleControllerEpoch, 7, ids(1, 2)},
		} {
			if err := nd.apply(tc.controller, order(tc.edit)); !errors.Is(err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
			}
			s := nd.partition(t0).Status()
			if s.State.LeaderEpoch != tc.epoch || !slices.Equal(s.State.ISR, tc.isr) {
				t.Errorf("%s: epoch %d isr %v, want %d %v", tc.name, s.State.LeaderEpoch, s.State.ISR, tc.epoch, tc.isr)
			}
		}
		if err := nd.m.CheckControllerEpoch(3); !errors.Is(err, kerr.StaleControllerEpoch) {
			t.Errorf("got %v", err)
		}
		if nd.m.ControllerEpoch() != 4 {
			t.Errorf("controller epoch %d, want 4", nd.m.ControllerEpoch())
		}
	})
}

// TestLeaderAndISR_LogOfAFormerTopic_IsNotTouched: the replica slept while its topic was deleted and made anew.
func TestLeaderAndISR_LogOfAFormerTopic_IsNotTouched(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		c.nodes[1].produce(t0, 1, "a").want(nil)
		c.nodes[1].shutdown()
		c.nodes[1].start()
		err := c.nodes[1].apply(1, order(func(s *PartitionState) { s.TopicID, s.Replicas, s.ISR = metadata.TopicID{77}, ids(1), ids(1) }))
		if !errors.Is(err, kerr.InconsistentTopicID) {
			t.Fatalf("got %v", err)
		}
		if l, ok := c.nodes[1].logs.Get(t0); !ok || l.EndOffset() != 1 {
			t.Fatal("the log has changed")
		}
		if _, err := c.nodes[1].m.Partition(t0); err == nil {
			t.Fatal("the replica is hosted")
		}
	})
}

func TestLeadership_Changes_AreToldInOrder(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		steps := []func(*PartitionState){
			nil,
			func(s *PartitionState) { s.LeaderEpoch, s.PartitionEpoch = 6, 8 }, // raised in place: no change
			func(s *PartitionState) { s.Leader, s.LeaderEpoch, s.PartitionEpoch = 2, 7, 9 },
			func(s *PartitionState) { s.Leader, s.LeaderEpoch, s.PartitionEpoch = 2, 7, 9 },
			func(s *PartitionState) { s.Leader, s.LeaderEpoch, s.PartitionEpoch = -1, 8, 10 },
			func(s *PartitionState) { s.LeaderEpoch, s.PartitionEpoch = 9, 11 },
		}
		for _, edit := range steps {
			if err := nd.apply(1, order(edit)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: 9, Delete: true}}); err != nil {
			t.Fatal(err)
		}
		want := []LeadershipChange{
			{TP: t0, Leader: true, Epoch: 5},
			{TP: t0, Epoch: 7},
			{TP: t0, Epoch: 8},
			{TP: t0, Leader: true, Epoch: 9},
			{TP: t0, Epoch: 9, Removed: true},
		}
		if !slices.Equal(nd.changes, want) {
			t.Fatalf("got %+v\nwant %+v", nd.changes, want)
		}
	})
}

func TestStopReplica_Epochs_AndDeletion(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		nd := c.nodes[1]
		stop := func(epoch metadata.LeaderEpoch, del bool) error {
			errs, err := nd.m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: epoch, Delete: del}})
			return errors.Join(err, errs[t0])
		}
		lead := func() {
			t.Helper()
			if err := nd.apply(1, order(nil)); err != nil {
				t.Fatal(err)
			}
		}
		lead()
		if err := stop(4, true); !errors.Is(err, kerr.FencedLeaderEpoch) {
			t.Fatalf("lower epoch: %v", err)
		}
		if err := stop(5, false); err != nil {
			t.Fatal(err)
		}
		nd.produce(t0, 1, "a").want(kerr.NotLeaderForPartition)
		if _, ok := nd.logs.Get(t0); !ok {
			t.Fatal("a stop without delete must keep the log")
		}
		lead()
		nd.produce(t0, 1, "a").want(nil)
		if err := stop(metadata.EpochDuringDelete, true); err != nil {
			t.Fatal(err)
		}
		nd.produce(t0, 1, "a").want(kerr.UnknownTopicOrPartition)
		if _, ok := nd.logs.Get(t0); ok {
			t.Fatal("the log is still there")
		}
		if err := stop(metadata.NoEpoch, true); err != nil {
			t.Fatalf("again: %v", err)
		}
		if _, err := nd.m.StopReplicas(0, nil); !errors.Is(err, kerr.StaleControllerEpoch) {
			t.Fatalf("former controller: %v", err)
		}
	})
}

func TestStopReplica_OnDiskOnly_IsDeleted(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		c.nodes[1].shutdown()
		c.nodes[1].start()
		if errs, err := c.nodes[1].m.StopReplicas(1, []StopReplica{{TP: t0, LeaderEpoch: metadata.NoEpoch, Delete: true}}); err != nil || errs[t0] != nil {
			t.Fatal(err, errs)
		}
		if _, ok := c.nodes[1].logs.Get(t0); ok {
			t.Fatal("the log is still there")
		}
	})
}

func TestISR_ControllerRefuses_ChangeIsTriedAgain(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		var seen []Proposal
		answers := []error{errors.New("connection lost"), kerr.NotController, kerr.OperationNotAttempted}
		c.refuse = func(p Proposal) error {
			seen = append(seen, p)
			if len(answers) == 0 {
				return nil
			}
			err := answers[0]
			answers = answers[1:]
			return err
		}
		c.create(t0, 1, 2)
		settle(time.Second)
		c.setCut(1, 2, true)
		c.nodes[1].produce(t0, 1, "a")
		settle(46 * time.Second)
		c.mu.Lock()
		n := len(seen)
		c.mu.Unlock()
		if n != 3 {
			t.Fatalf("%d proposals, want 3: the first, and two repetitions", n)
		}
		settle(15 * time.Second)
		c.wantISR(t0, 1)
		c.nodes[1].wantHW(t0, 1)
	})
}

// TestISR_ZnodeChangedUnderTheLeader_LeaderGoesOn is S36: the version has moved and no LeaderAndIsr follows.
func TestISR_ZnodeChangedUnderTheLeader_LeaderGoesOn(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		settle(time.Second)
		c.mu.Lock()
		s := c.states[t0]
		s.PartitionEpoch += 3
		c.states[t0] = s
		c.mu.Unlock()
		c.setCut(1, 2, true)
		c.nodes[1].produce(t0, 1, "a")
		settle(46 * time.Second)
		c.wantISR(t0, 1, 2)
		if !c.nodes[1].partition(t0).Status().ISRChangePending {
			t.Fatal("a stale proposal stays pending")
		}
		c.publish()
		settle(31 * time.Second)
		c.wantISR(t0, 1)
		c.setCut(1, 2, false)
		settle(5 * time.Second)
		c.wantISR(t0, 1, 2)
	})
}

func TestLogDirFailed_Replicas_GoOffline(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1, 2)
		u0 := metadata.TopicPartition{Topic: "u", Partition: 0}
		c.create(u0, 2, 1)
		settle(time.Second)
		c.setCut(1, 2, true)
		w := c.nodes[1].produce(t0, -1, "a")
		c.nodes[1].m.LogDirFailed(dirA)
		c.nodes[1].m.LogDirFailed(dirB)
		w.want(kerr.NotLeaderForPartition)
		c.nodes[1].produce(t0, 1, "b").want(kerr.KafkaStorageError)
		c.nodes[1].fetchOne(from(u0, 0), nil).wantErr(kerr.KafkaStorageError)
		if err := c.nodes[1].apply(1, order(func(s *PartitionState) { s.TopicID = c.state(t0).TopicID })); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("got %v", err)
		}
		synctest.Wait()
		for _, p := range c.nodes[1].m.Partitions() {
			if !p.Status().Offline {
				t.Errorf("%s is not offline", p.TP())
			}
		}
	})
}

func TestMetrics_Gauges_CountPartitions(t *testing.T) {
	reg := prometheus.NewRegistry()
	bubble(t, 1, func(cfg *Config) { cfg.Metrics = reg }, func(t *testing.T, c *cluster) {
		c.cfg.MinInsyncReplicas = 2
		for i := range int32(3) {
			s := order(func(s *PartitionState) { s.TP.Partition = i })
			switch i {
			case 1:
				s.ISR = ids(1)
			case 2:
				s.Leader = 2
			}
			if err := c.nodes[1].apply(1, s); err != nil {
				t.Fatal(err)
			}
		}
		c.nodes[1].produce(t0, 1, "a", "b").want(nil)
		got := map[string]float64{}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					if l.GetValue() != "" {
						name += "{" + l.GetValue() + "}"
					}
				}
				got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		for name, want := range map[string]float64{
			"kafka_server_replicamanager_partitioncount":            3,
			"kafka_server_replicamanager_leadercount":               2,
			"kafka_server_replicamanager_underreplicatedpartitions": 1,
			"kafka_server_replicamanager_underminisrpartitioncount": 1,
			"kafka_server_replicamanager_atminisrpartitioncount":    1,
			"kafka_server_replicamanager_offlinereplicacount":       0,
			"kafka_cluster_partition_underreplicated{1}{t}":         1,
			"kafka_cluster_partition_insyncreplicascount{0}{t}":     2,
			"kafka_server_replicafetchermanager_maxlag{Replica}":    0,
			"kafka_server_brokertopicmetrics_messagesin_total":      2,
			"kafka_server_brokertopicmetrics_messagesin_total{t}":   2,
			"kafka_server_brokertopicmetrics_bytesin_total{t}":      float64(len(batch("a", "b"))),
		} {
			if v, ok := got[name]; !ok || v != want {
				t.Errorf("%s: got %v (present %v), want %v", name, v, ok, want)
			}
		}
	})
}
