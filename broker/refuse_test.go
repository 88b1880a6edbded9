package broker

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A refusal that the client cannot find in the response looks like success.
func TestErrorResponse_EachAPI_HasTheCode(t *testing.T) {
	for _, req := range []kmsg.Request{
		kmsg.NewPtrLeaderAndISRRequest(),
		kmsg.NewPtrStopReplicaRequest(),
		kmsg.NewPtrUpdateMetadataRequest(),
		kmsg.NewPtrControlledShutdownRequest(),
		kmsg.NewPtrAlterPartitionRequest(),
		kmsg.NewPtrAllocateProducerIDsRequest(),
		kmsg.NewPtrJoinGroupRequest(),
		kmsg.NewPtrSyncGroupRequest(),
		kmsg.NewPtrHeartbeatRequest(),
		kmsg.NewPtrLeaveGroupRequest(),
		kmsg.NewPtrConsumerGroupHeartbeatRequest(),
		kmsg.NewPtrOffsetDeleteRequest(),
		kmsg.NewPtrInitProducerIDRequest(),
		kmsg.NewPtrAddPartitionsToTxnRequest(),
		kmsg.NewPtrAddOffsetsToTxnRequest(),
		kmsg.NewPtrEndTxnRequest(),
		kmsg.NewPtrDescribeLogDirsRequest(),
		kmsg.NewPtrDescribeACLsRequest(),
		kmsg.NewPtrElectLeadersRequest(),
		kmsg.NewPtrAlterPartitionAssignmentsRequest(),
		kmsg.NewPtrListPartitionReassignmentsRequest(),
		kmsg.NewPtrDescribeClientQuotasRequest(),
		kmsg.NewPtrDescribeUserSCRAMCredentialsRequest(),
		kmsg.NewPtrUpdateFeaturesRequest(),
		&kmsg.CreateACLsRequest{Creations: make([]kmsg.CreateACLsRequestCreation, 1)},
		&kmsg.DeleteACLsRequest{Filters: make([]kmsg.DeleteACLsRequestFilter, 1)},
		&kmsg.AlterClientQuotasRequest{Entries: make([]kmsg.AlterClientQuotasRequestEntry, 1)},
		&kmsg.AlterUserSCRAMCredentialsRequest{Deletions: make([]kmsg.AlterUserSCRAMCredentialsRequestDeletion, 1)},
		&kmsg.OffsetCommitRequest{Topics: []kmsg.OffsetCommitRequestTopic{{Partitions: make([]kmsg.OffsetCommitRequestTopicPartition, 1)}}},
		&kmsg.TxnOffsetCommitRequest{Topics: []kmsg.TxnOffsetCommitRequestTopic{{Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)}}},
		&kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{{Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Partitions: []int32{1}}}}}},
		&kmsg.AlterReplicaLogDirsRequest{Dirs: []kmsg.AlterReplicaLogDirsRequestDir{{Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Partitions: []int32{1}}}}}},
	} {
		resp := errorResponse(req, kerr.ClusterAuthorizationFailed)
		if got := firstCode(reflect.ValueOf(resp)); got != kerr.ClusterAuthorizationFailed.Code {
			t.Errorf("%s: code %d", kmsg.NameForKey(req.Key()), got)
		}
	}
}

// firstCode finds the first ErrorCode that is not 0, outermost first.
func firstCode(v reflect.Value) int16 {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return firstCode(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if c := firstCode(v.Index(i)); c != 0 {
				return c
			}
		}
	case reflect.Struct:
		if f := v.FieldByName("ErrorCode"); f.IsValid() && f.Int() != 0 {
			return int16(f.Int())
		}
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.Slice {
				if c := firstCode(v.Field(i)); c != 0 {
					return c
				}
			}
		}
	default: // neither a code, nor something that holds one
	}
	return 0
}
