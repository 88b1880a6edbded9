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
		// from is the first seed, within how many may pass without a violation.
		from, within uint64
	}{
		{"maximal isr", rules{maximalISR: true}, 1, 40},
		{"epoch start", rules{epochStart: true}, 1, 40},
		{"controller epoch", rules{controllerEpoch: true}, 1, 40},
		{"order of control requests", rules{controlOrder: true}, 450, 40}, // it takes a repeated request that is overtaken by two others,
		{"truncation by epoch", rules{epochTruncation: true}, 1, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for seed := tc.from; seed < tc.from+tc.within; seed++ {
				_, err := Run(t.Context(), Options{Seed: seed, Steps: *stepsFlag, broken: tc.broken})
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
