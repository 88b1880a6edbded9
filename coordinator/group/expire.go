package group

import (
	"slices"

	"jackdaw/metadata"
)

// expireOffsets writes tombstones for what has outlived its retention, and for groups that nothing is left of.
// Kafka: GroupMetadataManager.cleanupExpiredOffsets; KIP-211.
func (s *Shard) expireOffsets() {
	ids := make([]string, 0, len(s.groups))
	for id := range s.groups {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		g := s.groups[id]
		expired := s.expired(g)
		whole := g.empty() && len(g.pending) == 0 && len(expired) == len(g.offsets.committed) &&
			len(g.offsets.writing) == 0 && len(g.offsets.open) == 0
		if whole || len(expired) > 0 {
			s.removeOffsets(g, expired, whole, func(*Shard, error) {})
		}
	}
}

// expired returns the partitions whose offsets are to go. Which clock counts depends on who uses the group:
//   - a group of members that is Empty keeps all until the retention has passed since it became so;
//   - a Stable group of consumers keeps what is subscribed; the rest expires after its last commit;
//   - a group of KIP-848, too, with or without members;
//   - a group that only stores offsets keeps each until the retention has passed since its commit;
//   - every other group has members whose subscriptions are not known, or are about to change: nothing expires.
//
// An offset with an expiry of its own goes by that, where anything may go. What is being written stays.
func (s *Shard) expired(g *group) []metadata.TopicPartition {
	var base func(o offset) int64
	var keep map[string]bool
	switch {
	case g.consumer != nil:
		base, keep = func(o offset) int64 { return o.committedMs }, g.consumer.subscribed()
	case g.protocolType != nil && g.state == Empty:
		base = func(o offset) int64 {
			if g.since == noTimestamp {
				return o.committedMs
			}
			return g.since
		}
	case g.isConsumerGroup() && g.state == Stable && g.subscribed != nil:
		base, keep = func(o offset) int64 { return o.committedMs }, g.subscribed
	case g.protocolType == nil:
		base = func(o offset) int64 { return o.committedMs }
	default:
		return nil
	}
	now, retention := s.now.UnixMilli(), s.cfg.OffsetsRetention.Milliseconds()
	var out []metadata.TopicPartition
	for tp, o := range g.offsets.committed {
		due := now-base(o) >= retention
		if o.expireMs != noTimestamp {
			due = now >= o.expireMs
		}
		if due && !keep[tp.Topic] && !g.offsets.unstable(tp) {
			out = append(out, tp)
		}
	}
	slices.SortFunc(out, metadata.TopicPartition.Compare)
	return out
}
