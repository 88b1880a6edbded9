package protocol

const (
	produceKey            = int16(0)
	fetchKey              = int16(1)
	controlledShutdownKey = int16(7)
	apiVersionsKey        = int16(18)
)

// table is what the broker serves, ordered by key: the only place to add an API, or to take one away. It is never written to.
// Ranges begin and end where those of Apache Kafka 3.9 in ZooKeeper mode do.
var table = []API{
	row(0, "Produce", 0, 11, 9, `transactionalID:s@3? acks:i2 timeoutMs:i4 topics[](topic:s partitions[](partition:i4 records:b?))`),
	row(1, "Fetch", 0, 17, 12, `replicaID:i4@0-14 maxWaitMs:i4 minBytes:i4 maxBytes:i4@3 isolationLevel:i1@4 sessionID:i4@7 sessionEpoch:i4@7
		topics[](topic:s@0-12 topicID:id@13 partitions[](partition:i4 currentLeaderEpoch:i4@9 fetchOffset:i8 lastFetchedEpoch:i4@12
			logStartOffset:i8@5 maxBytes:i4 #0@17{directoryID:id}))
		forgotten[]@7(topic:s@0-12 topicID:id@13 partitions[]i4) rack:s@11 #0@12{clusterID:s?} #1@15(replicaID:i4 replicaEpoch:i8)`),
	row(2, "ListOffsets", 0, 9, 6, `replicaID:i4 isolationLevel:i1@2
		topics[](topic:s partitions[](partition:i4 currentLeaderEpoch:i4@4 timestamp:i8 maxNumOffsets:i4@0-0))`),
	row(3, "Metadata", 0, 12, 9, `topics[]?1(topicID:id@10 topic:s?10) allowAutoTopicCreation:i1@4
		includeClusterOperations:i1@8-10 includeTopicOperations:i1@8`),
	row(4, "LeaderAndIsr", 0, 7, 4, `controllerID:i4 isKRaft:i1@7 controllerEpoch:i4 brokerEpoch:i8@2 type:i1@5
		partitionStates[]@0-1(topic:s partition:i4 controllerEpoch:i4 leader:i4 leaderEpoch:i4 isr[]i4 zkVersion:i4 replicas[]i4 isNew:i1@1)
		topicStates[]@2(topic:s topicID:id@5 partitionStates[](partition:i4 controllerEpoch:i4 leader:i4 leaderEpoch:i4 isr[]i4 zkVersion:i4
			replicas[]i4 addingReplicas[]i4@3 removingReplicas[]i4@3 isNew:i1 leaderRecoveryState:i1@6))
		liveLeaders[](brokerID:i4 host:s port:i4)`),
	row(5, "StopReplica", 0, 4, 2, `controllerID:i4 isKRaft:i1@4 controllerEpoch:i4 brokerEpoch:i8@1 deletePartitions:i1@0-2
		ungrouped[]@0-0(topic:s partition:i4) topics[]@1-2(topic:s partitions[]i4)
		topicStates[]@3(topic:s partitionStates[](partition:i4 leaderEpoch:i4 delete:i1))`),
	row(6, "UpdateMetadata", 0, 8, 6, `controllerID:i4 isKRaft:i1@8 controllerEpoch:i4 brokerEpoch:i8@5
		partitionStates[]@0-4(topic:s partition:i4 controllerEpoch:i4 leader:i4 leaderEpoch:i4 isr[]i4 zkVersion:i4 replicas[]i4 offlineReplicas[]i4@4)
		topicStates[]@5(topic:s topicID:id@7 partitionStates[](partition:i4 controllerEpoch:i4 leader:i4 leaderEpoch:i4 isr[]i4 zkVersion:i4
			replicas[]i4 offlineReplicas[]i4))
		liveBrokers[](id:i4 host:s@0-0 port:i4@0-0 endpoints[]@1(port:i4 host:s listener:s@3 securityProtocol:i2) rack:s@2?) #0@8{type:i1}`),
	row(7, "ControlledShutdown", 0, 3, 3, `brokerID:i4 brokerEpoch:i8@2`),
	row(8, "OffsetCommit", 0, 9, 8, `group:s generation:i4@1 member:s@1 instanceID:s@7? retentionMs:i8@2-4
		topics[](topic:s partitions[](partition:i4 offset:i8 timestamp:i8@1-1 leaderEpoch:i4@6 metadata:s?))`),
	row(9, "OffsetFetch", 0, 9, 6, `group:s@0-7 topics[]@0-7?2(topic:s partitions[]i4)
		groups[]@8(group:s member:s@9? memberEpoch:i4@9 topics[]?(topic:s partitions[]i4)) requireStable:i1@7`),
	row(10, "FindCoordinator", 0, 6, 3, `key:s@0-3 keyType:i1@1 keys[]s@4`),
	row(11, "JoinGroup", 0, 9, 6, `group:s sessionTimeoutMs:i4 rebalanceTimeoutMs:i4@1 member:s instanceID:s@5? protocolType:s
		protocols[](name:s metadata:b) reason:s@8?`),
	row(12, "Heartbeat", 0, 4, 4, `group:s generation:i4 member:s instanceID:s@3?`),
	row(13, "LeaveGroup", 0, 5, 4, `group:s member:s@0-2 members[]@3(member:s instanceID:s? reason:s@5?)`),
	row(14, "SyncGroup", 0, 5, 4, `group:s generation:i4 member:s instanceID:s@3? protocolType:s@5? protocol:s@5? assignments[](member:s assignment:b)`),
	row(15, "DescribeGroups", 0, 5, 5, `groups[]s includeOperations:i1@3`),
	row(16, "ListGroups", 0, 5, 3, `states[]s@4 types[]s@5`),
	row(17, "SaslHandshake", 0, 1, never, `mechanism:s`),
	row(18, "ApiVersions", 0, 4, 3, `softwareName:s@3 softwareVersion:s@3`),
	row(19, "CreateTopics", 0, 7, 5, `topics[](topic:s partitions:i4 replicationFactor:i2 assignments[](partition:i4 replicas[]i4)
		configs[](name:s value:s?)) timeoutMs:i4 validateOnly:i1@1`),
	row(20, "DeleteTopics", 0, 6, 4, `names[]s@0-5 topics[]@6(topic:s? topicID:id) timeoutMs:i4`),
	row(21, "DeleteRecords", 0, 2, 2, `topics[](topic:s partitions[](partition:i4 offset:i8)) timeoutMs:i4`),
	row(22, "InitProducerId", 0, 5, 2, `transactionalID:s? timeoutMs:i4 producerID:i8@3 producerEpoch:i2@3`),
	row(23, "OffsetForLeaderEpoch", 0, 4, 4, `replicaID:i4@3 topics[](topic:s partitions[](partition:i4 currentLeaderEpoch:i4@2 leaderEpoch:i4))`),
	row(24, "AddPartitionsToTxn", 0, 5, 3, `transactions[]@4(transactionalID:s producerID:i8 producerEpoch:i2 verifyOnly:i1
			topics[](topic:s partitions[]i4))
		transactionalID:s@0-3 producerID:i8@0-3 producerEpoch:i2@0-3 topics[]@0-3(topic:s partitions[]i4)`),
	row(25, "AddOffsetsToTxn", 0, 4, 3, `transactionalID:s producerID:i8 producerEpoch:i2 group:s`),
	row(26, "EndTxn", 0, 4, 3, `transactionalID:s producerID:i8 producerEpoch:i2 commit:i1`),
	row(27, "WriteTxnMarkers", 0, 1, 1, `markers[](producerID:i8 producerEpoch:i2 committed:i1 topics[](topic:s partitions[]i4) coordinatorEpoch:i4)`),
	row(28, "TxnOffsetCommit", 0, 4, 3, `transactionalID:s group:s producerID:i8 producerEpoch:i2 generation:i4@3 member:s@3 instanceID:s@3?
		topics[](topic:s partitions[](partition:i4 offset:i8 leaderEpoch:i4@2 metadata:s?))`),
	row(29, "DescribeAcls", 0, 3, 2, `resourceType:i1 resourceName:s? patternType:i1@1 principal:s? host:s? operation:i1 permission:i1`),
	row(30, "CreateAcls", 0, 3, 2, `creations[](resourceType:i1 resourceName:s patternType:i1@1 principal:s host:s operation:i1 permission:i1)`),
	row(31, "DeleteAcls", 0, 3, 2, `filters[](resourceType:i1 resourceName:s? patternType:i1@1 principal:s? host:s? operation:i1 permission:i1)`),
	row(32, "DescribeConfigs", 0, 4, 4, `resources[](type:i1 name:s keys[]s?) includeSynonyms:i1@1 includeDocumentation:i1@3`),
	row(33, "AlterConfigs", 0, 2, 2, `resources[](type:i1 name:s configs[](name:s value:s?)) validateOnly:i1`),
	row(34, "AlterReplicaLogDirs", 0, 2, 2, `dirs[](path:s topics[](topic:s partitions[]i4))`),
	row(35, "DescribeLogDirs", 0, 4, 2, `topics[]?(topic:s partitions[]i4)`),
	row(36, "SaslAuthenticate", 0, 2, 2, `authBytes:b`),
	row(37, "CreatePartitions", 0, 3, 2, `topics[](topic:s count:i4 assignments[]?(replicas[]i4)) timeoutMs:i4 validateOnly:i1`),
	row(38, "CreateDelegationToken", 0, 3, 2, `ownerType:s@3? ownerName:s@3? renewers[](principalType:s principalName:s) maxLifetimeMs:i8`),
	row(39, "RenewDelegationToken", 0, 2, 2, `hmac:b renewPeriodMs:i8`),
	row(40, "ExpireDelegationToken", 0, 2, 2, `hmac:b expiryPeriodMs:i8`),
	row(41, "DescribeDelegationToken", 0, 3, 2, `owners[]?(principalType:s principalName:s)`),
	row(42, "DeleteGroups", 0, 2, 2, `groups[]s`),
	row(43, "ElectLeaders", 0, 2, 2, `type:i1@1 topics[]?(topic:s partitions[]i4) timeoutMs:i4`),
	row(44, "IncrementalAlterConfigs", 0, 1, 1, `resources[](type:i1 name:s configs[](name:s operation:i1 value:s?)) validateOnly:i1`),
	row(45, "AlterPartitionReassignments", 0, 0, 0, `timeoutMs:i4 topics[](topic:s partitions[](partition:i4 replicas[]i4?))`),
	row(46, "ListPartitionReassignments", 0, 0, 0, `timeoutMs:i4 topics[]?(topic:s partitions[]i4)`),
	row(47, "OffsetDelete", 0, 0, never, `group:s topics[](topic:s partitions[](partition:i4))`),
	row(48, "DescribeClientQuotas", 0, 1, 1, `components[](type:s match:i1 name:s?) strict:i1`),
	row(49, "AlterClientQuotas", 0, 1, 1, `entries[](entity[](type:s name:s?) ops[](key:s value:i8 remove:i1)) validateOnly:i1`),
	row(50, "DescribeUserScramCredentials", 0, 0, 0, `users[]?(name:s)`),
	row(51, "AlterUserScramCredentials", 0, 0, 0, `deletions[](name:s mechanism:i1)
		upsertions[](name:s mechanism:i1 iterations:i4 salt:b saltedPassword:b)`),
	row(56, "AlterPartition", 0, 3, 0, `brokerID:i4 brokerEpoch:i8 topics[](topic:s@0-1 topicID:id@2 partitions[](partition:i4 leaderEpoch:i4
		newISR[]i4@0-2 newISRWithEpochs[]@3(brokerID:i4 brokerEpoch:i8) leaderRecoveryState:i1@1 partitionEpoch:i4))`),
	row(57, "UpdateFeatures", 0, 1, 0, `timeoutMs:i4 updates[](feature:s maxVersionLevel:i2 allowDowngrade:i1@0-0 upgradeType:i1@1) validateOnly:i1@1`),
	row(58, "Envelope", 0, 0, 0, `requestData:b principal:b? clientAddress:b`),
	row(60, "DescribeCluster", 0, 1, 0, `includeOperations:i1 endpointType:i1@1`),
	row(61, "DescribeProducers", 0, 0, 0, `topics[](topic:s partitions[]i4)`),
	row(65, "DescribeTransactions", 0, 0, 0, `transactionalIDs[]s`),
	row(66, "ListTransactions", 0, 1, 0, `stateFilters[]s producerIDFilters[]i8 durationFilterMs:i8@1`),
	row(67, "AllocateProducerIds", 0, 0, 0, `brokerID:i4 brokerEpoch:i8`),
	row(68, "ConsumerGroupHeartbeat", 0, 0, 0, `group:s member:s memberEpoch:i4 instanceID:s? rack:s? rebalanceTimeoutMs:i4 topics[]s?
		serverAssignor:s? partitions[]?(topicID:id partitions[]i4)`),
	row(69, "ConsumerGroupDescribe", 0, 0, 0, `groups[]s includeOperations:i1`),
}

// row makes a row of the table.
func row(key int16, name string, low, high, flexible int16, body string) API {
	return API{Key: key, Name: name, Min: low, Max: high, Flexible: flexible, body: parseSchema(body)}
}
