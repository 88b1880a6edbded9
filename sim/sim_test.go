package sim

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the first seed to play, for `make sim`")
	seedsFlag = flag.Int("seeds", 1, "how many seeds to play from -seed on")
	stepsFlag = flag.Int("steps", 5000, "events before the faults end")
	traceFlag = flag.Bool("trace", false, "print all that happens")
)

// TestRun_AskedSeeds_KeepInvariants plays what `make sim` asks for.
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
		sum = sum.Add(r)
		if err != nil {
			t.Error(err)
			if failed++; failed == 10 {
				break
			}
		}
	}
	t.Logf("%d seeds in %v: %v", *seedsFlag, time.Since(start).Round(time.Millisecond), sum)
}

// TestRun_KeptSeeds_KeepInvariants plays testdata/seeds.txt: seeds that once found something, and a few more.
func TestRun_KeptSeeds_KeepInvariants(t *testing.T) {
	f, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var seed uint64
		var steps int
		if _, err := fmt.Sscan(line, &seed, &steps); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, err := Run(t.Context(), Options{Seed: seed, Steps: steps}); err != nil {
			t.Error(err)
		}
	}
}

func TestRun_SameSeed_SameHistory(t *testing.T) {
	for seed := range uint64(6) {
		o := Options{Seed: 100 + seed, Steps: 2000}
		first, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Run(t.Context(), o); err != nil || again != first {
			t.Errorf("seed %d: %+v, then %+v, %v", o.Seed, first, again, err)
		}
	}
}

func TestRun_OtherSeed_OtherHistory(t *testing.T) {
	a, err := Run(t.Context(), Options{Seed: 7, Steps: 500})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Run(t.Context(), Options{Seed: 8, Steps: 500}); err != nil || a.Hash == b.Hash {
		t.Errorf("seeds 7 and 8 have the hash %x, %v", a.Hash, err)
	}
}
