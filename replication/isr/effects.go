package isr

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

// Effects is what the shell has to do after a mutator. The zero value is nothing. NewEpoch and HW are carried out before
// the lock is released, the rest after.
type Effects struct {
	// NewEpoch asks for an entry (leader epoch, EpochStart) in the log's epoch cache, before anything is appended: else
	// two quick elections without writes would hide where replicas diverged.
	NewEpoch   bool
	EpochStart int64
	// HW is the high watermark and HWMoved whether it rose: then waiting produce, fetch and delete-records requests are
	// looked at again.
	HW      int64
	HWMoved bool
	// Propose is an ISR to be written, nil for none.
	Propose *Proposal
	// Joined and Left count the members that a committed change brought and took.
	Joined, Left int
}

// Proposal is a new ISR. Kafka: AlterPartitionItem.
type Proposal struct {
	// Seq identifies the proposal to ProposalDone.
	Seq            uint64
	LeaderEpoch    metadata.LeaderEpoch
	PartitionEpoch int32
	ISR            []metadata.BrokerID
	// BrokerEpochs has an entry for each member of ISR, -1 where it is not known.
	BrokerEpochs []int64
	// Expand is false for a shrink.
	Expand bool
}

// Outcome is the fate of a proposal.
type Outcome uint8

const (
	// Accepted means that the state which comes with it is committed.
	Accepted Outcome = iota
	// Refused means that the controller has surely not made the change: the committed ISR holds, and a new attempt may
	// follow.
	Refused
	// Stale means that the controller knows something newer. The change stays pending until it is told.
	Stale
	// Unclear means that nothing is known: the change may be made or not, and the same proposal is repeated.
	Unclear
)

// OutcomeOf classifies the error of a proposal; nil is Accepted. Kafka: Partition.handleAlterPartitionError.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Accepted
	}
	var ke *kerr.Error
	if !errors.As(err, &ke) {
		return Unclear
	}
	switch ke {
	case kerr.OperationNotAttempted, kerr.IneligibleReplica:
		return Refused
	case kerr.FencedLeaderEpoch, kerr.InvalidUpdateVersion, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID,
		kerr.InvalidRequest, kerr.NewLeaderElected:
		return Stale
	default:
		return Unclear
	}
}
