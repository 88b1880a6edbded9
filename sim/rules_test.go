package sim

import (
	"errors"
	"testing"
)

// TestRun_BrokenRule_IsFound leaves out one rule at a time and plays seeds until an invariant breaks: a simulation that
// does not notice proves nothing.
func TestRun_BrokenRule_IsFound(t *testing.T) {
	for _, tc := range []struct {
		name   string
		broken rules
		// within is how many seeds may pass without a violation.
		within uint64
	}{
		{"maximal isr", rules{maximalISR: true}, 40},
		{"epoch start", rules{epochStart: true}, 40},
		{"controller epoch", rules{controllerEpoch: true}, 40},
		{"truncation by epoch", rules{epochTruncation: true}, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for seed := range tc.within {
				_, err := Run(t.Context(), Options{Seed: seed + 1, Steps: *stepsFlag, broken: tc.broken})
				var v *Violation
				if errors.As(err, &v) {
					t.Logf("found with seed %d at step %d: %s", v.Seed, v.Step, v.What)
					return
				}
			}
			t.Errorf("not noticed in %d seeds", tc.within)
		})
	}
}
