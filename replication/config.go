package replication

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/log"
	"jackdaw/metadata"
)

// Leader is a connection to the leader of partitions that this broker follows; *peer.Conn is one. A response is valid
// until the next Request. Request and Close are called from one goroutine.
type Leader interface {
	Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	Close() error
}

// Proposal is an ISR that a leader asks for. Kafka: AlterPartitionItem.
type Proposal struct {
	TP      metadata.TopicPartition
	TopicID metadata.TopicID
	// State is what the leader wants to be written: its own id and epoch, the new ISR, and the partition epoch on which
	// the write is conditional.
	State metadata.LeaderAndISR
	// BrokerEpochs has one entry for each member of State.ISR, -1 where the epoch is not known (KIP-903).
	BrokerEpochs []int64
}

// ISRStore makes an ISR durable: by AlterPartition at the controller, or by a conditional write to ZooKeeper.
type ISRStore interface {
	// Propose hands over a proposal and returns at once. done is called exactly once, later, from another goroutine and
	// never from within Propose: with the state as it was written, or with the error of the partition. An error that is
	// not a *kerr.Error means that nothing is known about the outcome.
	Propose(p Proposal, done func(metadata.LeaderAndISR, error))
}

// LeadershipChange tells the coordinators what happened to a partition.
type LeadershipChange struct {
	TP metadata.TopicPartition
	// Leader is true when this broker has become or still is the leader, at Epoch.
	Leader bool
	Epoch  metadata.LeaderEpoch
	// Removed is true when the replica was deleted from this broker.
	Removed bool
}

// Config is what a ReplicaManager needs. Zero values get Kafka's defaults where there is one.
type Config struct {
	BrokerID metadata.BrokerID
	// Rack is broker.rack, empty when there is none.
	Rack string
	Logs *log.Manager
	ISR  ISRStore
	// Dial connects to the inter-broker listener of a broker. clientID is broker-N-fetcher-M.
	Dial func(ctx context.Context, leader metadata.BrokerID, clientID string) (Leader, error)
	// Image returns the cluster as last told by the controller; never nil.
	Image func() *metadata.Image
	// BrokerEpoch returns the epoch of this broker's registration, sent to leaders with each Fetch (KIP-903).
	BrokerEpoch func() int64
	// LagTimeMax is replica.lag.time.max.ms.
	LagTimeMax time.Duration
	// FetchWaitMax is replica.fetch.wait.max.ms, FetchBackoff replica.fetch.backoff.ms.
	FetchWaitMax, FetchBackoff time.Duration
	// FetchMinBytes, FetchMaxBytes and FetchResponseMaxBytes are replica.fetch.min.bytes, replica.fetch.max.bytes (of a
	// partition) and replica.fetch.response.max.bytes.
	FetchMinBytes, FetchMaxBytes, FetchResponseMaxBytes int32
	// FetchVersion is the version of Fetch that is sent to leaders: 17 from inter.broker.protocol.version 3.9.
	FetchVersion int16
	// ListOffsetsVersion is the version of ListOffsets that is sent to leaders.
	ListOffsetsVersion int16
	// EpochEndVersion is the version of OffsetForLeaderEpoch that is sent to leaders with a FetchVersion below 12.
	EpochEndVersion int16
	// NumFetchers is num.replica.fetchers: connections to each leader broker.
	NumFetchers int
	// HWCheckpointInterval is replica.high.watermark.checkpoint.interval.ms.
	HWCheckpointInterval time.Duration
	// SessionSlots is max.incremental.fetch.session.cache.slots.
	SessionSlots int
	// Selector chooses the replica that a consumer reads from (KIP-392). Nil: always the leader. replica.selector.class
	Selector ReplicaSelector
	// LeaderThrottle limits what followers that are not in sync are sent, FollowerThrottle what this broker fetches (KIP-73). Nil:
	// no limit.
	LeaderThrottle, FollowerThrottle Throttle
	// MoveThrottle limits what is copied between log directories, of all partitions. Nil: no limit.
	MoveThrottle Throttle
	// NumMovers is num.replica.alter.log.dirs.threads.
	NumMovers int
	Logger    *slog.Logger
	// StateChange is Kafka's state.change.logger.
	StateChange *slog.Logger
	Metrics     prometheus.Registerer
	Now         func() time.Time
	// OnLeadership is told of each change, in order, one call at a time and under no lock. May be nil.
	OnLeadership func([]LeadershipChange)
}

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.StateChange == nil {
		c.StateChange = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.BrokerEpoch == nil {
		c.BrokerEpoch = func() int64 { return -1 }
	}
	if c.Image == nil {
		empty := metadata.NewImage()
		c.Image = func() *metadata.Image { return empty }
	}
	if c.OnLeadership == nil {
		c.OnLeadership = func([]LeadershipChange) {}
	}
	setDefault(&c.LagTimeMax, 30*time.Second)
	setDefault(&c.FetchWaitMax, 500*time.Millisecond)
	setDefault(&c.FetchBackoff, time.Second)
	setDefault(&c.HWCheckpointInterval, 5*time.Second)
	setDefault(&c.FetchMinBytes, 1)
	setDefault(&c.FetchMaxBytes, 1<<20)
	setDefault(&c.FetchResponseMaxBytes, 10<<20)
	setDefault(&c.FetchVersion, 17)
	setDefault(&c.ListOffsetsVersion, 9)
	setDefault(&c.EpochEndVersion, 3)
	setDefault(&c.NumFetchers, 1)
	setDefault(&c.NumMovers, 1)
	setDefault(&c.SessionSlots, 1000)
	return c
}

func setDefault[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}
