package group

// State is where a group is in its life. Kafka: ClassicGroupState.
type State int8

// The states. A group begins Empty; Dead is what an unknown group looks like, and what a deleted one is.
const (
	// Empty has no members, perhaps offsets.
	Empty State = iota
	// PreparingRebalance waits for the members to join.
	PreparingRebalance
	// CompletingRebalance waits for the leader's assignment to be stored.
	CompletingRebalance
	// Stable has members with assignments.
	Stable
	// Dead is gone.
	Dead
)

// String is the name that DescribeGroups and ListGroups give.
func (s State) String() string {
	switch s {
	case Empty:
		return "Empty"
	case PreparingRebalance:
		return "PreparingRebalance"
	case CompletingRebalance:
		return "CompletingRebalance"
	case Stable:
		return "Stable"
	default:
		return "Dead"
	}
}
