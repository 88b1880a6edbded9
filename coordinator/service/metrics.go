package service

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	km "jackdaw/internal/metrics"
)

// countInterval is how often groups and offsets are counted.
const countInterval = 15 * time.Second

// groupMetrics are the gauges of Kafka's GroupMetadataManager.
type groupMetrics struct {
	groups, offsets prometheus.Gauge
	byState         [group.Dead + 1]prometheus.Gauge
}

func newGroupMetrics(reg prometheus.Registerer) *groupMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return km.NewGauge(reg, km.MBean{Domain: "kafka.coordinator.group", Type: "GroupMetadataManager", Name: name}, help).WithLabelValues()
	}
	m := &groupMetrics{
		groups:  gauge("NumGroups", "Groups that are coordinated here."),
		offsets: gauge("NumOffsets", "Committed offsets that are kept here."),
	}
	for st := group.Empty; st <= group.Dead; st++ {
		m.byState[st] = gauge("NumGroups"+st.String(), "Groups in state "+strings.ToLower(st.String())+".")
	}
	return m
}

// count keeps the gauges up to date until ctx ends.
func (g *Groups) count(ctx context.Context) error {
	tick := time.NewTicker(countInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			g.countOnce(ctx)
		}
	}
}

func (g *Groups) countOnce(ctx context.Context) {
	var sum group.Stats
	partitions, _ := g.rt.Active()
	for _, p := range partitions {
		body, err := g.rt.Call(ctx, p, func(s *group.Shard, _ time.Time, t coordinator.Ticket) coordinator.Effects {
			return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Body: s.Stats()}}}
		})
		if err == nil {
			sum.Add(body.(group.Stats))
		}
	}
	g.m.groups.Set(float64(sum.Groups))
	g.m.offsets.Set(float64(sum.Offsets))
	for st, n := range sum.ByState {
		g.m.byState[st].Set(float64(n))
	}
}
