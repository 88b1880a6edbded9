//go:build compat

package compat

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// topicCases create and delete topics, records and partitions.
func (s *aclScene) topicCases() []aclCase {
	create := wire.NewCreateTopic("made", 1, 1)
	create.ValidateOnly = true
	twice := wire.NewCreateTopic("made", 1, 1)
	twice.Topics = append(twice.Topics, twice.Topics[0])
	names := kmsg.NewPtrDeleteTopicsRequest()
	names.TopicNames, names.TimeoutMillis = []string{"t", "nope"}, 5000
	byName := kmsg.NewPtrDeleteTopicsRequest()
	byName.Topics, byName.TimeoutMillis = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t")}, {TopicID: s.u}, {TopicID: [16]byte{1}}}, 5000
	records := kmsg.NewPtrDeleteRecordsRequest()
	records.TimeoutMillis = 5000
	for _, topic := range []string{"t", "u", "nope"} {
		records.Topics = append(records.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{}}})
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.ValidateOnly = true
	for _, topic := range []string{"t", "u"} {
		grow.Topics = append(grow.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: 3})
	}
	return []aclCase{
		{"", create, 7, nil},
		{"", create, 7, []grant{onTopic("made", kmsg.ACLOperationCreate)}},
		{"", create, 7, []grant{onPrefix("ma", kmsg.ACLOperationCreate), onTopic("made", kmsg.ACLOperationAlterConfigs)}},
		{"", create, 4, []grant{onCluster(kmsg.ACLOperationCreate)}},
		{"twice", twice, 7, nil},
		{"", names, 5, nil},
		{"", names, 5, []grant{onTopic("nope", kmsg.ACLOperationDelete), onTopic("t", kmsg.ACLOperationDescribe)}},
		{"by id", byName, 6, nil},
		{"by id", byName, 6, []grant{onTopic("u", kmsg.ACLOperationDescribe)}},
		{"", records, 2, nil},
		{"", records, 2, []grant{onTopic("t", kmsg.ACLOperationDelete), onTopic("nope", kmsg.ACLOperationDelete)}},
		{"", grow, 3, nil},
		{"", grow, 3, []grant{onTopic("u", kmsg.ACLOperationAlter)}},
	}
}

// configCases describe and alter configurations.
func (s *aclScene) configCases() []aclCase {
	topic, broker, logger := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Resources = []kmsg.DescribeConfigsRequestResource{
		{ResourceType: topic, ResourceName: "t"},
		{ResourceType: topic, ResourceName: "u"},
		{ResourceType: topic, ResourceName: "nope"},
		{ResourceType: broker, ResourceName: "1"},
		{ResourceType: logger, ResourceName: "1"},
	}
	alter := kmsg.NewPtrAlterConfigsRequest()
	alter.ValidateOnly = true
	alter.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topic, ResourceName: "t"}, {ResourceType: broker, ResourceName: "1"}}
	steps := kmsg.NewPtrIncrementalAlterConfigsRequest()
	steps.ValidateOnly = true
	steps.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		{ResourceType: topic, ResourceName: "t"},
		{ResourceType: topic, ResourceName: "nope"},
		{ResourceType: broker, ResourceName: "1"},
		{ResourceType: logger, ResourceName: "1"},
	}
	return []aclCase{
		{"", describe, 4, nil},
		{"", describe, 4, []grant{onTopic("t", kmsg.ACLOperationDescribeConfigs), onTopic("nope", kmsg.ACLOperationAlterConfigs)}},
		{"", describe, 4, []grant{onCluster(kmsg.ACLOperationAlterConfigs)}},
		{"", alter, 1, nil},
		{"", alter, 1, []grant{onTopic("t", kmsg.ACLOperationAlterConfigs)}},
		{"", alter, 1, []grant{onCluster(kmsg.ACLOperationAlterConfigs)}},
		{"", steps, 1, nil},
		{"", steps, 1, []grant{onPrefix("n", kmsg.ACLOperationAlterConfigs)}},
		{"", steps, 1, []grant{onCluster(kmsg.ACLOperationAlterConfigs)}},
	}
}

// adminCases are the APIs of tools.
func (s *aclScene) adminCases() []aclCase {
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Topics = []kmsg.DescribeLogDirsRequestTopic{}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.TimeoutMillis = 5000
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	everywhere := kmsg.NewPtrElectLeadersRequest()
	everywhere.TimeoutMillis = 5000
	move := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	move.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 7, Replicas: []int32{1}}}}}
	name := "who"
	quotas := kmsg.NewPtrAlterClientQuotasRequest()
	quotas.ValidateOnly = true
	quotas.Entries = []kmsg.AlterClientQuotasRequestEntry{{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &name}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1000}},
	}}
	forget := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	forget.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "who", Mechanism: 1}}
	credentials := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	credentials.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: "who"}}
	features := kmsg.NewPtrUpdateFeaturesRequest()
	features.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "f", MaxVersionLevel: 1, UpgradeType: 1}}
	node := kmsg.NewPtrDescribeClusterRequest()
	node.IncludeClusterAuthorizedOperations = true
	producers := kmsg.NewPtrDescribeProducersRequest()
	for _, topic := range []string{"t", "nope", "bad name"} {
		producers.Topics = append(producers.Topics, kmsg.DescribeProducersRequestTopic{Topic: topic, Partitions: []int32{0}})
	}
	describe, alter := onCluster(kmsg.ACLOperationDescribe), onCluster(kmsg.ACLOperationAlter)
	cases := append(s.topicCases(), s.configCases()...)
	return append(cases, []aclCase{
		{"", dirs, 4, nil},
		{"", dirs, 1, nil},
		{"", elect, 2, nil},
		{"", elect, 0, nil},
		{"", elect, 2, []grant{alter}},
		{"everywhere", everywhere, 2, nil},
		{"", move, 0, nil},
		{"", move, 0, []grant{alter}},
		{"", kmsg.NewPtrListPartitionReassignmentsRequest(), 0, nil},
		{"", kmsg.NewPtrListPartitionReassignmentsRequest(), 0, []grant{alter}},
		{"", kmsg.NewPtrDescribeClientQuotasRequest(), 1, nil},
		{"", kmsg.NewPtrDescribeClientQuotasRequest(), 1, []grant{onCluster(kmsg.ACLOperationDescribeConfigs)}},
		{"", quotas, 1, nil},
		{"", quotas, 1, []grant{onCluster(kmsg.ACLOperationAlterConfigs)}},
		{"", credentials, 0, nil},
		{"", credentials, 0, []grant{describe}},
		{"", forget, 0, nil},
		{"", forget, 0, []grant{alter}},
		{"", features, 1, nil},
		{"", features, 1, []grant{alter}},
		{"", node, 1, nil},
		{"", node, 1, []grant{describe}},
		{"", node, 1, []grant{onCluster(kmsg.ACLOperationAll), onCluster(kmsg.ACLOperationCreate).but()}},
		{"", producers, 0, nil},
		{"", producers, 0, []grant{onTopic("*", kmsg.ACLOperationRead)}},
		{"", aclsNamed("none"), 3, nil},
		{"", aclsNamed("none"), 3, []grant{describe}},
		{"", &kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{creation(clientHost, onTopic("t", kmsg.ACLOperationRead))}}, 3, []grant{describe}},
		{"", &kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}}}, 3, []grant{describe}},
	}...)
}

func aclsNamed(name string) *kmsg.DescribeACLsRequest {
	return &kmsg.DescribeACLsRequest{
		ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: &name, ResourcePatternType: kmsg.ACLResourcePatternTypeAny,
		Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny,
	}
}

// brokerCases are what brokers send each other; whoever else does is denied, whatever he may do to topics.
func (s *aclScene) brokerCases() []aclCase {
	lead := kmsg.NewPtrLeaderAndISRRequest()
	lead.TopicStates = []kmsg.LeaderAndISRRequestTopicState{{Topic: "t", TopicID: s.u, PartitionStates: []kmsg.LeaderAndISRRequestTopicPartition{kmsg.NewLeaderAndISRRequestTopicPartition()}}}
	stop := kmsg.NewPtrStopReplicaRequest()
	stop.Topics = []kmsg.StopReplicaRequestTopic{{Topic: "t", PartitionStates: []kmsg.StopReplicaRequestTopicPartitionState{{}}}}
	markers := kmsg.NewPtrWriteTxnMarkersRequest()
	markers.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 5, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0}}}}}
	all := []grant{onTopic("*", kmsg.ACLOperationAll)}
	return []aclCase{
		{"", lead, 7, all},
		{"", lead, 4, all},
		{"", stop, 4, all},
		{"", kmsg.NewPtrUpdateMetadataRequest(), 8, all},
		{"", kmsg.NewPtrControlledShutdownRequest(), 3, all},
		{"", kmsg.NewPtrAlterPartitionRequest(), 3, all},
		{"", kmsg.NewPtrAllocateProducerIDsRequest(), 0, all},
		{"", markers, 1, all},
		{"without markers", kmsg.NewPtrWriteTxnMarkersRequest(), 1, []grant{onCluster(kmsg.ACLOperationAlter)}},
		{"without markers", kmsg.NewPtrWriteTxnMarkersRequest(), 1, []grant{onCluster(kmsg.ACLOperationClusterAction)}},
	}
}
