package state

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/metadata"
)

func fleet(n int, racks ...string) []BrokerLoad {
	out := make([]BrokerLoad, n)
	for i := range out {
		out[i].ID = metadata.BrokerID(i + 1)
		if len(racks) > 0 {
			out[i].Rack = racks[i%len(racks)]
		}
	}
	return out
}

// account adds an assignment to the loads, as the controller does between two topics.
func account(brokers []BrokerLoad, assignment map[int32][]metadata.BrokerID) {
	for _, replicas := range assignment {
		for i, r := range replicas {
			for j := range brokers {
				if brokers[j].ID == r {
					brokers[j].Replicas++
					if i == 0 {
						brokers[j].Leaders++
					}
				}
			}
		}
	}
}

func spread(brokers []BrokerLoad, of func(BrokerLoad) int) int {
	lo, hi := of(brokers[0]), of(brokers[0])
	for _, b := range brokers {
		lo, hi = min(lo, of(b)), max(hi, of(b))
	}
	return hi - lo
}

func leaders(b BrokerLoad) int  { return b.Leaders }
func replicas(b BrokerLoad) int { return b.Replicas }

func TestPlace_SixBrokersTenPartitions_FiveReplicasEach(t *testing.T) {
	brokers := fleet(6)
	got, err := Place(brokers, 0, 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	account(brokers, got)
	for _, b := range brokers {
		if b.Replicas != 5 {
			t.Errorf("broker %d holds %d replicas, want 5", b.ID, b.Replicas)
		}
	}
}

func TestPlace_ThreePartitionsOnThreeBrokers_ThreeLeaders(t *testing.T) {
	got, err := Place(fleet(3), 0, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int32][]metadata.BrokerID{0: {1, 2, 3}, 1: {2, 1, 3}, 2: {3, 1, 2}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPlace_NineSmallTopicsOneAfterAnother_ThreeLeadersEach(t *testing.T) {
	brokers := fleet(3)
	for range 9 {
		got, err := Place(brokers, 0, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		account(brokers, got)
	}
	for _, b := range brokers {
		if b.Leaders != 3 || b.Replicas != 9 {
			t.Errorf("broker %d: %d leaders and %d replicas, want 3 and 9", b.ID, b.Leaders, b.Replicas)
		}
	}
}

func TestPlace_MorePartitions_NumberedFromTheFirst(t *testing.T) {
	got, err := Place(fleet(2), 4, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int32][]metadata.BrokerID{4: {1}, 5: {2}}, got); d != "" {
		t.Error(d)
	}
}

func TestPlace_BadRequest_Refused(t *testing.T) {
	mixed := fleet(3)
	mixed[1].Rack = "r1"
	tests := []struct {
		name           string
		brokers        []BrokerLoad
		partitions, rf int
		code           *kerr.Error
		text           string
	}{
		{"more replicas than brokers", fleet(2), 1, 3, kerr.InvalidReplicationFactor, "Replication factor: 3 larger than available brokers: 2."},
		{"no replicas", fleet(2), 1, 0, kerr.InvalidReplicationFactor, "Replication factor must be larger than 0."},
		{"no partitions", fleet(2), 0, 1, kerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"only one broker with a rack", mixed, 1, 1, kerr.InvalidReplicaAssignment, "Not all brokers have rack information for replica rack aware assignment."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Place(tt.brokers, 0, tt.partitions, tt.rf)
			if !errors.Is(err, tt.code) || err.Error() != tt.text {
				t.Errorf("got %v, want %v with text %q", err, tt.code, tt.text)
			}
		})
	}
}

// Without racks both spreads stay within 1 through any sequence of topics.
func TestPlace_AnyOrderOfTopics_EvenSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := fleet(rapid.IntRange(1, 9).Draw(t, "brokers"))
		for i := range rapid.IntRange(1, 30).Draw(t, "topics") {
			n := rapid.IntRange(1, 7).Draw(t, fmt.Sprintf("partitions-%d", i))
			rf := rapid.IntRange(1, len(brokers)).Draw(t, fmt.Sprintf("rf-%d", i))
			got, err := Place(brokers, 0, n, rf)
			if err != nil {
				t.Fatal(err)
			}
			checkShape(t, got, n, rf)
			account(brokers, got)
			if d := spread(brokers, leaders); d > 1 {
				t.Fatalf("leaders differ by %d: %+v", d, brokers)
			}
			if d := spread(brokers, replicas); d > 1 {
				t.Fatalf("replicas differ by %d: %+v", d, brokers)
			}
		}
	})
}

// With racks, a rack holds two replicas of a partition only if every rack holds one.
func TestPlace_Racks_RepeatOnlyAfterAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "racks")]
		brokers := fleet(rapid.IntRange(len(names), 9).Draw(t, "brokers"), names...)
		rf := rapid.IntRange(1, len(brokers)).Draw(t, "rf")
		got, err := Place(brokers, 0, 12, rf)
		if err != nil {
			t.Fatal(err)
		}
		checkShape(t, got, 12, rf)
		for p, replicas := range got {
			count := map[string]int{}
			for _, r := range replicas {
				count[brokers[r-1].Rack]++
			}
			if want := min(rf, len(names)); len(count) != want {
				t.Fatalf("partition %d on %v covers %d racks, want %d", p, replicas, len(count), want)
			}
		}
	})
}

func checkShape(t *rapid.T, got map[int32][]metadata.BrokerID, partitions, rf int) {
	if len(got) != partitions {
		t.Fatalf("%d partitions, want %d", len(got), partitions)
	}
	for p, replicas := range got {
		seen := map[metadata.BrokerID]bool{}
		for _, r := range replicas {
			if seen[r] {
				t.Fatalf("partition %d has broker %d twice: %v", p, r, replicas)
			}
			seen[r] = true
		}
		if len(replicas) != rf {
			t.Fatalf("partition %d has %d replicas, want %d", p, len(replicas), rf)
		}
	}
}
