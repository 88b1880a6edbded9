package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// Load implements coordinator.Shard. Kafka: GroupMetadataManager.doLoadGroupsAndOffsets.
func (s *Shard) Load(r coordinator.LogRecord) error {
	if len(r.Key) < 2 {
		return fmt.Errorf("key of %d bytes", len(r.Key))
	}
	switch v := int16(binary.BigEndian.Uint16(r.Key)); v {
	case 0, offsetKeyVersion:
		return s.loadOffset(r)
	case groupKeyVersion:
		return s.loadGroup(r)
	default:
		if k := recordKind(v); k >= firstConsumerKind && k <= lastConsumerKind {
			return s.loadConsumer(r)
		}
		return fmt.Errorf("key version %d", v)
	}
}

func (s *Shard) loadOffset(r coordinator.LogRecord) error {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("offset key: %w", err)
	}
	tp := metadata.TopicPartition{Topic: s.intern(k.Topic), Partition: k.Partition}
	if r.Value == nil {
		if g := s.groups[k.Group]; g != nil {
			g.offsets.remove(tp, r.Offset)
			s.pruneOpen(g)
		}
		return nil
	}
	o, err := decodeOffset(r.Value, r.Offset)
	if err != nil {
		return err
	}
	g := s.group(k.Group)
	if r.Transactional {
		g.offsets.addOpen(r.ProducerID, tp, o)
		s.noteOpen(r.ProducerID, g)
		return nil
	}
	g.offsets.set(tp, o)
	return nil
}

func decodeOffset(p []byte, at int64) (offset, error) {
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(p); err != nil {
		return offset{}, fmt.Errorf("offset value: %w", err)
	}
	o := offset{
		offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata, committedMs: v.CommitTimestamp,
		expireMs: noTimestamp, at: at,
	}
	if v.Version < 3 {
		o.leaderEpoch = -1
	}
	if v.Version == offsetValueExpiry {
		o.expireMs = v.ExpireTimestamp
	}
	return o, nil
}

func (s *Shard) loadGroup(r coordinator.LogRecord) error {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("group key: %w", err)
	}
	if r.Value == nil {
		// Offsets that come after the tombstone, or that it did not take along, stay: the group then only stores offsets.
		if g := s.groups[k.Group]; g != nil && g.consumer == nil {
			fresh := newGroup(k.Group, s.now)
			fresh.offsets = g.offsets
			s.replace(g, fresh)
		}
		return nil
	}
	var v kmsg.GroupMetadataValue
	if err := v.ReadFrom(r.Value); err != nil {
		return fmt.Errorf("group value: %w", err)
	}
	g := restoreGroup(k.Group, &v)
	if old := s.groups[k.Group]; old != nil {
		g.offsets = old.offsets
		s.replace(old, g)
		return nil
	}
	s.groups[g.id] = g
	return nil
}

// replace puts fresh in the place of old, which has the same offsets.
func (s *Shard) replace(old, fresh *group) {
	for id := range fresh.offsets.open {
		delete(s.open[id], old)
		s.noteOpen(id, fresh)
	}
	s.groups[fresh.id] = fresh
}

func restoreGroup(id string, v *kmsg.GroupMetadataValue) *group {
	g := newGroup(id, time.Time{})
	g.generation, g.since = v.Generation, v.CurrentStateTimestamp
	if v.Version < 2 {
		g.since = noTimestamp
	}
	for i := range v.Members {
		m := restoreMember(&v.Members[i], v.Version)
		if v.Protocol != nil {
			m.protocols = []Protocol{{Name: *v.Protocol, Metadata: slices.Clone(v.Members[i].Subscription)}}
		}
		g.add(m, v.ProtocolType)
	}
	if v.ProtocolType != "" {
		g.protocolType = &v.ProtocolType
	}
	g.protocol = v.Protocol
	if v.Leader != nil && g.members[*v.Leader] != nil {
		g.leader = *v.Leader
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.subscribed = g.subscriptions()
	return g
}

func restoreMember(v *kmsg.GroupMetadataValueMember, version int16) *member {
	m := &member{
		id: v.MemberID, instanceID: v.InstanceID, clientID: v.ClientID, clientHost: v.ClientHost,
		sessionTimeout:   time.Duration(v.SessionTimeoutMillis) * time.Millisecond,
		rebalanceTimeout: time.Duration(v.RebalanceTimeoutMillis) * time.Millisecond,
		assignment:       slices.Clone(v.Assignment),
	}
	if version < 1 {
		m.rebalanceTimeout = m.sessionTimeout
	}
	return m
}

// LoadMarker implements coordinator.Shard.
func (s *Shard) LoadMarker(m coordinator.Marker) { s.endTxn(m.ProducerID, m.Offset, m.Commit) }

// Loaded implements coordinator.Shard: sessions of the members begin anew, since their heartbeats went elsewhere or nowhere.
// Groups that neither a record nor an offset stands for are dropped.
func (s *Shard) Loaded(now time.Time) coordinator.Effects {
	s.now = now
	ids := make([]string, 0, len(s.groups))
	for id := range s.groups {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		g := s.groups[id]
		if g.consumer != nil {
			s.loadedConsumer(g)
			continue
		}
		if g.protocolType == nil && g.generation == 0 && g.offsets.none() {
			delete(s.groups, id)
			continue
		}
		for _, m := range g.order {
			s.heard(g, m)
		}
		if len(g.members) > s.cfg.MaxSize {
			s.prepareRebalance(g)
		}
	}
	s.sweep = now.Add(s.cfg.RetentionCheckInterval)
	return s.effects()
}
