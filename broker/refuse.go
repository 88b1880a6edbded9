package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/internal/assert"
	"jackdaw/metadata"
	"jackdaw/protocol"
)

// refused answers a request that fails as a whole, with the error wherever its response has a place for one; nil answers
// nothing, and is false. Kafka: AbstractRequest.getErrorResponse.
func (b *Broker) refused(r *network.Request, err error) bool {
	if err == nil {
		return false
	}
	if resp := errorResponse(r.Body, err); resp != nil {
		r.Respond(resp)
	} else {
		r.Close(err) // rather than a response that looks like success
	}
	return true
}

// errorResponse is for the APIs that are refused as a whole; nil for others.
func errorResponse(req kmsg.Request, err error) kmsg.Response {
	code := protocol.ErrorCode(err)
	switch req := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return leaderAndISRError(req, err)
	case *kmsg.StopReplicaRequest:
		return stopReplicaError(req, code)
	case *kmsg.OffsetCommitRequest:
		return offsetCommitError(req, code)
	case *kmsg.TxnOffsetCommitRequest:
		return txnOffsetCommitError(req, code)
	case *kmsg.AddPartitionsToTxnRequest:
		return addPartitionsError(req, code)
	case *kmsg.WriteTxnMarkersRequest:
		return writeTxnMarkersError(req, code)
	case *kmsg.AlterReplicaLogDirsRequest:
		return alterReplicaLogDirsError(req, code)
	case *kmsg.CreateACLsRequest:
		return createACLsError(req, err)
	case *kmsg.DeleteACLsRequest:
		return deleteACLsError(req, err)
	case *kmsg.ElectLeadersRequest:
		return electLeadersError(req, code)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return alterReassignmentsError(req, err)
	case *kmsg.DescribeUserSCRAMCredentialsRequest:
		return describeCredentialsError(req, err)
	case *kmsg.AlterClientQuotasRequest:
		return alterQuotasError(req, err)
	case *kmsg.AlterUserSCRAMCredentialsRequest:
		return alterCredentialsError(req, err)
	}
	return codeResponse(req.ResponseKind(), code, protocol.ErrorMessage(err))
}

// codeResponse fills in responses with one code.
func codeResponse(resp kmsg.Response, code int16, text *string) kmsg.Response {
	switch resp := resp.(type) {
	case *kmsg.UpdateMetadataResponse:
		resp.ErrorCode = code
	case *kmsg.ControlledShutdownResponse:
		resp.ErrorCode = code
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = code
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = code
	case *kmsg.JoinGroupResponse:
		resp.ErrorCode, resp.Generation = code, -1
	case *kmsg.SyncGroupResponse:
		resp.ErrorCode = code
	case *kmsg.HeartbeatResponse:
		resp.ErrorCode = code
	case *kmsg.ConsumerGroupHeartbeatResponse:
		resp.ErrorCode = code
	case *kmsg.LeaveGroupResponse:
		resp.ErrorCode = code
	case *kmsg.OffsetDeleteResponse:
		resp.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, -1, -1
	case *kmsg.AddOffsetsToTxnResponse:
		resp.ErrorCode = code
	case *kmsg.EndTxnResponse:
		resp.ErrorCode = code
	case *kmsg.DescribeLogDirsResponse:
		resp.ErrorCode = code
	case *kmsg.DescribeACLsResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.DescribeClientQuotasResponse:
		resp.ErrorCode = code
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	default:
		assert.That(false, "a refusal has a place in its response", "api", resp.Key())
		return nil
	}
	return resp
}

func leaderAndISRError(req *kmsg.LeaderAndISRRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.LeaderAndISRResponse)
	resp.ErrorCode = protocol.ErrorCode(err)
	errs := map[metadata.TopicPartition]error{}
	for _, s := range partitionStates(req) {
		errs[s.TP] = err
	}
	fillLeaderAndISRResponse(resp, req, errs)
	return resp
}

func stopReplicaError(req *kmsg.StopReplicaRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.StopReplicaResponse)
	resp.ErrorCode = code
	for _, s := range stopsAsked(req) {
		resp.Partitions = append(resp.Partitions, kmsg.StopReplicaResponsePartition{Topic: s.TP.Topic, Partition: s.TP.Partition, ErrorCode: code})
	}
	return resp
}

func offsetCommitError(req *kmsg.OffsetCommitRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, t := range req.Topics {
		out := kmsg.OffsetCommitResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func txnOffsetCommitError(req *kmsg.TxnOffsetCommitRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, t := range req.Topics {
		out := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// addPartitionsError has the error as a whole since v4, before that in each partition.
func addPartitionsError(req *kmsg.AddPartitionsToTxnRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	resp.ErrorCode = code
	for _, t := range req.Topics {
		out := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: code})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func alterReplicaLogDirsError(req *kmsg.AlterReplicaLogDirsRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			out := kmsg.AlterReplicaLogDirsResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				out.Partitions = append(out.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: p, ErrorCode: code})
			}
			resp.Topics = append(resp.Topics, out)
		}
	}
	return resp
}

func writeTxnMarkersError(req *kmsg.WriteTxnMarkersRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	for _, m := range req.Markers {
		marker := kmsg.WriteTxnMarkersResponseMarker{ProducerID: m.ProducerID}
		for _, t := range m.Topics {
			out := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				out.Partitions = append(out.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: code})
			}
			marker.Topics = append(marker.Topics, out)
		}
		resp.Markers = append(resp.Markers, marker)
	}
	return resp
}

func createACLsError(req *kmsg.CreateACLsRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
	for range req.Creations {
		resp.Results = append(resp.Results, createdACL(err))
	}
	return resp
}

func deleteACLsError(req *kmsg.DeleteACLsRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
	for range req.Filters {
		resp.Results = append(resp.Results, kmsg.DeleteACLsResponseResult{ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err)})
	}
	return resp
}

func electLeadersError(req *kmsg.ElectLeadersRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	resp.ErrorCode = code
	for _, t := range req.Topics {
		out := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: p, ErrorCode: code})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func alterQuotasError(req *kmsg.AlterClientQuotasRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	for _, e := range req.Entries {
		out := kmsg.AlterClientQuotasResponseEntry{ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err)}
		for _, part := range e.Entity {
			out.Entity = append(out.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
		}
		resp.Entries = append(resp.Entries, out)
	}
	return resp
}

func alterReassignmentsError(req *kmsg.AlterPartitionAssignmentsRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
	for _, t := range req.Topics {
		out := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: p.Partition, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage,
			})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// describeCredentialsError has a nameless result for each user, as Kafka's answer.
func describeCredentialsError(req *kmsg.DescribeUserSCRAMCredentialsRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	resp.ErrorCode = protocol.ErrorCode(err)
	for range req.Users {
		resp.Results = append(resp.Results, kmsg.DescribeUserSCRAMCredentialsResponseResult{ErrorCode: resp.ErrorCode})
	}
	return resp
}

func alterCredentialsError(req *kmsg.AlterUserSCRAMCredentialsRequest, err error) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	users, _ := credentialChanges(req)
	for _, user := range users {
		resp.Results = append(resp.Results, kmsg.AlterUserSCRAMCredentialsResponseResult{User: user, ErrorCode: protocol.ErrorCode(err)})
	}
	return resp
}
