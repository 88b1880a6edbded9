package sim

import (
	"flag"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the first seed to play; 0 for those of the test")
	seedsFlag = flag.Int("seeds", 1, "how many seeds to play from -seed on")
	traceFlag = flag.Bool("trace", false, "print all that happens")
	stepsFlag = flag.Int("steps", 5000, "events before the faults end")
)

// TestRun_AskedSeeds_KeepInvariants is for `make sim`.
func TestRun_AskedSeeds_KeepInvariants(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("no -seed")
	}
	var sum Result
	start := time.Now()
	failed := 0
	for i := range uint64(*seedsFlag) {
		o := Options{Seed: *seedFlag + i, Steps: *stepsFlag}
		if *traceFlag {
			o.Trace = t.Output()
		}
		r, err := Run(t.Context(), o)
		if err != nil {
			failed++
			t.Error(err)
			if failed == 10 {
				break
			}
		}
		sum = sum.Add(r)
	}
	t.Logf("%d seeds in %v: %v", *seedsFlag, time.Since(start).Round(time.Millisecond), sum)
}
