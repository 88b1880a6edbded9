//go:build compat

package compat

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// askTopics sends Metadata for names and returns the error code of each.
func askTopics(t *testing.T, addr string, version int16, allow bool, names ...string) map[string]int16 {
	t.Helper()
	req := wire.NewMetadata(names...)
	req.AllowAutoTopicCreation = allow
	codes := map[string]int16{}
	for _, topic := range ask[*kmsg.MetadataResponse](t, addr, req, version).Topics {
		codes[deref(topic.Topic)] = topic.ErrorCode
	}
	return codes
}

// hasTopic says whether the topic is in ZooKeeper.
func hasTopic(c *cluster.Cluster, name string) bool {
	_, err := c.Tree.Assignment(name)
	return err == nil
}

// TestAutoCreate_OnlyIfBothAllow: the broker's setting (on by default) and the request's flag, which versions below 4 do not have.
func TestAutoCreate_OnlyIfBothAllow(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	for version := int16(1); version <= 12; version++ {
		for _, allow := range []bool{true, false} {
			name := fmt.Sprintf("auto-v%d-%v", version, allow)
			codes := askTopics(t, addr, version, allow, name)
			creates := allow || version < 4
			if code := codes[name]; (creates && code != 5 && code != 3) || (!creates && code != 3) {
				t.Errorf("v%d, flag %v: error %d", version, allow, code)
			}
			if creates {
				waitLeaders(t, c, name, 1) // num.partitions
			} else if hasTopic(c, name) {
				t.Errorf("v%d, flag %v: created", version, allow)
			}
		}
	}
	if codes := askTopics(t, addr, 12, true); len(codes) == 0 {
		t.Error("all topics asked for and none came")
	}
}

func TestAutoCreate_BrokerSaysNo_NothingCreated(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"auto.create.topics.enable": "false"}})
	addr := c.Brokers[0].Addr()
	for _, version := range []int16{1, 4, 12} {
		if code := askTopics(t, addr, version, true, "never")["never"]; code != 3 {
			t.Errorf("v%d: error %d, want 3", version, code)
		}
	}
	if hasTopic(c, "never") {
		t.Error("created in spite of auto.create.topics.enable=false")
	}
}

func TestAutoCreate_BadNames_Refused(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	createTopic(t, c, "dot.name", 1, 1)
	for _, name := range []string{"bad name", "..", ".", "", strings.Repeat("x", 250), "dot_name", "slash/name"} {
		for _, version := range []int16{1, 4, 12} {
			codes := askTopics(t, addr, version, true, name)
			if codes[name] != 17 {
				t.Errorf("v%d: %q: error %d, want 17", version, name, codes[name])
			}
		}
	}
}

func TestAutoCreate_MissingBesidePresent(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	present := topicName(t)
	createTopic(t, c, present, 1, 1)
	names := []string{present + "-m1", present + "-m2", present + "-m3"}
	codes := askTopics(t, addr, 12, true, append(names, present)...)
	if codes[present] != 0 || len(codes) != 4 {
		t.Errorf("codes %v", codes)
	}
	for _, name := range names {
		if code := codes[name]; code != 5 && code != 3 {
			t.Errorf("%s: error %d, want 5 or 3", name, code)
		}
		waitLeaders(t, c, name, 1)
	}
}

func TestAutoCreate_ProduceAndFetchNeverCreate(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	name := topicName(t)
	if p := produceOne(t, addr, name, 0, 1, wire.Values("v").Encode()); p.ErrorCode != 3 {
		t.Errorf("produce: error %d, want 3", p.ErrorCode)
	}
	if p := fetchOne(t, addr, name, 0); p.ErrorCode != 3 {
		t.Errorf("fetch: error %d, want 3", p.ErrorCode)
	}
	if hasTopic(c, name) {
		t.Error("the topic was created")
	}
}

// TestAutoCreate_FiftyAtOnce_OneTopic: and with the configured numbers of partitions and replicas.
func TestAutoCreate_FiftyAtOnce_OneTopic(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 3, Config: map[string]string{"num.partitions": "4", "default.replication.factor": "2"}})
	name := topicName(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			req := wire.NewMetadata(name)
			req.AllowAutoTopicCreation = true
			r, err := wire.Ask[*kmsg.MetadataResponse](c.Brokers[i%3].Addr(), req, 9)
			if err != nil {
				t.Error(err)
				return
			}
			if code := r.Topics[0].ErrorCode; code != 0 && code != 3 && code != 5 {
				t.Errorf("error %d", code)
			}
		})
	}
	all.Wait()
	waitLeaders(t, c, name, 4)
	assignment, err := c.Tree.Assignment(name)
	if err != nil || len(assignment) != 4 || len(assignment[0]) != 2 {
		t.Errorf("assignment %v, %v; want 4 partitions of 2 replicas", assignment, err)
	}
}

func TestAutoCreate_TooFewBrokers_InvalidReplicationFactor(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"default.replication.factor": "3"}})
	code := askTopics(t, c.Brokers[0].Addr(), 12, true, "needs-three")["needs-three"]
	if code != 38 {
		t.Errorf("error %d, want 38", code)
	}
	if hasTopic(c, "needs-three") {
		t.Error("created")
	}
}

// TestCreateTopic_Success_EveryBrokerKnowsSoon: after the answer, any broker names leaders within 5 s.
func TestCreateTopic_Success_EveryBrokerKnowsSoon(t *testing.T) {
	c := three(t)
	for i := range 10 {
		name := fmt.Sprintf("%s-%d", topicName(t), i)
		r := ask[*kmsg.CreateTopicsResponse](t, controller(t, c).Addr(), wire.NewCreateTopic(name, 3, 3), 7)
		if r.Topics[0].ErrorCode != 0 || r.Topics[0].NumPartitions != 3 || r.Topics[0].ReplicationFactor != 3 {
			t.Fatalf("create: %+v", r.Topics[0])
		}
		began := time.Now()
		waitLeaders(t, c, name, 3)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s known everywhere after %v", name, took)
		}
	}
}
