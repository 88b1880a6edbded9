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

// Fetch looks up offsets: of the partitions given, or of all that have one if all. With stable, an offset that may still
// change is an error (KIP-447). The reply is []FetchedOffset, in the order asked for or sorted.
// Kafka: GroupMetadataManager.getOffsets.
func (s *Shard) Fetch(
	now time.Time, t coordinator.Ticket, id string, tps []metadata.TopicPartition, all, stable bool,
) coordinator.Effects {
	s.now = now
	g := s.groups[id]
	if all {
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
		if stable && g.offsets.unstable(tp) {
			out[i].Err = kerr.UnstableOffsetCommit
			continue
		}
		if v, ok := g.offsets.committed[tp]; ok {
			out[i].Offset, out[i].LeaderEpoch, out[i].Metadata = v.offset, v.leaderEpoch, v.metadata
		}
	}
	s.reply(t, out)
	return s.effects()
}
