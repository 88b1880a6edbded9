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

// First versions of OffsetFetch with something.
const (
	fetchNullIsAll   = 2 // and an error code for the whole group
	fetchStable      = 7
	fetchManyGroups  = 8
	fetchLeaderEpoch = 5
)

// FetchDenied tells what a client may not see the offsets of; nil functions deny nothing.
type FetchDenied struct{ Group, Topic func(name string) bool }

func (d FetchDenied) group(id string) bool   { return d.Group != nil && d.Group(id) }
func (d FetchDenied) topic(name string) bool { return d.Topic != nil && d.Topic(name) }

// OffsetFetch answers OffsetFetch 0-9. Kafka: KafkaApis.handleOffsetFetchRequest.
func (g *Groups) OffsetFetch(ctx context.Context, req *kmsg.OffsetFetchRequest, denied FetchDenied) *kmsg.OffsetFetchResponse {
	switch {
	case req.Version == 0:
		return g.fetchFromZooKeeper(ctx, req, denied)
	case req.Version < fetchManyGroups:
		return g.fetchOne(ctx, req, denied)
	default:
		return g.fetchMany(ctx, req, denied)
	}
}

// fetchAllowed is fetch without what is denied. Denied topics that were asked for come last, with an error, others not at all.
func (g *Groups) fetchAllowed(
	ctx context.Context, in *kmsg.OffsetFetchRequestGroup, stable bool, denied FetchDenied,
) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	if denied.group(in.Group) {
		return nil, kerr.GroupAuthorizationFailed
	}
	if in.Topics == nil {
		out, err := g.fetch(ctx, in, stable)
		return slices.DeleteFunc(out, func(t kmsg.OffsetFetchResponseGroupTopic) bool { return denied.topic(t.Topic) }), err
	}
	allowed := *in
	allowed.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(in.Topics))
	var refused []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range in.Topics {
		if !denied.topic(t.Topic) {
			allowed.Topics = append(allowed.Topics, t)
			continue
		}
		out := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition(noOffset(p, kerr.TopicAuthorizationFailed)))
		}
		refused = append(refused, out)
	}
	out, err := g.fetch(ctx, &allowed, stable)
	if err != nil {
		return nil, err
	}
	return append(out, refused...), nil
}

// fetch looks up the offsets of one group: of all partitions when it names no topics. Its member is checked if it names one.
func (g *Groups) fetch(ctx context.Context, in *kmsg.OffsetFetchRequestGroup, stable bool) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	topics := in.Topics
	r := group.FetchRequest{Group: in.Group, MemberID: in.MemberID, MemberEpoch: in.MemberEpoch, All: topics == nil, Stable: stable}
	for _, t := range topics {
		for _, p := range t.Partitions {
			r.TPs = append(r.TPs, metadata.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	res, err := call[group.FetchResult](ctx, g, in.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.Fetch(now, t, r)
		})
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return nil, err
	}
	offsets := res.Offsets
	if topics == nil {
		return groupByTopic(offsets), nil
	}
	out := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	for i, t := range topics {
		out[i] = kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic, Partitions: fetched(offsets[:len(t.Partitions)])}
		offsets = offsets[len(t.Partitions):]
	}
	return out, nil
}

// groupByTopic splits sorted offsets.
func groupByTopic(offsets []group.FetchedOffset) []kmsg.OffsetFetchResponseGroupTopic {
	out := []kmsg.OffsetFetchResponseGroupTopic{}
	for len(offsets) > 0 {
		n := 1
		for n < len(offsets) && offsets[n].TP.Topic == offsets[0].TP.Topic {
			n++
		}
		out = append(out, kmsg.OffsetFetchResponseGroupTopic{Topic: offsets[0].TP.Topic, Partitions: fetched(offsets[:n])})
		offsets = offsets[n:]
	}
	return out
}

func fetched(offsets []group.FetchedOffset) []kmsg.OffsetFetchResponseGroupTopicPartition {
	out := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(offsets))
	for i := range offsets {
		o := &offsets[i]
		out[i] = kmsg.OffsetFetchResponseGroupTopicPartition{
			Partition: o.TP.Partition, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: &o.Metadata,
			ErrorCode: protocol.ErrorCode(o.Err),
		}
	}
	return out
}

// fetchMany answers version 8 on: a list of groups, each with an error of its own.
func (g *Groups) fetchMany(ctx context.Context, req *kmsg.OffsetFetchRequest, denied FetchDenied) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	for i := range req.Groups {
		in := &req.Groups[i]
		topics, err := g.fetchAllowed(ctx, in, req.RequireStable, denied)
		resp.Groups[i] = kmsg.OffsetFetchResponseGroup{Group: in.Group, Topics: topics, ErrorCode: protocol.ErrorCode(err)}
	}
	return resp
}

// fetchOne answers versions 1 to 7: one group. Before version 2 the error stands with each partition, and an empty list
// asks for nothing.
func (g *Groups) fetchOne(ctx context.Context, req *kmsg.OffsetFetchRequest, denied FetchDenied) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	in := kmsg.NewOffsetFetchRequestGroup() // names no member
	in.Group, in.Topics = req.Group, make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i, t := range req.Topics {
		in.Topics[i] = kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions}
	}
	if req.Topics == nil && req.Version >= fetchNullIsAll {
		in.Topics = nil
	}
	out, err := g.fetchAllowed(ctx, &in, req.Version >= fetchStable && req.RequireStable, denied)
	switch {
	case err != nil && req.Version >= fetchNullIsAll:
		resp.ErrorCode = protocol.ErrorCode(err)
	case err != nil:
		resp.Topics = failedTopics(req, err)
	default:
		resp.Topics = oldTopics(out, req.Version)
	}
	return resp
}

func oldTopics(in []kmsg.OffsetFetchResponseGroupTopic, version int16) []kmsg.OffsetFetchResponseTopic {
	out := make([]kmsg.OffsetFetchResponseTopic, len(in))
	for i, t := range in {
		out[i] = kmsg.OffsetFetchResponseTopic{Topic: t.Topic, Partitions: make([]kmsg.OffsetFetchResponseTopicPartition, len(t.Partitions))}
		for j, p := range t.Partitions {
			o := kmsg.NewOffsetFetchResponseTopicPartition()
			o.Partition, o.Offset, o.Metadata, o.ErrorCode = p.Partition, p.Offset, p.Metadata, p.ErrorCode
			if version >= fetchLeaderEpoch {
				o.LeaderEpoch = p.LeaderEpoch
			}
			out[i].Partitions[j] = o
		}
	}
	return out
}

// failedTopics repeats the request with an error in each partition.
func failedTopics(req *kmsg.OffsetFetchRequest, err error) []kmsg.OffsetFetchResponseTopic {
	out := make([]kmsg.OffsetFetchResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		out[i] = kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out[i].Partitions = append(out[i].Partitions, noOffset(p, err))
		}
	}
	return out
}

func noOffset(partition int32, err error) kmsg.OffsetFetchResponseTopicPartition {
	return kmsg.OffsetFetchResponseTopicPartition{
		Partition: partition, Offset: -1, LeaderEpoch: -1, Metadata: new(string), ErrorCode: protocol.ErrorCode(err),
	}
}

// fetchFromZooKeeper answers version 0, where an offset that is not there is UNKNOWN_TOPIC_OR_PARTITION.
func (g *Groups) fetchFromZooKeeper(ctx context.Context, req *kmsg.OffsetFetchRequest, denied FetchDenied) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if denied.group(req.Group) {
		resp.Topics = failedTopics(req, kerr.GroupAuthorizationFailed)
		return resp
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		resp.Topics[i] = kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		refused := denied.topic(t.Topic)
		for _, p := range t.Partitions {
			if refused {
				resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, noOffset(p, kerr.TopicAuthorizationFailed))
				continue
			}
			o := g.zooKeeperOffset(ctx, req.Group, metadata.TopicPartition{Topic: t.Topic, Partition: p})
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, o)
		}
	}
	return resp
}

func (g *Groups) zooKeeperOffset(ctx context.Context, id string, tp metadata.TopicPartition) kmsg.OffsetFetchResponseTopicPartition {
	if g.cfg.ZooKeeper == nil {
		return noOffset(tp.Partition, kerr.UnsupportedVersion)
	}
	if !g.cfg.PartitionExists(tp) {
		return noOffset(tp.Partition, kerr.UnknownTopicOrPartition)
	}
	v, ok, err := g.cfg.ZooKeeper.Offset(ctx, id, tp)
	switch {
	case err != nil:
		return noOffset(tp.Partition, err)
	case !ok:
		return noOffset(tp.Partition, kerr.UnknownTopicOrPartition)
	}
	o := noOffset(tp.Partition, nil)
	o.Offset = v
	return o
}
