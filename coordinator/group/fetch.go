package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// FetchedOffset is a committed offset as OffsetFetch gives it: -1, -1 and "" when there is none, which is no error.
type FetchedOffset struct {
	TP          metadata.TopicPartition
	Offset      int64
	LeaderEpoch int32
	Metadata    string
	// Err is kerr.UnstableOffsetCommit or nil.
	Err error
}

// FetchRequest is an OffsetFetch for one group.
type FetchRequest struct {
	Group string
	// MemberID and MemberEpoch are checked if the group is a consumer group; nil and -1 when the client names no member.
	MemberID    *string
	MemberEpoch int32
	// TPs are the partitions to look up; all that have an offset if All.
	TPs []metadata.TopicPartition
	All bool
	// Stable makes an error of an offset that may still change (KIP-447).
	Stable bool
}

// FetchResult is the answer to a FetchRequest, in the order asked for or sorted.
type FetchResult struct {
	Err     error
	Offsets []FetchedOffset
}

// Fetch looks up offsets. The reply is a FetchResult. Kafka: GroupMetadataManager.getOffsets.
func (s *Shard) Fetch(now time.Time, t coordinator.Ticket, r FetchRequest) coordinator.Effects {
	s.now = now
	g := s.groups[r.Group]
	if g == nil || g.consumer == nil {
		s.reply(t, FetchResult{Offsets: s.fetch(g, &r)})
		return s.effects()
	}
	res := FetchResult{Err: g.consumer.checkFetch(r.MemberID, r.MemberEpoch)}
	if res.Err == nil {
		res.Offsets = s.fetch(g, &r)
	}
	s.reply(t, res)
	return s.effects()
}

func (s *Shard) fetch(g *group, r *FetchRequest) []FetchedOffset {
	tps := r.TPs
	if r.All {
		tps = nil
		if g != nil {
			tps = g.offsets.partitions()
		}
	}
	out := make([]FetchedOffset, len(tps))
	for i, tp := range tps {
		out[i] = FetchedOffset{TP: tp, Offset: -1, LeaderEpoch: -1}
		if g == nil {
			continue
		}
		if r.Stable && g.offsets.unstable(tp) {
			out[i].Err = kerr.UnstableOffsetCommit
			continue
		}
		if v, ok := g.offsets.committed[tp]; ok {
			out[i].Offset, out[i].LeaderEpoch, out[i].Metadata = v.offset, v.leaderEpoch, v.metadata
		}
	}
	return out
}
