package service

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/metadata"
)

// runService starts a service over a log, outside of a bubble.
func runService(b *testing.B, log *memLog, partitions int32) *Groups {
	b.Helper()
	g := NewGroups(GroupsConfig{Config: group.DefaultConfig(), Log: log, Partitions: partitions})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- g.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-ended
	})
	return g
}

// electAndWait elects this broker and waits for the load.
func electAndWait(b *testing.B, g *Groups, epoch metadata.LeaderEpoch) {
	b.Helper()
	g.Elected(0, epoch)
	for {
		_, err := g.rt.CallLoaded(b.Context(), 0, func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.List(now, t, nil, nil)
		})
		if err == nil {
			return
		}
		if !errors.Is(err, kerr.CoordinatorNotAvailable) { // Run has not begun
			b.Fatal(err)
		}
		runtime.Gosched()
	}
}

// BenchmarkLoad_MillionOffsets loads 1,000 groups with 1,000 offsets each.
func BenchmarkLoad_MillionOffsets(b *testing.B) {
	log := newMemLog()
	g := runService(b, log, 1)
	electAndWait(b, g, 1)
	for i := range 1000 {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version, r.Group, r.Generation = 8, fmt.Sprintf("group-%d", i), -1
		r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "some.topic.name"}}
		for p := range int32(1000) {
			o := kmsg.NewOffsetCommitRequestTopicPartition()
			o.Partition, o.Offset = p, int64(p)
			r.Topics[0].Partitions = append(r.Topics[0].Partitions, o)
		}
		if c := g.OffsetCommit(b.Context(), r, nil).Topics[0].Partitions[0].ErrorCode; c != 0 {
			b.Fatal(c)
		}
	}
	epoch := metadata.LeaderEpoch(1)
	for b.Loop() {
		epoch++
		electAndWait(b, g, epoch)
	}
}

func BenchmarkOffsetCommit_OnePartition(b *testing.B) {
	log := newMemLog()
	g := runService(b, log, 1)
	electAndWait(b, g, 1)
	r := commitReq(8, tp("t", 0))
	b.ReportAllocs()
	for b.Loop() {
		if g.OffsetCommit(b.Context(), r, nil).Topics[0].Partitions[0].ErrorCode != 0 {
			b.Fatal("commit")
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	log := newMemLog()
	g := runService(b, log, 1)
	electAndWait(b, g, 1)
	j := joinReq(3, "")
	j.SessionTimeoutMillis = int32((30 * time.Minute).Milliseconds())
	cfg := g.Join(b.Context(), j, "c", "/127.0.0.1")
	h := kmsg.NewPtrHeartbeatRequest()
	h.Version, h.Group, h.MemberID, h.Generation = 4, "g", cfg.MemberID, cfg.Generation
	b.ReportAllocs()
	for b.Loop() {
		if g.Heartbeat(b.Context(), h).ErrorCode != 0 {
			b.Fatal("heartbeat")
		}
	}
}
