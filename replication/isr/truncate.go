package isr

import "jackdaw/metadata"

// EpochEnd is a leader epoch and the first offset that was not written under it or an earlier one.
type EpochEnd struct {
	Epoch     metadata.LeaderEpoch
	EndOffset int64
}

// Truncation tells a follower where to cut its log.
type Truncation struct {
	// Offset is the new log end.
	Offset int64
	// Done is false when the leader has to be asked again with the epoch that is the follower's last after the cut.
	Done bool
}

// Truncate computes where a follower cuts after its leader named an epoch and its end. local is the follower's own
// answer to the same question (the largest epoch it has <= leader.Epoch, and where that ends); known is false when it has
// none. leo is the follower's log end and hw its high watermark.
// Kafka: AbstractFetcherThread.getOffsetTruncationState; KIP-101, KIP-279.
func Truncate(leader, local EpochEnd, known bool, leo, hw int64) Truncation {
	switch {
	case leader.EndOffset < 0:
		// The leader has no epochs: only what is committed is surely common.
		return Truncation{Offset: min(hw, leo), Done: true}
	case leader.Epoch == metadata.NoEpoch || !known:
		return Truncation{Offset: min(leader.EndOffset, leo), Done: true}
	case local.Epoch != leader.Epoch:
		// We never saw the leader's epoch: all that we have from later ones goes, and the question is put again.
		return Truncation{Offset: min(local.EndOffset, leo), Done: false}
	default:
		return Truncation{Offset: min(local.EndOffset, leader.EndOffset, leo), Done: true}
	}
}

// Diverged reports whether a follower that fetches at offset, with its last record from epoch last, has other records
// than the leader. end is the leader's answer to EndOffsetForEpoch(last).
// Kafka: Partition.readRecords; KIP-595.
func Diverged(end EpochEnd, last metadata.LeaderEpoch, offset int64) bool {
	return end.Epoch < last || end.EndOffset < offset
}

// Reset is how a follower gets back into its leader's range after OFFSET_OUT_OF_RANGE.
type Reset struct {
	// Offset is where to fetch next.
	Offset int64
	// Truncate cuts the log at Offset; Restart drops the whole log and starts it at Offset.
	Truncate, Restart bool
}

// OutOfRange decides after the leader told its log end and, unless that is below ours, its log start. A leader that ends
// before us was elected uncleanly. One that starts after us has deleted what we lack, so all that we have is useless.
// Anything between means that the leader moved while we asked: nothing is cut.
// Kafka: AbstractFetcherThread.fetchOffsetAndTruncate.
func OutOfRange(leo, leaderEnd, leaderStart int64) Reset {
	switch {
	case leaderEnd < leo:
		return Reset{Offset: leaderEnd, Truncate: true}
	case leaderStart > leo:
		return Reset{Offset: leaderStart, Restart: true}
	default:
		return Reset{Offset: leo}
	}
}
