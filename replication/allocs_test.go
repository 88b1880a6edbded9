//go:build !race

// The race detector makes sync.Pool forget on purpose, so that allocations say nothing.

package replication

import (
	"testing"
	"time"
)

// TestAppend_HotPath_AllocatesLittle gates Produce with acks=1 and acks=all to one replica.
func TestAppend_HotPath_AllocatesLittle(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		m := c.nodes[1].m
		records := batch("a value of some length")
		entries := []AppendEntry{{TP: t0, Records: records}}
		for _, tc := range []struct {
			acks int16
			max  float64
		}{{1, 2}, {-1, 8}} {
			failed := error(nil)
			done := func(r []AppendResult) { failed = r[0].Err }
			got := testing.AllocsPerRun(200, func() {
				clear(records[:8]) // the base offset, which the log has patched
				m.Append(AppendRequest{Acks: tc.acks, Timeout: time.Second, Entries: entries}, done)
			})
			if failed != nil {
				t.Fatal(failed)
			}
			if got > tc.max {
				t.Errorf("acks=%d: %v allocations, want at most %v", tc.acks, got, tc.max)
			}
		}
	})
}
