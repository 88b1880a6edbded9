package txn

// State is where a transactional id is in its life; the values are those of the log. Kafka: TransactionState.
type State int8

// The states.
const (
	// Empty has a producer and no transaction yet.
	Empty State = 0
	// Ongoing has a transaction with partitions.
	Ongoing State = 1
	// PrepareCommit and PrepareAbort are decided; markers are being written.
	PrepareCommit State = 2
	PrepareAbort  State = 3
	// CompleteCommit and CompleteAbort have all their markers.
	CompleteCommit State = 4
	CompleteAbort  State = 5
	// Dead is expired. It is not stored: a tombstone is.
	Dead State = 6
	// PrepareEpochFence is a name that filters know; here fencing and PrepareAbort are one step.
	PrepareEpochFence State = 7
)

var stateNames = [...]string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

// String is the name that DescribeTransactions gives.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "Unknown"
	}
	return stateNames[s]
}

// ParseState reads what String wrote.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return 0, false
}

// preparing reports whether markers are being written.
func (s State) preparing() bool { return s == PrepareCommit || s == PrepareAbort }

// idle reports whether no transaction is open.
func (s State) idle() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }
