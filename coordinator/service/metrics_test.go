package service

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"jackdaw/coordinator/group"
)

func TestMetrics_Groups_Counted(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.threeGroups()
		time.Sleep(countInterval)
		synctest.Wait()
		for _, c := range []struct {
			name string
			got  float64
			want float64
		}{
			{"groups", testutil.ToFloat64(w.g.m.groups), 3},
			{"offsets", testutil.ToFloat64(w.g.m.offsets), 6},
			{"stable", testutil.ToFloat64(w.g.m.byState[group.Stable]), 2},
			{"empty", testutil.ToFloat64(w.g.m.byState[group.Empty]), 1},
		} {
			if c.got != c.want {
				t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}
