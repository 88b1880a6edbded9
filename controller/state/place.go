package state

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// BrokerLoad is a live broker and what it carries already, over all topics of the cluster.
type BrokerLoad struct {
	ID metadata.BrokerID
	// Rack is empty when the broker has none.
	Rack string
	// Leaders and Replicas count the partitions it is the preferred leader of and the replicas it holds. Preferred, not
	// actual: a broker that just came back leads nothing yet and must not draw all new leaders.
	Leaders, Replicas int
}

// Place assigns rf replicas to each of the partitions [firstPartition, firstPartition+partitions), least used brokers first.
// The first replica of each is the preferred leader. brokers is not changed; its loads are those before the call.
//
// The rules, in this order:
//   - No broker holds two replicas of a partition.
//   - If the brokers have racks, a rack gets a second replica of a partition only when each rack has one.
//   - The leader goes to the broker that leads fewest. Ties go to a broker that would get a replica anyway, because it is
//     among the rf with the fewest replicas; of those to the one with the most replicas; then to the lowest id.
//   - Followers go to the brokers with the fewest replicas, ties to those that lead most, then to the lowest id.
//
// The ties are what keeps both spreads (max - min, of leaders and of replicas) at most 1 without racks, whatever topics with
// whatever replication factors were created before. Taking the fewest replicas for the leader's tie breaks that: two brokers
// and topics with 2, 1, 2 and 1 replicas end with 2 and 4 replicas. The proof in short: let low and high be the two values that
// a count may have. The rules keep it so that either every broker low in leaders is low in replicas, or the other way round;
// then a broker exists that is low in both and can take the next leader.
//
// Errors are of kind INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, and INVALID_REPLICA_ASSIGNMENT when only some brokers have
// a rack.
//
// Differs from Kafka: AdminUtils.assignReplicasToBrokers starts at a random broker and looks at no load.
func Place(brokers []BrokerLoad, firstPartition int32, partitions, rf int) (map[int32][]metadata.BrokerID, error) {
	if partitions <= 0 {
		return nil, Errorf(kerr.InvalidPartitions, "Number of partitions must be larger than 0.")
	}
	if rf <= 0 {
		return nil, Errorf(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0.")
	}
	if rf > len(brokers) {
		return nil, Errorf(kerr.InvalidReplicationFactor,
			"Replication factor: %d larger than available brokers: %d.", rf, len(brokers))
	}
	p, err := newPlacer(brokers, rf)
	if err != nil {
		return nil, err
	}
	out := make(map[int32][]metadata.BrokerID, partitions)
	for i := range partitions {
		out[firstPartition+int32(i)] = p.next()
	}
	return out, nil
}

// placer holds the loads while partitions are placed one after another.
type placer struct {
	brokers []placed
	rf      int
	racks   int
	// rackUsed is set for racks that hold a replica of the partition at hand.
	rackUsed  []bool
	racksLeft int
	counts    []int
}

// placed is a broker in a placer.
type placed struct {
	BrokerLoad
	rack int
	// used is set while the broker holds a replica of the partition at hand.
	used bool
}

func newPlacer(brokers []BrokerLoad, rf int) (*placer, error) {
	p := &placer{rf: rf, counts: make([]int, len(brokers))}
	index := map[string]int{}
	bare := 0
	for _, b := range brokers {
		rack, ok := index[b.Rack]
		if !ok {
			rack = len(index)
			index[b.Rack] = rack
		}
		if b.Rack == "" {
			bare++
		}
		p.brokers = append(p.brokers, placed{BrokerLoad: b, rack: rack})
	}
	if bare != 0 && bare != len(brokers) {
		return nil, Errorf(kerr.InvalidReplicaAssignment, "Not all brokers have rack information for replica rack aware assignment.")
	}
	if bare == 0 {
		p.racks = len(index)
	}
	p.rackUsed = make([]bool, len(index))
	slices.SortFunc(p.brokers, func(a, b placed) int { return int(a.ID) - int(b.ID) })
	return p, nil
}

// next places one partition.
func (p *placer) next() []metadata.BrokerID {
	for i := range p.brokers {
		p.brokers[i].used = false
	}
	clear(p.rackUsed)
	p.racksLeft = p.racks
	leader := p.leader()
	leader.Leaders++
	replicas := make([]metadata.BrokerID, 0, p.rf)
	replicas = append(replicas, p.take(leader))
	for len(replicas) < p.rf {
		replicas = append(replicas, p.take(p.follower()))
	}
	return replicas
}

func (p *placer) take(b *placed) metadata.BrokerID {
	b.used = true
	b.Replicas++
	if p.racks > 0 && !p.rackUsed[b.rack] {
		p.rackUsed[b.rack] = true
		p.racksLeft--
	}
	return b.ID
}

func (p *placer) leader() *placed {
	bound := p.replicaBound()
	best := &p.brokers[0]
	for i := range p.brokers[1:] {
		if b := &p.brokers[i+1]; betterLeader(b, best, bound) {
			best = b
		}
	}
	return best
}

// replicaBound returns the most replicas that one of the rf least loaded brokers holds.
func (p *placer) replicaBound() int {
	for i := range p.brokers {
		p.counts[i] = p.brokers[i].Replicas
	}
	slices.Sort(p.counts)
	return p.counts[p.rf-1]
}

// betterLeader reports whether a is to lead rather than b, which has the lower id.
func betterLeader(a, b *placed, bound int) bool {
	if a.Leaders != b.Leaders {
		return a.Leaders < b.Leaders
	}
	aIn, bIn := a.Replicas <= bound, b.Replicas <= bound
	switch {
	case aIn != bIn:
		return aIn
	case aIn:
		return a.Replicas > b.Replicas
	default:
		return a.Replicas < b.Replicas
	}
}

// follower returns the least used broker that may hold the next replica. There is one, since rf <= brokers.
func (p *placer) follower() *placed {
	var best *placed
	for i := range p.brokers {
		b := &p.brokers[i]
		if b.used || p.racksLeft > 0 && p.rackUsed[b.rack] {
			continue
		}
		if best == nil || b.Replicas < best.Replicas || b.Replicas == best.Replicas && b.Leaders > best.Leaders {
			best = b
		}
	}
	return best
}
