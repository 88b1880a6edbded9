package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewMetadata asks for topics by name; none given asks for all.
func NewMetadata(topics ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// Part is one partition of a Produce request.
type Part struct {
	Topic     string
	Partition int32
	Records   []byte // nil is null
}

// NewProduce builds a Produce request; parts of one topic that follow each other share its entry.
func NewProduce(acks int16, parts ...Part) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 5000
	for _, part := range parts {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != part.Topic {
			t := kmsg.NewProduceRequestTopic()
			t.Topic = part.Topic
			r.Topics = append(r.Topics, t)
		}
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = part.Partition, part.Records
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return r
}

// Position is one partition of a Fetch request.
type Position struct {
	Topic     string
	TopicID   [16]byte // v13 and later
	Partition int32
	Offset    int64
	MaxBytes  int32 // 0: 1 MiB
}

// NewFetch builds a consumer's Fetch without a session that waits at most 500 ms for one byte.
func NewFetch(positions ...Position) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.SessionEpoch = 500, 1, 50<<20, -1
	r.ReplicaID = -1
	for _, at := range positions {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != at.Topic || r.Topics[n-1].TopicID != at.TopicID {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = at.Topic, at.TopicID
			r.Topics = append(r.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.Partition, at.Offset, at.MaxBytes
		p.CurrentLeaderEpoch, p.LastFetchedEpoch = -1, -1
		if p.PartitionMaxBytes == 0 {
			p.PartitionMaxBytes = 1 << 20
		}
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return r
}

// NewListOffsets asks one partition for one timestamp (-1 latest, -2 earliest, ...).
func NewListOffsets(topic string, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, timestamp, -1
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// NewCreateTopic builds a CreateTopics request for one topic; config is key, value, key, value.
func NewCreateTopic(name string, partitions int32, replicas int16, config ...string) *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis = 15000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i+1 < len(config); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = config[i], &config[i+1]
		t.Configs = append(t.Configs, c)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// Assign replaces partition count and factor by a manual assignment: the replicas of partition 0, 1, ...
func Assign(r *kmsg.CreateTopicsRequest, replicas ...[]int32) *kmsg.CreateTopicsRequest {
	t := &r.Topics[0]
	t.NumPartitions, t.ReplicationFactor = -1, -1
	for i, ids := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), ids
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return r
}

// NewJoin builds a JoinGroup request of a consumer with the given protocols, timeouts 10 s.
func NewJoin(group, member string, protocols ...string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType = group, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10000, 10000
	for _, name := range protocols {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte("m")
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

// NewSync builds a SyncGroup request; assignments go by member id.
func NewSync(group, member string, generation int32, protocol string, assignments map[string][]byte) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr(protocol)
	for id, bytes := range assignments {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, bytes
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	return r
}

// NewHeartbeat builds a Heartbeat request.
func NewHeartbeat(group, member string, generation int32) *kmsg.HeartbeatRequest {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	return r
}

// NewLeave builds a LeaveGroup request (v3 and later: the member in the list; below: the old field).
func NewLeave(group, member string) *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group, r.MemberID = group, member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = member
	r.Members = append(r.Members, m)
	return r
}

// Commit is one partition of an OffsetCommit request.
type Commit struct {
	Topic     string
	Partition int32
	Offset    int64
	Metadata  *string
}

// NewCommit builds an OffsetCommit request.
func NewCommit(group, member string, generation int32, commits ...Commit) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.MemberID, r.Generation = group, member, generation
	for _, c := range commits {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != c.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = c.Topic
			r.Topics = append(r.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = c.Partition, c.Offset, c.Metadata
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return r
}
