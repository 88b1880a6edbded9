package service

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/metadata"
	"jackdaw/protocol"
)

// Describe answers DescribeGroups 0-5. Authorized operations are the caller's to fill in.
// Kafka: KafkaApis.handleDescribeGroupsRequest.
func (g *Groups) Describe(ctx context.Context, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	for i, id := range req.Groups {
		d, err := call[group.Description](ctx, g, id,
			func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
				return s.Describe(now, t, id)
			})
		resp.Groups[i] = describedGroup(id, d, err)
	}
	return resp
}

func describedGroup(id string, d group.Description, err error) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group, out.ErrorCode = id, protocol.ErrorCode(err)
	out.State, out.ProtocolType, out.Protocol = d.State, d.ProtocolType, d.Protocol
	out.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(d.Members))
	for i, m := range d.Members {
		out.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			ProtocolMetadata: m.Metadata, MemberAssignment: m.Assignment,
		}
	}
	return out
}

// List answers ListGroups 0-5 with the groups that this broker coordinates; while some of them are loading, the others come
// with COORDINATOR_LOAD_IN_PROGRESS. Kafka: GroupCoordinator.handleListGroups.
func (g *Groups) List(ctx context.Context, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	resp.Groups = []kmsg.ListGroupsResponseGroup{}
	states, types := slices.Clone(req.StatesFilter), slices.Clone(req.TypesFilter)
	partitions, loading := g.rt.Active()
	if loading {
		resp.ErrorCode = protocol.ErrorCode(kerr.CoordinatorLoadInProgress)
	}
	if len(types) > 0 && !slices.ContainsFunc(types, knownType) {
		return resp
	}
	for _, p := range partitions {
		body, err := g.rt.Call(ctx, p, func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.List(now, t, states, types)
		})
		if err != nil {
			continue // resigned meanwhile: its new coordinator lists them
		}
		for _, l := range body.([]group.Listing) {
			resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
				Group: l.ID, ProtocolType: l.ProtocolType, GroupState: l.State, GroupType: l.Type,
			})
		}
	}
	return resp
}

// Delete answers DeleteGroups 0-2. Kafka: KafkaApis.handleDeleteGroupsRequest.
func (g *Groups) Delete(ctx context.Context, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(req.Groups))
	for i, id := range req.Groups {
		res, err := call[group.Result](ctx, g, id,
			func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
				return s.Delete(now, t, id)
			})
		if err == nil {
			err = res.Err
		}
		resp.Groups[i].Group, resp.Groups[i].ErrorCode = id, protocol.ErrorCode(err)
	}
	return resp
}

// OffsetDelete answers OffsetDelete 0, with denied as in OffsetCommit. Kafka: KafkaApis.handleOffsetDeleteRequest.
func (g *Groups) OffsetDelete(ctx context.Context, req *kmsg.OffsetDeleteRequest, denied func(topic string) bool) *kmsg.OffsetDeleteResponse {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	var tps []metadata.TopicPartition
	var codes []*int16
	topics := make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		out := make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		topics[i] = kmsg.OffsetDeleteResponseTopic{Topic: t.Topic, Partitions: out}
		refused := denied != nil && denied(t.Topic)
		for j, p := range t.Partitions {
			out[j].Partition = p.Partition
			tp := metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if err := g.refusal(tp, refused); err != nil {
				out[j].ErrorCode = protocol.ErrorCode(err)
				continue
			}
			tps = append(tps, tp)
			codes = append(codes, &out[j].ErrorCode)
		}
	}
	res, err := g.deleteOffsets(ctx, req.Group, tps)
	if err != nil {
		resp.ErrorCode = protocol.ErrorCode(err)
		return resp
	}
	setCodes(codes, res.Errs, nil)
	resp.Topics = topics
	return resp
}

func (g *Groups) deleteOffsets(ctx context.Context, id string, tps []metadata.TopicPartition) (group.DeleteOffsetsResult, error) {
	if id == "" {
		return group.DeleteOffsetsResult{}, kerr.InvalidGroupID
	}
	res, err := call[group.DeleteOffsetsResult](ctx, g, id,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.DeleteOffsets(now, t, id, tps)
		})
	if err == nil {
		err = res.Err
	}
	return res, err
}
