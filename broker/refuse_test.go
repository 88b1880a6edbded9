package broker

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A refusal that the client cannot find in the response looks like success.
func TestErrorResponse_EachAPI_HasTheCode(t *testing.T) {
	partition := "the code is in each partition, user, or entry"
	for _, tc := range []struct {
		req  kmsg.Request
		what string
	}{
		{req: kmsg.NewPtrLeaderAndISRRequest()}, {req: kmsg.NewPtrStopReplicaRequest()}, {req: kmsg.NewPtrUpdateMetadataRequest()},
		{req: kmsg.NewPtrControlledShutdownRequest()}, {req: kmsg.NewPtrAlterPartitionRequest()}, {req: kmsg.NewPtrAllocateProducerIDsRequest()},
		{req: kmsg.NewPtrJoinGroupRequest()}, {req: kmsg.NewPtrSyncGroupRequest()}, {req: kmsg.NewPtrHeartbeatRequest()},
		{req: kmsg.NewPtrLeaveGroupRequest()}, {req: kmsg.NewPtrConsumerGroupHeartbeatRequest()}, {req: kmsg.NewPtrOffsetDeleteRequest()},
		{req: kmsg.NewPtrInitProducerIDRequest()}, {req: kmsg.NewPtrAddPartitionsToTxnRequest()}, {req: kmsg.NewPtrAddOffsetsToTxnRequest()},
		{req: kmsg.NewPtrEndTxnRequest()}, {req: kmsg.NewPtrDescribeLogDirsRequest()}, {req: kmsg.NewPtrDescribeACLsRequest()},
		{req: kmsg.NewPtrElectLeadersRequest()}, {req: kmsg.NewPtrAlterPartitionAssignmentsRequest()},
		{req: kmsg.NewPtrListPartitionReassignmentsRequest()}, {req: kmsg.NewPtrDescribeClientQuotasRequest()},
		{req: kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()}, {req: kmsg.NewPtrUpdateFeaturesRequest()},
		{what: partition, req: &kmsg.CreateACLsRequest{Creations: make([]kmsg.CreateACLsRequestCreation, 1)}},
		{what: partition, req: &kmsg.DeleteACLsRequest{Filters: make([]kmsg.DeleteACLsRequestFilter, 1)}},
		{what: partition, req: &kmsg.AlterClientQuotasRequest{Entries: make([]kmsg.AlterClientQuotasRequestEntry, 1)}},
		{what: partition, req: &kmsg.AlterUserSCRAMCredentialsRequest{Deletions: make([]kmsg.AlterUserSCRAMCredentialsRequestDeletion, 1)}},
		{what: partition, req: &kmsg.OffsetCommitRequest{Topics: []kmsg.OffsetCommitRequestTopic{{Partitions: make([]kmsg.OffsetCommitRequestTopicPartition, 1)}}}},
		{what: partition, req: &kmsg.TxnOffsetCommitRequest{Topics: []kmsg.TxnOffsetCommitRequestTopic{{Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)}}}},
		{what: partition, req: &kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{{Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Partitions: []int32{1}}}}}}},
	} {
		resp := errorResponse(tc.req, kerr.ClusterAuthorizationFailed)
		if got := firstCode(reflect.ValueOf(resp)); got != kerr.ClusterAuthorizationFailed.Code {
			t.Errorf("%s: code %d %s", kmsg.NameForKey(tc.req.Key()), got, tc.what)
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
