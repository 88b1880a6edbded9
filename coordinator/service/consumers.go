package service

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
	"jackdaw/protocol"
)

// image is the cluster as consumer groups are to see it: nil as long as this broker has not been told of the topics, which
// would look deleted.
func (g *Groups) image() *metadata.Image {
	if g.cfg.Image == nil {
		return nil
	}
	image := g.cfg.Image()
	if _, ok := image.Topic(GroupsTopic); !ok {
		return nil
	}
	return image
}

// ConsumerHeartbeat answers ConsumerGroupHeartbeat 0. host is the client's address as Kafka shows it.
// Kafka: KafkaApis.handleConsumerGroupHeartbeat.
func (g *Groups) ConsumerHeartbeat(
	ctx context.Context, req *kmsg.ConsumerGroupHeartbeatRequest, clientID, host string,
) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	res, err := g.consumerHeartbeat(ctx, req, clientID, host)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ClientMessage(err)
		return resp
	}
	resp.MemberID, resp.MemberEpoch = &res.MemberID, res.Epoch
	resp.HeartbeatIntervalMillis = int32(res.Interval.Milliseconds())
	if res.Assigned != nil {
		resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{}}
		for _, t := range res.Assigned.Topics() {
			resp.Assignment.Topics = append(resp.Assignment.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
				TopicID: t, Partitions: res.Assigned[t],
			})
		}
	}
	return resp
}

func (g *Groups) consumerHeartbeat(
	ctx context.Context, req *kmsg.ConsumerGroupHeartbeatRequest, clientID, host string,
) (group.ConsumerHeartbeatResult, error) {
	if !g.cfg.Consumer.Enabled {
		return group.ConsumerHeartbeatResult{}, kerr.UnsupportedVersion
	}
	r := group.ConsumerHeartbeatRequest{
		Group: req.Group, MemberID: req.MemberID, Epoch: req.MemberEpoch, InstanceID: req.InstanceID, Rack: req.RackID,
		RebalanceTimeoutMs: req.RebalanceTimeoutMillis, ClientID: clientID, ClientHost: host, Topics: req.SubscribedTopicNames,
		Assignor: req.ServerAssignor, Image: g.image(),
	}
	if r.MemberID == "" {
		r.NewID = g.cfg.NewConsumerID()
	}
	if req.Topics != nil {
		r.Owned = assignor.Partitions{}
		for _, t := range req.Topics {
			r.Owned.Add(t.TopicID, t.Partitions...)
		}
	}
	return call[group.ConsumerHeartbeatResult](ctx, g, req.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.ConsumerHeartbeat(now, t, r)
		})
}

// DescribeConsumers answers ConsumerGroupDescribe 0. Authorized operations are the caller's to fill in.
// Kafka: KafkaApis.handleConsumerGroupDescribe.
func (g *Groups) DescribeConsumers(ctx context.Context, req *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(req.Groups))
	for i, id := range req.Groups {
		d, err := g.describeConsumer(ctx, id)
		if err == nil {
			err = d.Err
		}
		resp.Groups[i] = g.describedConsumers(id, &d, err)
	}
	return resp
}

func (g *Groups) describeConsumer(ctx context.Context, id string) (group.ConsumerDescription, error) {
	switch {
	case !g.cfg.Consumer.Enabled:
		return group.ConsumerDescription{}, kerr.UnsupportedVersion
	case id == "":
		return group.ConsumerDescription{}, kerr.InvalidGroupID
	}
	return call[group.ConsumerDescription](ctx, g, id,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.DescribeConsumer(now, t, id)
		})
}

func (g *Groups) describedConsumers(id string, d *group.ConsumerDescription, err error) kmsg.ConsumerGroupDescribeResponseGroup {
	out := kmsg.NewConsumerGroupDescribeResponseGroup()
	out.Group, out.ErrorCode = id, protocol.ErrorCode(err)
	if err != nil {
		return out
	}
	out.State, out.Epoch, out.AssignmentEpoch, out.AssignorName = string(d.State), d.Epoch, d.TargetEpoch, d.Assignor
	image := g.cfg.Image()
	for _, m := range d.Members {
		out.Members = append(out.Members, kmsg.ConsumerGroupDescribeResponseGroupMember{
			MemberID: m.ID, InstanceID: m.InstanceID, RackID: m.Rack, MemberEpoch: m.Epoch, ClientID: m.ClientID, ClientHost: m.ClientHost,
			SubscribedTopics: m.Topics, SubscribedTopicRegex: m.Regex,
			Assignment: describedAssignment(image, m.Assigned), TargetAssignment: describedAssignment(image, m.Target),
		})
	}
	return out
}

// describedAssignment names the topics. What is deleted meanwhile is left out.
func describedAssignment(image *metadata.Image, p assignor.Partitions) kmsg.Assignment {
	var out kmsg.Assignment
	for _, id := range p.Topics() {
		if t, ok := image.TopicByID(id); ok {
			out.TopicPartitions = append(out.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: id, Topic: t.Name, Partitions: p[id]})
		}
	}
	return out
}

// knownType reports whether a type of groups is one of this coordinator's. Kafka: Group.GroupType.parse.
func knownType(t string) bool {
	return strings.EqualFold(t, group.ClassicType) || strings.EqualFold(t, group.ConsumerType)
}
