package group

import (
	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// recordKind is the version of a key, which tells what a record of __consumer_offsets is about.
type recordKind int16

// The records of a consumer group, KIP-848. Kafka: GroupCoordinatorRecordSerde.
const (
	kindEpoch         recordKind = 3 // ConsumerGroupMetadata
	kindTopics        recordKind = 4 // ConsumerGroupPartitionMetadata
	kindMember        recordKind = 5 // ConsumerGroupMemberMetadata
	kindTargetEpoch   recordKind = 6 // ConsumerGroupTargetAssignmentMetadata
	kindTarget        recordKind = 7 // ConsumerGroupTargetAssignmentMember
	kindCurrent       recordKind = 8 // ConsumerGroupCurrentMemberAssignment
	firstConsumerKind            = kindEpoch
	lastConsumerKind             = kindCurrent
)

// ofMember reports whether the key names a member.
func (k recordKind) ofMember() bool { return k == kindMember || k == kindTarget || k == kindCurrent }

// consumerRecord is a record of a consumer group. Its value is the one that belongs to its kind; a nil one is a tombstone.
type consumerRecord struct {
	kind   recordKind
	member string // of kinds that name one
	value  consumerValue
}

// consumerValue is the value of a record.
type consumerValue interface{ appendTo(b []byte) []byte }

// epochValue is that of kindEpoch and kindTargetEpoch.
type epochValue int32

// topicsValue is that of kindTopics: the subscribed topics by name.
type topicsValue map[string]topicMetadata

// targetValue is that of kindTarget.
type targetValue assignor.Partitions

// currentValue is that of kindCurrent.
type currentValue struct {
	epoch, previousEpoch int32
	state                memberState
	assigned, revoking   assignor.Partitions
}

func (r *consumerRecord) encode(group string) coordinator.Record {
	out := coordinator.Record{Key: r.key(group)}
	if r.value != nil {
		out.Value = r.value.appendTo([]byte{0, 0}) // all values are version 0
	}
	return out
}

func (r *consumerRecord) key(group string) []byte {
	b := appendInt16(nil, int16(r.kind))
	b = appendString(b, group)
	if r.kind.ofMember() {
		b = appendString(b, r.member)
	}
	return b
}

func (v epochValue) appendTo(b []byte) []byte { return appendNoTags(appendInt32(b, int32(v))) }

func (v targetValue) appendTo(b []byte) []byte {
	return appendNoTags(appendPartitions(b, assignor.Partitions(v)))
}

func (v currentValue) appendTo(b []byte) []byte {
	b = appendInt32(b, v.epoch)
	b = appendInt32(b, v.previousEpoch)
	b = append(b, byte(v.state))
	b = appendPartitions(b, v.assigned)
	return appendNoTags(appendPartitions(b, v.revoking))
}

func (v topicsValue) appendTo(b []byte) []byte {
	b = appendLen(b, len(v))
	for _, name := range sortedKeys(v) {
		t := v[name]
		b = append(b, t.id[:]...)
		b = appendCompact(b, name)
		b = appendInt32(b, t.partitions)
		b = appendLen(b, len(t.racks))
		for _, n := range sortedKeys(t.racks) {
			b = appendInt32(b, n)
			b = appendNoTags(appendCompacts(b, t.racks[n]))
		}
		b = appendNoTags(b)
	}
	return appendNoTags(b)
}

func (d *memberMetadata) appendTo(b []byte) []byte {
	b = appendNullable(b, d.instanceID)
	b = appendNullable(b, d.rack)
	b = appendCompact(b, d.clientID)
	b = appendCompact(b, d.clientHost)
	b = appendCompacts(b, d.topics)
	b = appendNullable(b, d.regex)
	b = appendInt32(b, d.rebalanceTimeoutMs)
	b = appendNullable(b, d.assignor)
	b = append(b, 1, 0) // one tagged field, 0, is there also where it is null
	if d.classic == nil {
		return append(b, 1, 0) // of one byte: null
	}
	body := d.classic.appendTo([]byte{1}) // not null
	return append(appendUvarint(b, len(body)), body...)
}

func (c *classicMetadata) appendTo(b []byte) []byte {
	b = appendInt32(b, c.sessionTimeoutMs)
	b = appendLen(b, len(c.protocols))
	for i := range c.protocols {
		b = appendCompact(b, c.protocols[i].Name)
		b = appendNoTags(appendCompact(b, string(c.protocols[i].Metadata)))
	}
	return appendNoTags(b)
}

func appendPartitions(b []byte, p assignor.Partitions) []byte {
	b = appendLen(b, len(p))
	for _, t := range p.Topics() {
		b = append(b, t[:]...)
		b = appendLen(b, len(p[t]))
		for _, n := range p[t] {
			b = appendInt32(b, n)
		}
		b = appendNoTags(b)
	}
	return b
}

// Tombstones of a member, and of a group.

func tombstone(kind recordKind, member string) consumerRecord {
	return consumerRecord{kind: kind, member: member}
}

// memberTombstones end a member. The order is Kafka's.
func memberTombstones(id string) []consumerRecord {
	return []consumerRecord{tombstone(kindCurrent, id), tombstone(kindTarget, id), tombstone(kindMember, id)}
}

// tombstones end a consumer group. The order is Kafka's: ConsumerGroup.createGroupTombstoneRecords.
func (c *consumerGroup) tombstones() []consumerRecord {
	var out []consumerRecord
	for _, id := range c.ids() {
		out = append(out, tombstone(kindCurrent, id))
	}
	for _, id := range c.ids() {
		out = append(out, tombstone(kindTarget, id))
	}
	out = append(out, tombstone(kindTargetEpoch, ""))
	for _, id := range c.ids() {
		out = append(out, tombstone(kindMember, id))
	}
	return append(out, tombstone(kindTopics, ""), tombstone(kindEpoch, ""))
}

// topicMetadata is a topic as the target assignment is computed with it. Kafka: TopicMetadata.
type topicMetadata struct {
	id         metadata.TopicID
	partitions int32
	// racks of the replicas of each partition, sorted; only partitions of which a rack is known.
	racks map[int32][]string
}
