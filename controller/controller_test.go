package controller_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func TestCreateTopics_ThreeBrokers_ThreeLeadersAndEverybodyTold(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	r := c.leader().CreateTopics(t.Context(), []controller.NewTopic{
		{Name: "a", NumPartitions: 3, RF: 3, Configs: map[string]string{"retention.ms": "1"}},
	}, false)
	must(t, r[0].Err)
	if r[0].ID.IsZero() || r[0].NumPartitions != 3 || r[0].RF != 3 {
		t.Errorf("got %+v", r[0])
	}
	if got := c.assignment("a").TopicID; got != r[0].ID {
		t.Errorf("topic id %v in ZooKeeper, %v in the answer", got, r[0].ID)
	}
	leaders := map[metadata.BrokerID]bool{}
	for p := range int32(3) {
		li, ok := c.state("a", p)
		if !ok || li.LeaderEpoch != 0 || li.PartitionEpoch != 0 || len(li.ISR) != 3 {
			t.Errorf("partition %d: %+v", p, li)
		}
		leaders[li.Leader] = true
		tp := metadata.TopicPartition{Topic: "a", Partition: p}
		for _, n := range c.nodes {
			c.await("leader in metadata", func() bool { id, ok := n.knows("a", p); return ok && id == li.Leader })
			n.mu.Lock()
			if !n.mu.fresh[tp] || n.mu.replicas[tp].Leader != li.Leader {
				t.Errorf("broker %d was told %+v, new %t", n.id, n.mu.replicas[tp], n.mu.fresh[tp])
			}
			n.mu.Unlock()
		}
	}
	if len(leaders) != 3 {
		t.Errorf("leaders are %v, want three", leaders)
	}
	configs, err := c.admin.TopicConfigs(t.Context(), []string{"a"})
	must(t, err)
	if configs["a"]["retention.ms"] != "1" {
		t.Errorf("configs %v", configs)
	}
}

func TestCreateTopics_NineSmallTopics_ThreeLeadersEach(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	count := map[metadata.BrokerID]int{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		must(t, c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: name, NumPartitions: 1, RF: 3}}, false)[0].Err)
		li, _ := c.state(name, 0)
		count[li.Leader]++
	}
	if count[1] != 3 || count[2] != 3 || count[3] != 3 {
		t.Errorf("leaders %v", count)
	}
}

// The texts are those of Apache Kafka 3.9.2, asked over the wire.
func TestCreateTopics_BadRequest_KafkasAnswer(t *testing.T) {
	c := newCluster(t, 1)
	active := c.leader()
	for _, name := range []string{"e", "x.y"} {
		must(t, active.CreateTopics(t.Context(), []controller.NewTopic{{Name: name, NumPartitions: 1, RF: 1}}, false)[0].Err)
	}
	long := strings.Repeat("x", 250)
	tests := []struct {
		name  string
		topic controller.NewTopic
		code  *kerr.Error
		text  string
	}{
		{"topic exists", controller.NewTopic{Name: "e", NumPartitions: 1, RF: 1}, kerr.TopicAlreadyExists, "Topic 'e' already exists."},
		{"too many replicas", controller.NewTopic{Name: "n", NumPartitions: 1, RF: 3}, kerr.InvalidReplicationFactor, "Replication factor: 3 larger than available brokers: 1."},
		{"no replicas", controller.NewTopic{Name: "n", NumPartitions: 1, RF: 0}, kerr.InvalidReplicationFactor, "Replication factor must be larger than 0."},
		{"negative replicas", controller.NewTopic{Name: "n", NumPartitions: 1, RF: -2}, kerr.InvalidReplicationFactor, "Replication factor must be larger than 0."},
		{"no partitions", controller.NewTopic{Name: "n", NumPartitions: 0, RF: 1}, kerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"all partitions there are numbers for", controller.NewTopic{Name: "n", NumPartitions: math.MaxInt32, RF: 1}, kerr.InvalidPartitions, "The assignment of 2147483647 partitions is larger than a node of ZooKeeper may be."},
		{"space in name", controller.NewTopic{Name: "a b", NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"empty name", controller.NewTopic{Name: "", NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic name is invalid: the empty string is not allowed"},
		{"name is a dot", controller.NewTopic{Name: ".", NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic name is invalid: '.' is not allowed"},
		{"name is two dots", controller.NewTopic{Name: "..", NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic name is invalid: '..' is not allowed"},
		{"name too long", controller.NewTopic{Name: long, NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic name is invalid: the length of '" + long + "' is longer than the max allowed length 249"},
		{"name collides", controller.NewTopic{Name: "x_y", NumPartitions: 1, RF: 1}, kerr.InvalidTopicException, "Topic 'x_y' collides with existing topics: x.y"},
		{
			"assignment and count",
			controller.NewTopic{Name: "n", NumPartitions: 1, RF: -1, Assignment: map[int32][]metadata.BrokerID{0: {1}}},
			kerr.InvalidRequest, "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time.",
		},
		{
			"assignment with a hole",
			controller.NewTopic{Name: "n", NumPartitions: -1, RF: -1, Assignment: map[int32][]metadata.BrokerID{1: {1}}},
			kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence",
		},
		{
			"broker twice",
			controller.NewTopic{Name: "n", NumPartitions: -1, RF: -1, Assignment: map[int32][]metadata.BrokerID{0: {1, 1}}},
			kerr.InvalidReplicaAssignment, "Duplicate replica assignment found: HashMap(0 -> ArrayBuffer(1, 1))",
		},
		{
			"unequal lengths",
			controller.NewTopic{Name: "n", NumPartitions: -1, RF: -1, Assignment: map[int32][]metadata.BrokerID{0: {1}, 1: {1, 2}}},
			kerr.InvalidReplicaAssignment, "All partitions should have the same number of replicas",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, validateOnly := range []bool{true, false} {
				r := active.CreateTopics(t.Context(), []controller.NewTopic{tt.topic}, validateOnly)
				if !errors.Is(r[0].Err, tt.code) || r[0].Err.Error() != tt.text {
					t.Errorf("got %v, want %v with text %q", r[0].Err, tt.code.Message, tt.text)
				}
			}
		})
	}
	names, err := c.admin.Topics(t.Context())
	must(t, err)
	if len(names) != 2 {
		t.Errorf("topics %v, want e and x.y alone", names)
	}
}

func TestCreateTopics_GoodBesideBad_GoodIsCreated(t *testing.T) {
	c := newCluster(t, 1)
	r := c.leader().CreateTopics(t.Context(), []controller.NewTopic{
		{Name: "good", NumPartitions: 1, RF: 1},
		{Name: "twin", NumPartitions: 1, RF: 1},
		{Name: "bad", NumPartitions: 1, RF: 9},
		{Name: "twin", NumPartitions: 1, RF: 1},
	}, false)
	if r[0].Err != nil || !errors.Is(r[1].Err, kerr.InvalidRequest) || !errors.Is(r[2].Err, kerr.InvalidReplicationFactor) || !errors.Is(r[3].Err, kerr.InvalidRequest) {
		t.Errorf("got %+v", r)
	}
	names, err := c.admin.Topics(t.Context())
	must(t, err)
	if !slices.Equal(names, []string{"good"}) {
		t.Errorf("topics %v", names)
	}
}

// A request may not have the controller place partitions without end.
func TestCreateTopics_MillionsInOneRequest_TheRestIsRefused(t *testing.T) {
	c := newCluster(t, 1)
	var topics []controller.NewTopic
	for i := range 3 {
		topics = append(topics, controller.NewTopic{Name: fmt.Sprint(i), NumPartitions: 1 << 17, RF: 1})
	}
	for i, r := range c.leader().CreateTopics(t.Context(), topics, true) {
		if refused := errors.Is(r.Err, kerr.InvalidPartitions); refused != (i >= 2) {
			t.Errorf("topic %d: %v", i, r.Err)
		}
	}
}

func TestCreateTopics_NotController_Refused(t *testing.T) {
	c := newCluster(t, 1, 2)
	active := c.leader()
	for _, n := range c.nodes {
		if n.controller == active {
			continue
		}
		r := n.controller.CreateTopics(t.Context(), []controller.NewTopic{{Name: "a", NumPartitions: 1, RF: 1}}, false)
		if !errors.Is(r[0].Err, kerr.NotController) {
			t.Errorf("got %v", r[0].Err)
		}
	}
}

func TestBrokerDies_LeadersMoveAndISRsShrink(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("a", ids(3, 1, 2), ids(1, 3, 2))
	c.create("s", ids(3))
	c.kill(3)
	c.await("new leader of a-0", func() bool { li, _ := c.state("a", 0); return li.Leader == 1 && slices.Equal(li.ISR, ids(1, 2)) })
	c.await("ISR of a-1 without 3", func() bool {
		li, _ := c.state("a", 1)
		return li.Leader == 1 && slices.Equal(li.ISR, ids(1, 2)) && li.LeaderEpoch == 1
	})
	c.await("s-0 offline with its last ISR member", func() bool {
		li, _ := c.state("s", 0)
		return li.Leader == metadata.NoBroker && slices.Equal(li.ISR, ids(3))
	})
	tp := metadata.TopicPartition{Topic: "a"}
	c.await("LeaderAndIsr at 2", func() bool { li, _ := c.nodes[2].partition(tp); return li.Leader == 1 && li.LeaderEpoch == 1 })

	c.start(3)
	c.await("s-0 led by 3 again", func() bool { li, _ := c.state("s", 0); return li.Leader == 3 })
	c.await("LeaderAndIsr at 3", func() bool { li, _ := c.nodes[3].partition(tp); return li.Leader == 1 && li.LeaderEpoch == 1 })
	if r := c.alter("a", 0, 1, 2, 3); r.ErrorCode != 0 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("AlterPartition: %+v", r)
	}
	li, _ := c.state("a", 0)
	if !slices.Equal(li.ISR, ids(1, 2, 3)) || li.LeaderEpoch != 1 || li.PartitionEpoch != 2 {
		t.Errorf("state %+v", li)
	}
}

func TestAlterPartition_StateChangedBehindTheBack_LeaderIsTold(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(1, 2))
	tp := metadata.TopicPartition{Topic: "a"}
	li, _ := c.state("a", 0)
	li.ISR = ids(1)
	_, err := c.admin.Set(t.Context(), znode.StatePath(tp), znode.EncodePartitionState(li), zkstore.AnyVersion)
	must(t, err)
	req := c.alter("a", 0, 1, 2)
	if got := req.Topics[0].Partitions[0].ErrorCode; got != kerr.NotController.Code {
		t.Fatalf("error %d, want NOT_CONTROLLER for a version the controller has not seen", got)
	}
	// The controller's next own write finds the new version and goes on from there.
	c.kill(2)
	c.await("state written over the change", func() bool { li, _ := c.state("a", 0); return slices.Equal(li.ISR, ids(1)) })
}

func TestDeleteTopics_DeadBroker_IsWaitedFor(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("a", ids(1, 3), ids(2, 3))
	c.kill(3)
	c.await("broker 3 out of the ISR", func() bool { li, _ := c.state("a", 0); return slices.Equal(li.ISR, ids(1)) })
	r := c.leader().DeleteTopics(t.Context(), []string{"a", "nope"})
	if r["a"] != nil || !errors.Is(r["nope"], kerr.UnknownTopicOrPartition) {
		t.Fatalf("got %v", r)
	}
	c.await("replica deleted on 1", func() bool { return c.nodes[1].wasDeleted(metadata.TopicPartition{Topic: "a"}) })
	c.await("topic gone from metadata", func() bool { _, ok := c.nodes[2].knows("a", 0); return !ok })
	again := c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: "a", NumPartitions: 1, RF: 1}}, false)
	if !errors.Is(again[0].Err, kerr.TopicAlreadyExists) {
		t.Errorf("creation during deletion: %v", again[0].Err)
	}
	more := c.leader().CreatePartitions(t.Context(), []controller.NewPartitions{{Topic: "a", Count: 5}}, false)
	if !errors.Is(more[0].Err, kerr.InvalidTopicException) {
		t.Errorf("growth during deletion: %v", more[0].Err)
	}
	c.start(3)
	c.await("topic gone from ZooKeeper", func() bool {
		names, err := c.admin.Topics(t.Context())
		must(t, err)
		pending, err := c.admin.TopicDeletions(t.Context())
		must(t, err)
		return len(names) == 0 && len(pending) == 0
	})
	must(t, c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: "a", NumPartitions: 1, RF: 3}}, false)[0].Err)
}

func TestDeleteTopics_Disabled_Refused(t *testing.T) {
	c := newCluster(t)
	c.start(1, func(cfg *controller.Config) { cfg.DeleteTopicEnable = false })
	c.create("a", ids(1))
	if r := c.leader().DeleteTopics(t.Context(), []string{"a"}); !errors.Is(r["a"], kerr.TopicDeletionDisabled) {
		t.Errorf("got %v", r)
	}
	must(t, c.admin.RequestTopicDeletion(t.Context(), "a"))
	c.await("request removed", func() bool {
		pending, err := c.admin.TopicDeletions(t.Context())
		must(t, err)
		return len(pending) == 0
	})
	if _, ok := c.state("a", 0); !ok {
		t.Error("the topic was deleted")
	}
}

func TestCreatePartitions_Requests_KafkasAnswers(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(1, 2), ids(2, 1))
	tests := []struct {
		name string
		req  controller.NewPartitions
		code *kerr.Error
		text string
	}{
		{"same count", controller.NewPartitions{Topic: "a", Count: 2}, kerr.InvalidPartitions, "Topic already has 2 partitions."},
		{"fewer", controller.NewPartitions{Topic: "a", Count: 0}, kerr.InvalidPartitions, "Topic currently has 2 partitions, which is higher than the requested 0."},
		{"all there are numbers for", controller.NewPartitions{Topic: "a", Count: math.MaxInt32}, kerr.InvalidPartitions, "The assignment of 2147483647 partitions is larger than a node of ZooKeeper may be."},
		{"unknown topic", controller.NewPartitions{Topic: "nope", Count: 3}, kerr.UnknownTopicOrPartition, "The topic 'nope' does not exist."},
		{
			"unknown broker",
			controller.NewPartitions{Topic: "a", Count: 3, Assignment: [][]metadata.BrokerID{{9, 1}}},
			kerr.InvalidReplicaAssignment, "Unknown broker(s) in replica assignment: 9.",
		},
		{
			"too few assignments",
			controller.NewPartitions{Topic: "a", Count: 4, Assignment: [][]metadata.BrokerID{{1, 2}}},
			kerr.InvalidReplicaAssignment, "Increasing the number of partitions by 2 but 1 assignments provided.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := c.leader().CreatePartitions(t.Context(), []controller.NewPartitions{tt.req}, false)
			if !errors.Is(r[0].Err, tt.code) || r[0].Err.Error() != tt.text {
				t.Errorf("got %v", r[0].Err)
			}
		})
	}
	before := c.assignment("a")
	must(t, c.leader().CreatePartitions(t.Context(), []controller.NewPartitions{{Topic: "a", Count: 3}}, true)[0].Err)
	if n := len(c.assignment("a").Partitions); n != 2 {
		t.Fatalf("validation made %d partitions", n)
	}
	must(t, c.leader().CreatePartitions(t.Context(), []controller.NewPartitions{{Topic: "a", Count: 4}}, false)[0].Err)
	after := c.assignment("a")
	if len(after.Partitions) != 4 || after.TopicID != before.TopicID ||
		!slices.Equal(after.Partitions[0], ids(1, 2)) || !slices.Equal(after.Partitions[1], ids(2, 1)) {
		t.Errorf("assignment %+v", after)
	}
	c.awaitKnown("a", map[int32][]metadata.BrokerID{2: ids(1, 2), 3: ids(1, 2)})
}

func TestAllocateProducerIDs_BlocksFollowEachOther(t *testing.T) {
	c := newCluster(t, 1, 2)
	active := c.leader()
	if _, _, err := active.AllocateProducerIDs(t.Context(), 2, 1); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("stale epoch: %v", err)
	}
	if _, _, err := active.AllocateProducerIDs(t.Context(), 9, 1); !errors.Is(err, kerr.BrokerIDNotRegistered) {
		t.Errorf("unknown broker: %v", err)
	}
	for _, want := range []int64{0, 1000, 2000} {
		start, n, err := active.AllocateProducerIDs(t.Context(), 2, c.nodes[2].epoch.Load())
		must(t, err)
		if start != want || n != 1000 {
			t.Errorf("block %d, %d", start, n)
		}
	}
}

func TestControlledShutdown_LeadersMoveAway(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("a", ids(3, 1), ids(1, 3))
	c.create("s", ids(3))
	active := c.leader()
	if _, err := active.ControlledShutdown(t.Context(), 9, 1); !errors.Is(err, kerr.BrokerNotAvailable) {
		t.Errorf("unknown broker: %v", err)
	}
	if _, err := active.ControlledShutdown(t.Context(), 3, c.nodes[3].epoch.Load()-1); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("stale epoch: %v", err)
	}
	rest, err := active.ControlledShutdown(t.Context(), 3, c.nodes[3].epoch.Load())
	must(t, err)
	if len(rest) != 0 {
		t.Errorf("left %v", rest)
	}
	if li, _ := c.state("a", 0); li.Leader != 1 || !slices.Equal(li.ISR, ids(1)) {
		t.Errorf("a-0 %+v", li)
	}
	if li, _ := c.state("a", 1); li.Leader != 1 || !slices.Equal(li.ISR, ids(1)) {
		t.Errorf("a-1 %+v", li)
	}
	if r := c.alter("a", 0, 1, 3); r.Topics[0].Partitions[0].ErrorCode != kerr.IneligibleReplica.Code {
		t.Errorf("stopping broker in the ISR: %+v", r)
	}
}

func TestElectLeaders_Preferred_MovesBack(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(2, 1), ids(1, 2))
	c.kill(2)
	c.await("leader 1", func() bool { li, _ := c.state("a", 0); return li.Leader == 1 })
	c.start(2)
	c.awaitKnown("a", map[int32][]metadata.BrokerID{0: ids(2)})
	tps := []metadata.TopicPartition{{Topic: "a"}, {Topic: "a", Partition: 1}, {Topic: "z"}}
	r, err := c.leader().ElectLeaders(t.Context(), controller.PreferredElection, tps)
	must(t, err)
	if !errors.Is(r[tps[0]], kerr.PreferredLeaderNotAvailable) || !errors.Is(r[tps[1]], kerr.ElectionNotNeeded) || !errors.Is(r[tps[2]], kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v", r)
	}
	c.alter("a", 0, 1, 2)
	r, err = c.leader().ElectLeaders(t.Context(), controller.PreferredElection, tps[:1])
	must(t, err)
	if li, _ := c.state("a", 0); r[tps[0]] != nil || li.Leader != 2 {
		t.Errorf("got %v, state %+v", r, li)
	}
}

func TestReassign_NewReplicaInSync_OldOneDeleted(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("b", ids(1, 2))
	tp := metadata.TopicPartition{Topic: "b"}
	r, err := c.leader().AlterReassignments(t.Context(), []controller.Reassignment{{TopicPartition: tp, Target: ids(3, 1)}})
	must(t, err)
	must(t, r[tp])
	list, err := c.leader().ListReassignments(t.Context(), nil)
	must(t, err)
	if len(list) != 1 || !slices.Equal(list[0].Replicas, ids(3, 1, 2)) || !slices.Equal(list[0].Adding, ids(3)) || !slices.Equal(list[0].Removing, ids(2)) {
		t.Errorf("list %+v", list)
	}
	more := c.leader().CreatePartitions(t.Context(), []controller.NewPartitions{{Topic: "b", Count: 5}}, false)
	if !errors.Is(more[0].Err, kerr.ReassignmentInProgress) {
		t.Errorf("growth during reassignment: %v", more[0].Err)
	}
	c.await("new replica on 3", func() bool { _, ok := c.nodes[3].partition(tp); return ok })
	c.alter("b", 0, 1, 2, 3)
	c.await("old replica deleted", func() bool { return c.nodes[2].wasDeleted(tp) })
	node := c.assignment("b")
	li, _ := c.state("b", 0)
	if !slices.Equal(node.Partitions[0], ids(3, 1)) || len(node.Adding) != 0 || len(node.Removing) != 0 || !slices.Equal(li.ISR, ids(1, 3)) {
		t.Errorf("assignment %+v, state %+v", node, li)
	}
}

func TestControllerFails_AnotherGoesOn(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("a", ids(1, 2, 3), ids(2, 3, 1))
	c.kill(1) // it was first, so it is the controller
	active := c.leader()
	if active.Epoch() != 2 {
		t.Errorf("controller epoch %d, want 2", active.Epoch())
	}
	c.await("leader of a-0 after the old controller", func() bool { li, _ := c.state("a", 0); return li.Leader == 2 && slices.Equal(li.ISR, ids(2, 3)) })
	li, _ := c.state("a", 0)
	if li.ControllerEpoch != 2 {
		t.Errorf("state %+v, want controller epoch 2", li)
	}
	tp := metadata.TopicPartition{Topic: "a", Partition: 1}
	c.await("LeaderAndIsr of the new controller", func() bool { _, ok := c.nodes[3].partition(tp); return ok })
	c.start(1)
	c.await("replica on 1", func() bool { _, ok := c.nodes[1].partition(metadata.TopicPartition{Topic: "a"}); return ok })
}

func TestControllerEpochMoved_StepsDownAndRunsAgain(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(1, 2))
	first := c.leader()
	_, err := c.admin.Set(t.Context(), znode.ControllerEpochPath, znode.EncodeControllerEpoch(7), zkstore.AnyVersion)
	must(t, err)
	if r := c.alter("a", 0, 1); r.ErrorCode != kerr.NotController.Code {
		t.Errorf("a write under a moved epoch was answered with %d", r.ErrorCode)
	}
	if li, _ := c.state("a", 0); !slices.Equal(li.ISR, ids(1, 2)) {
		t.Errorf("state %+v was written by a deposed controller", li)
	}
	c.await("another term", func() bool { return first.Active() && first.Epoch() == 8 || c.nodes[2].controller.Active() })
}

func TestResign_AnotherTakesOver(t *testing.T) {
	c := newCluster(t, 1, 2)
	must(t, c.nodes[1].controller.Resign(t.Context()))
	c.await("controller 2", c.nodes[2].controller.Active)
	if c.nodes[1].controller.Active() {
		t.Error("broker 1 is still active")
	}
}

func TestLogDirFails_LeaderMovesAway(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("a", ids(3, 1), ids(3, 2))
	tp := metadata.TopicPartition{Topic: "a"}
	c.nodes[3].spoil(tp)
	must(t, c.admin.NotifyLogDirFailure(t.Context(), 3))
	c.await("a-0 led by 1", func() bool { li, _ := c.state("a", 0); return li.Leader == 1 && slices.Equal(li.ISR, ids(1)) })
	if li, _ := c.state("a", 1); li.Leader != 3 {
		t.Errorf("a-1 %+v, its directory is well", li)
	}
	kids, _, err := c.admin.Children(t.Context(), znode.LogDirEventPath)
	must(t, err)
	if len(kids) != 0 {
		t.Errorf("notifications left: %v", kids)
	}
}

func TestLegacyNodes_AreHonoured(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("b", ids(1, 2))
	tp := metadata.TopicPartition{Topic: "b"}
	_, err := c.admin.Create(t.Context(), znode.ReassignPartitionsPath,
		znode.EncodeReassignPartitions([]znode.Reassignment{{TP: tp, Replicas: ids(3, 1)}}), zkstore.Persistent)
	must(t, err)
	c.await("new replica on 3", func() bool { _, ok := c.nodes[3].partition(tp); return ok })
	c.alter("b", 0, 1, 2, 3)
	gone := func(path string) func() bool {
		return func() bool {
			exists, _, err := c.admin.Exists(t.Context(), path)
			must(t, err)
			return !exists
		}
	}
	c.await("reassignment node removed", gone(znode.ReassignPartitionsPath))
	_, err = c.admin.Create(t.Context(), znode.PreferredElectionPath, znode.EncodePreferredElection([]metadata.TopicPartition{tp}), zkstore.Persistent)
	must(t, err)
	c.await("preferred leader", func() bool { li, _ := c.state("b", 0); return li.Leader == 3 })
	c.await("election node removed", gone(znode.PreferredElectionPath))
	must(t, c.admin.RequestTopicDeletion(t.Context(), "b"))
	c.await("topic gone", gone(znode.TopicPath("b")))
}

func TestTopicWrittenByOthers_GetsLeadersAndID(t *testing.T) {
	c := newCluster(t, 1, 2)
	a := znode.TopicAssignment{Partitions: map[int32][]metadata.BrokerID{0: ids(2, 1)}}
	must(t, c.admin.CreateTopic(t.Context(), "old", a, nil))
	c.await("leader", func() bool { li, ok := c.state("old", 0); return ok && li.Leader == 2 })
	node := c.assignment("old")
	if node.TopicID.IsZero() {
		t.Error("the topic has no id")
	}
	node.Partitions[1] = ids(1, 2)
	must(t, c.admin.AddPartitions(t.Context(), "old", node.TopicAssignment, node.Version))
	c.await("leader of the new partition", func() bool { li, ok := c.state("old", 1); return ok && li.Leader == 1 })
}

func TestSender_ConnectionCut_SameRequestsAgain(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(2, 1))
	c.nodes[2].cut()
	c.create("b", ids(2, 1))
	if _, ok := c.nodes[2].knows("b", 0); !ok {
		c.await("metadata of b", func() bool { _, ok := c.nodes[2].knows("b", 0); return ok })
	}
}

func TestAutoRebalance_PreferredLeaderBackInSync_LeadsAgain(t *testing.T) {
	c := newCluster(t)
	c.start(1, func(cfg *controller.Config) {
		cfg.AutoLeaderRebalance, cfg.RebalanceInterval = true, 20*time.Millisecond
	})
	c.start(2)
	c.create("a", ids(2, 1))
	c.kill(2)
	c.await("leader 1", func() bool { li, _ := c.state("a", 0); return li.Leader == 1 })
	c.start(2)
	c.await("replica on 2", func() bool { _, ok := c.nodes[2].partition(tp("a", 0)); return ok })
	c.alter("a", 0, 1, 2)
	c.await("leader 2 again", func() bool { li, _ := c.state("a", 0); return li.Leader == 2 })
}

// Operators delete /controller to force an election.
func TestControllerNodeDeleted_NewTerm(t *testing.T) {
	c := newCluster(t, 1, 2)
	must(t, c.admin.Delete(t.Context(), znode.ControllerPath, zkstore.AnyVersion))
	c.await("a second term", func() bool {
		a, b := c.nodes[1].controller, c.nodes[2].controller
		return a.Active() != b.Active() && (a.Active() && a.Epoch() == 2 || b.Active() && b.Epoch() == 2)
	})
	c.create("a", ids(1, 2))
	if li, _ := c.state("a", 0); li.ControllerEpoch != 2 {
		t.Errorf("state %+v, want controller epoch 2", li)
	}
}

// With an inter.broker.protocol.version below 2.7 leaders write their ISR themselves and leave a note.
func TestIsrChangeNotification_MetadataFollows(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.create("a", ids(1, 2))
	li, _ := c.state("a", 0)
	li.ISR = ids(1)
	_, err := c.admin.Set(t.Context(), znode.StatePath(tp("a", 0)), znode.EncodePartitionState(li), 0)
	must(t, err)
	_, err = c.admin.Create(t.Context(), znode.IsrChangePrefix, znode.EncodeIsrChange([]metadata.TopicPartition{tp("a", 0)}), zkstore.PersistentSequential)
	must(t, err)
	c.await("note removed", func() bool {
		kids, _, err := c.admin.Children(t.Context(), znode.IsrChangePath)
		must(t, err)
		return len(kids) == 0
	})
	c.await("controller to know version 1", func() bool {
		r := c.alter("a", 0, 1, 2)
		return r.ErrorCode == 0 && r.Topics[0].Partitions[0].ErrorCode == 0
	})
}

// A controller that does not know yet that it was replaced creates nothing.
func TestCreateTopics_Deposed_NothingWritten(t *testing.T) {
	c := newCluster(t, 1)
	_, err := c.admin.Set(t.Context(), znode.ControllerEpochPath, znode.EncodeControllerEpoch(7), zkstore.AnyVersion)
	must(t, err)
	r := c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: "a", NumPartitions: 1, RF: 1}}, false)
	if !errors.Is(r[0].Err, kerr.NotController) {
		t.Errorf("got %v", r[0].Err)
	}
	names, err := c.admin.Topics(t.Context())
	must(t, err)
	if len(names) != 0 {
		t.Errorf("topics %v", names)
	}
}

func TestCreateTopics_ConfigLeftOver_Replaced(t *testing.T) {
	c := newCluster(t, 1)
	_, err := c.admin.Create(t.Context(), znode.TopicConfigPath("a"), znode.EncodeConfig(map[string]string{"retention.ms": "1"}), zkstore.Persistent)
	must(t, err)
	r := c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: "a", NumPartitions: 1, RF: 1, Configs: map[string]string{"segment.ms": "2"}}}, false)
	must(t, r[0].Err)
	if r[0].ID != c.assignment("a").TopicID {
		t.Errorf("topic id %v, in ZooKeeper %v", r[0].ID, c.assignment("a").TopicID)
	}
	configs, err := c.admin.TopicConfigs(t.Context(), []string{"a"})
	must(t, err)
	if len(configs["a"]) != 1 || configs["a"]["segment.ms"] != "2" {
		t.Errorf("configs %v", configs["a"])
	}
	// Written by somebody else, and not seen by the controller yet or seen: it exists in any case.
	must(t, c.admin.CreateTopic(t.Context(), "b", znode.TopicAssignment{Partitions: map[int32][]metadata.BrokerID{0: ids(1)}}, nil))
	r = c.leader().CreateTopics(t.Context(), []controller.NewTopic{{Name: "b", NumPartitions: 1, RF: 1}}, false)
	if !errors.Is(r[0].Err, kerr.TopicAlreadyExists) || !r[0].ID.IsZero() {
		t.Errorf("got %+v", r[0])
	}
}
