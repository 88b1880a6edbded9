//go:build compat

package compat

import (
	"errors"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// TestAdminClient_Sarama_EveryCall administers a topic, a group, a user and its quotas by sarama's ClusterAdmin.
func TestAdminClient_Sarama_EveryCall(t *testing.T) {
	c := three(t)
	adm, err := sarama.NewClusterAdmin(c.Bootstrap(), saramaConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := adm.Close(); err != nil {
			t.Error(err)
		}
	}()
	topic := topicName(t)
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	retention := "60000"
	check("CreateTopic", adm.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 2, ConfigEntries: map[string]*string{"retention.ms": &retention}}, false))
	if err := adm.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		t.Errorf("CreateTopic again: %v", err)
	}
	check("CreatePartitions", adm.CreatePartitions(topic, 3, nil, false))
	waitLeaders(t, c, topic, 3)
	saramaConfigs(t, adm, topic)
	for range 5 {
		mustProduce(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, -1, wire.Values("v"))
	}
	check("DeleteRecords", adm.DeleteRecords(topic, map[int32]int64{0: 2}))
	if start := startOffset(t, c, topic); start != 2 {
		t.Errorf("log start %d after DeleteRecords 2", start)
	}
	saramaCluster(t, c, adm, topic)
	saramaUser(t, adm)
	check("DeleteTopic", adm.DeleteTopic(topic))
}

// startOffset is where partition 0 of a topic begins.
func startOffset(t *testing.T, c *cluster.Cluster, topic string) int64 {
	t.Helper()
	r, err := admin(t, c).ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := r.Lookup(topic, 0)
	return o.Offset
}

func saramaConfigs(t *testing.T, adm sarama.ClusterAdmin, topic string) {
	t.Helper()
	segment := "1000000"
	if err := adm.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
		"segment.bytes": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &segment},
	}, false); err != nil {
		t.Errorf("IncrementalAlterConfig: %v", err)
	}
	want := map[string]string{"segment.bytes": "1000000", "retention.ms": "60000"}
	resource := &sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"segment.bytes", "retention.ms"}}
	found, err := adm.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
	if err != nil || len(found) != 1 || len(found[0].Configs) != len(want) {
		t.Fatalf("DescribeConfigs: %v, %v", found, err)
	}
	for _, e := range found[0].Configs {
		if e.Value != want[e.Name] || e.Source != sarama.SourceTopic {
			t.Errorf("%s=%s from %v", e.Name, e.Value, e.Source)
		}
	}
	value := "x"
	if err := adm.AlterConfig(sarama.TopicResource, topic, map[string]*string{"segment.bytes": &value}, true); err == nil {
		t.Error("AlterConfig takes segment.bytes=x")
	}
}

func saramaCluster(t *testing.T, c *cluster.Cluster, adm sarama.ClusterAdmin, topic string) {
	t.Helper()
	brokers, controller, err := adm.DescribeCluster()
	if id, zkErr := c.Tree.Controller(); err != nil || zkErr != nil || len(brokers) != 3 || int(controller) != id {
		t.Errorf("DescribeCluster: %d brokers, controller %d (%v, %v)", len(brokers), controller, err, zkErr)
	}
	topics, err := adm.ListTopics()
	if d, ok := topics[topic]; err != nil || !ok || d.NumPartitions != 3 || d.ReplicationFactor != 2 {
		t.Errorf("ListTopics: %+v, %v", topics[topic], err)
	}
	described, err := adm.DescribeTopics([]string{topic, "no-such"})
	if err != nil || len(described) != 2 || !errors.Is(described[1].Err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("DescribeTopics: %v, %v", described, err)
	}
	if status, err := adm.ListPartitionReassignments(topic, []int32{0, 1, 2}); err != nil || len(status[topic]) > 0 {
		t.Errorf("ListPartitionReassignments: %v, %v", status, err)
	}
	dirs, err := adm.DescribeLogDirs([]int32{1, 2, 3})
	if err != nil || len(dirs) != 3 {
		t.Errorf("DescribeLogDirs: %d brokers, %v", len(dirs), err)
	}
	if _, err := adm.ListConsumerGroups(); err != nil {
		t.Errorf("ListConsumerGroups: %v", err)
	}
	if err := adm.DeleteConsumerGroup("no-such"); !errors.Is(err, sarama.ErrGroupIDNotFound) {
		t.Errorf("DeleteConsumerGroup: %v", err)
	}
	elected, err := adm.ElectLeaders(sarama.PreferredElection, map[string][]int32{topic: {0}})
	if err != nil || !errors.Is(elected[topic][0].ErrorCode, sarama.ErrElectionNotNeeded) && elected[topic][0].ErrorCode != sarama.ErrNoError {
		t.Errorf("ElectLeaders: %v, %v", elected, err)
	}
}

func saramaUser(t *testing.T, adm sarama.ClusterAdmin) {
	t.Helper()
	const user = "sarama-user"
	results, err := adm.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{{
		Name: user, Mechanism: sarama.SCRAM_MECHANISM_SHA_512, Iterations: 4096, Salt: []byte("salt"), Password: []byte("secret"),
	}})
	if err != nil || results[0].ErrorCode != sarama.ErrNoError {
		t.Fatalf("UpsertUserScramCredentials: %v, %v", results, err)
	}
	found, err := adm.DescribeUserScramCredentials([]string{user})
	if err != nil || len(found) != 1 || len(found[0].CredentialInfos) != 1 || found[0].CredentialInfos[0].Iterations != 4096 {
		t.Errorf("DescribeUserScramCredentials: %v, %v", found, err)
	}
	if _, err := adm.DeleteUserScramCredentials([]sarama.AlterUserScramCredentialsDelete{{Name: user, Mechanism: sarama.SCRAM_MECHANISM_SHA_512}}); err != nil {
		t.Errorf("DeleteUserScramCredentials: %v", err)
	}
	entity := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: user}}
	for _, remove := range []bool{false, true} {
		if err := adm.AlterClientQuotas(entity, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 12345, Remove: remove}, false); err != nil {
			t.Fatalf("AlterClientQuotas: %v", err)
		}
		quotas, err := adm.DescribeClientQuotas([]sarama.QuotaFilterComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Match: user}}, true)
		if err != nil || remove != (len(quotas) == 0) || !remove && quotas[0].Values["producer_byte_rate"] != 12345 {
			t.Errorf("DescribeClientQuotas: %v, %v", quotas, err)
		}
	}
}

// TestAdminClient_Kadm_GroupsAndLags is what franz-go's kadm makes of several requests: lags, offsets by time, leaving members.
func TestAdminClient_Kadm_GroupsAndLags(t *testing.T) {
	c := three(t)
	adm, topic, group := admin(t, c), topicName(t), topicName(t)+"-group"
	createTopic(t, c, topic, 1, 2)
	for range 5 {
		mustProduce(t, leaderOf(t, c, topic, 0).Addr(), topic, 0, -1, wire.Values("v"))
	}
	var commit kadm.Offsets
	commit.AddOffset(topic, 0, 2, -1)
	if err := adm.CommitAllOffsets(t.Context(), group, commit); err != nil {
		t.Fatal(err)
	}
	lags, err := adm.Lag(t.Context(), group)
	if lag, _ := lags[group].Lag.Lookup(topic, 0); err != nil || lag.Lag != 3 || lags[group].State != "Empty" {
		t.Errorf("lag %+v, state %s, %v", lag, lags[group].State, err)
	}
	listed, err := adm.ListGroups(t.Context())
	if err != nil || !slices.Contains(listed.Groups(), group) {
		t.Errorf("groups %v, %v", listed.Groups(), err)
	}
	late, err := adm.ListOffsetsAfterMilli(t.Context(), 1<<50, topic)
	if o, _ := late.Lookup(topic, 0); err != nil || o.Offset != 5 {
		t.Errorf("after the last record: %+v, %v", o, err)
	}
	deleted, err := adm.DeleteGroups(t.Context(), group, "no-such")
	if err != nil || deleted[group].Err != nil || !errors.Is(deleted["no-such"].Err, kerr.GroupIDNotFound) {
		t.Errorf("DeleteGroups: %v, %v", deleted, err)
	}
}
