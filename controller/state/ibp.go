package state

import (
	"fmt"
	"strconv"
	"strings"
)

// IBP is an inter.broker.protocol.version: which requests, fields and rules all brokers of the cluster understand.
// Kafka: MetadataVersion.
type IBP struct {
	// Major, Minor and Patch are those of the release: 3.9 has no patch level, 0.10.2 has.
	Major, Minor, Patch int
	// IV is the internal version within a release. A version given without one means the last of its release.
	IV int
}

// lastIV is larger than any internal version.
const lastIV = 1 << 20

// ParseIBP reads a version as Kafka writes it: 3.9-IV0, 2.8, 0.10.2-IV0, 3.9.2.
func ParseIBP(s string) (IBP, error) {
	release, iv, found := strings.Cut(s, "-IV")
	v := IBP{IV: lastIV}
	if found {
		n, err := strconv.Atoi(iv)
		if err != nil {
			return IBP{}, fmt.Errorf("version %q: %w", s, err)
		}
		v.IV = n
	}
	parts := strings.Split(release, ".")
	if len(parts) < 2 {
		return IBP{}, fmt.Errorf("version %q: want major.minor", s)
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		// Since 1.0 the third number is a bug-fix release, which has no protocol of its own.
		if i == len(parts) || i == 2 && v.Major > 0 {
			break
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return IBP{}, fmt.Errorf("version %q: %w", s, err)
		}
		*to = n
	}
	return v, nil
}

// AtLeast reports whether v is the given version or a later one.
func (v IBP) AtLeast(major, minor, iv int) bool {
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.IV >= iv
}

// TopicIDs reports whether topics have ids (KIP-516).
func (v IBP) TopicIDs() bool { return v.AtLeast(2, 8, 0) }

// AlterPartition reports whether leaders ask the controller for another ISR (KIP-497). Below, they write it to ZooKeeper.
func (v IBP) AlterPartition() bool { return v.AtLeast(2, 7, 2) }

// AllocateProducerIDs reports whether brokers ask the controller for producer ids (KIP-730). Below, they take them from ZooKeeper.
func (v IBP) AllocateProducerIDs() bool { return v.AtLeast(3, 0, 0) }

// Recovery reports whether an unclean election is marked in the state (KIP-704).
func (v IBP) Recovery() bool { return v.AtLeast(3, 2, 0) }

// bound is the version of a request from a certain IBP on.
type bound struct {
	major, minor, iv int
	version          int16
}

// versionFor returns the version of the first bound that v reaches. The bounds fall; below all of them it is 0.
func (v IBP) versionFor(bounds []bound) int16 {
	for _, b := range bounds {
		if v.AtLeast(b.major, b.minor, b.iv) {
			return b.version
		}
	}
	return 0
}

// leaderAndISRVersion returns the version of LeaderAndIsr. Kafka: ControllerBrokerRequestBatch.
func (v IBP) leaderAndISRVersion() int16 {
	return v.versionFor([]bound{
		{3, 4, 0, 7}, {3, 2, 0, 6}, {2, 8, 1, 5}, {2, 4, 1, 4}, {2, 4, 0, 3}, {2, 2, 0, 2}, {1, 0, 0, 1},
	})
}

// updateMetadataVersion returns the version of UpdateMetadata.
func (v IBP) updateMetadataVersion() int16 {
	if v.Major == 0 {
		return v.oldUpdateMetadataVersion()
	}
	return v.versionFor([]bound{{3, 4, 0, 8}, {2, 8, 1, 7}, {2, 4, 1, 6}, {2, 2, 0, 5}, {1, 0, 0, 4}})
}

// oldUpdateMetadataVersion is for releases before 1.0, whose third number counts.
func (v IBP) oldUpdateMetadataVersion() int16 {
	switch {
	case v.Minor >= 11, v.Minor == 10 && v.Patch >= 2:
		return 3
	case v.Minor == 10 && (v.Patch == 1 || v.IV >= 1):
		return 2
	case v.Minor >= 9:
		return 1
	default:
		return 0
	}
}

// stopReplicaVersion returns the version of StopReplica.
func (v IBP) stopReplicaVersion() int16 {
	return v.versionFor([]bound{{3, 4, 0, 4}, {2, 6, 0, 3}, {2, 4, 1, 2}, {2, 2, 0, 1}})
}

// FetchVersion returns the version of Fetch that followers send, at least 4: what came before has another message format.
// Kafka: MetadataVersion.fetchRequestVersion.
func (v IBP) FetchVersion() int16 {
	return max(4, v.versionFor([]bound{
		{3, 9, 0, 17},
		{3, 7, 4, 16},
		{3, 5, 1, 15},
		{3, 5, 0, 14},
		{3, 1, 0, 13},
		{2, 7, 1, 12},
		{2, 3, 1, 11},
		{2, 1, 2, 10},
		{2, 0, 1, 8},
		{1, 1, 0, 7},
		{0, 11, 1, 5},
	}))
}

// ListOffsetsVersion returns the version of ListOffsets that followers send. Kafka: MetadataVersion.listOffsetRequestVersion.
func (v IBP) ListOffsetsVersion() int16 {
	return max(1, v.versionFor([]bound{
		{3, 9, 0, 9}, {3, 5, 0, 8}, {3, 0, 1, 7}, {2, 8, 0, 6}, {2, 2, 1, 5}, {2, 1, 1, 4}, {2, 0, 1, 3}, {0, 11, 0, 2},
	}))
}

// EpochEndVersion returns the version of OffsetForLeaderEpoch that followers send where a Fetch does not tell where
// histories part. Kafka: MetadataVersion.offsetForLeaderEpochRequestVersion.
func (v IBP) EpochEndVersion() int16 {
	return v.versionFor([]bound{{2, 8, 0, 4}, {2, 3, 1, 3}, {2, 1, 1, 2}, {2, 0, 0, 1}})
}

// TxnMarkersVersion returns the version of WriteTxnMarkers that coordinators send. Kafka: TransactionMarkerChannelManager.
func (v IBP) TxnMarkersVersion() int16 { return v.versionFor([]bound{{2, 8, 0, 1}}) }
