package broker

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// handlers maps API keys to what answers them. internal/tidy holds it against protocol.Table and the files NN_name.go.
var handlers = map[kmsg.Key]func(*Broker, *network.Request){
	kmsg.Produce:                      (*Broker).handleProduce,
	kmsg.Fetch:                        (*Broker).handleFetch,
	kmsg.ListOffsets:                  (*Broker).handleListOffsets,
	kmsg.Metadata:                     (*Broker).handleMetadata,
	kmsg.LeaderAndISR:                 (*Broker).handleLeaderAndISR,
	kmsg.StopReplica:                  (*Broker).handleStopReplica,
	kmsg.UpdateMetadata:               (*Broker).handleUpdateMetadata,
	kmsg.ControlledShutdown:           (*Broker).handleControlledShutdown,
	kmsg.OffsetCommit:                 (*Broker).handleOffsetCommit,
	kmsg.OffsetFetch:                  (*Broker).handleOffsetFetch,
	kmsg.FindCoordinator:              (*Broker).handleFindCoordinator,
	kmsg.JoinGroup:                    (*Broker).handleJoinGroup,
	kmsg.Heartbeat:                    (*Broker).handleHeartbeat,
	kmsg.LeaveGroup:                   (*Broker).handleLeaveGroup,
	kmsg.SyncGroup:                    (*Broker).handleSyncGroup,
	kmsg.DescribeGroups:               (*Broker).handleDescribeGroups,
	kmsg.ListGroups:                   (*Broker).handleListGroups,
	kmsg.ApiVersions:                  (*Broker).handleAPIVersions,
	kmsg.CreateTopics:                 (*Broker).handleCreateTopics,
	kmsg.DeleteTopics:                 (*Broker).handleDeleteTopics,
	kmsg.DeleteRecords:                (*Broker).handleDeleteRecords,
	kmsg.InitProducerID:               (*Broker).handleInitProducerID,
	kmsg.OffsetForLeaderEpoch:         (*Broker).handleOffsetForLeaderEpoch,
	kmsg.AddPartitionsToTxn:           (*Broker).handleAddPartitionsToTxn,
	kmsg.AddOffsetsToTxn:              (*Broker).handleAddOffsetsToTxn,
	kmsg.EndTxn:                       (*Broker).handleEndTxn,
	kmsg.WriteTxnMarkers:              (*Broker).handleWriteTxnMarkers,
	kmsg.TxnOffsetCommit:              (*Broker).handleTxnOffsetCommit,
	kmsg.DescribeConfigs:              (*Broker).handleDescribeConfigs,
	kmsg.AlterConfigs:                 (*Broker).handleAlterConfigs,
	kmsg.CreatePartitions:             (*Broker).handleCreatePartitions,
	kmsg.DeleteGroups:                 (*Broker).handleDeleteGroups,
	kmsg.OffsetDelete:                 (*Broker).handleOffsetDelete,
	kmsg.AlterReplicaLogDirs:          (*Broker).handleAlterReplicaLogDirs,
	kmsg.DescribeLogDirs:              (*Broker).handleDescribeLogDirs,
	kmsg.ElectLeaders:                 (*Broker).handleElectLeaders,
	kmsg.IncrementalAlterConfigs:      (*Broker).handleIncrementalAlterConfigs,
	kmsg.AlterPartitionAssignments:    (*Broker).handleAlterPartitionReassignments,
	kmsg.ListPartitionReassignments:   (*Broker).handleListPartitionReassignments,
	kmsg.AlterPartition:               (*Broker).handleAlterPartition,
	kmsg.SASLHandshake:                (*Broker).handleSASLHandshake,
	kmsg.SASLAuthenticate:             (*Broker).handleSASLAuthenticate,
	kmsg.DescribeACLs:                 (*Broker).handleDescribeACLs,
	kmsg.CreateACLs:                   (*Broker).handleCreateACLs,
	kmsg.DeleteACLs:                   (*Broker).handleDeleteACLs,
	kmsg.CreateDelegationToken:        (*Broker).handleCreateDelegationToken,
	kmsg.RenewDelegationToken:         (*Broker).handleRenewDelegationToken,
	kmsg.ExpireDelegationToken:        (*Broker).handleExpireDelegationToken,
	kmsg.DescribeDelegationToken:      (*Broker).handleDescribeDelegationToken,
	kmsg.UpdateFeatures:               (*Broker).handleUpdateFeatures,
	kmsg.Envelope:                     (*Broker).handleEnvelope,
	kmsg.DescribeProducers:            (*Broker).handleDescribeProducers,
	kmsg.ConsumerGroupHeartbeat:       (*Broker).handleConsumerGroupHeartbeat,
	kmsg.ConsumerGroupDescribe:        (*Broker).handleConsumerGroupDescribe,
	kmsg.DescribeClientQuotas:         (*Broker).handleDescribeClientQuotas,
	kmsg.AlterClientQuotas:            (*Broker).handleAlterClientQuotas,
	kmsg.DescribeUserSCRAMCredentials: (*Broker).handleDescribeUserSCRAMCredentials,
	kmsg.AlterUserSCRAMCredentials:    (*Broker).handleAlterUserSCRAMCredentials,
	kmsg.DescribeCluster:              (*Broker).handleDescribeCluster,
	kmsg.DescribeTransactions:         (*Broker).handleDescribeTransactions,
	kmsg.ListTransactions:             (*Broker).handleListTransactions,
	kmsg.AllocateProducerIDs:          (*Broker).handleAllocateProducerIDs,
}

// Handle answers requests; it implements network.Handler.
func (b *Broker) Handle(run []*network.Request) {
	r := run[0]
	h, ok := handlers[kmsg.Key(r.Key)]
	if !ok {
		r.Close(fmt.Errorf("API %d is in the table but has no handler", r.Key))
		return
	}
	if err := b.awaitStart(r); err != nil {
		r.Close(err)
		return
	}
	if len(run) > 1 {
		b.produceJoined(run)
	} else {
		h(b, r)
	}
	if b.quotas.Active() {
		each := time.Since(r.Received) / time.Duration(len(run))
		for _, r := range run {
			b.quotas.Spent(r, each)
		}
	}
}
