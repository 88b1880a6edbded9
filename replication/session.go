package replication

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/metadata"
)

// SessionCache keeps fetch sessions (KIP-227). Kafka: FetchSessionCache, FetchManager.
type SessionCache struct{}

// NewSessionCache returns a cache of at most slots sessions. now may be nil.
func NewSessionCache(slots int, now func() time.Time, reg prometheus.Registerer) *SessionCache {
	return &SessionCache{}
}

// SessionRequest is the part of a Fetch request that sessions are about.
type SessionRequest struct {
	// Version of the Fetch request; below 7 there are no sessions.
	Version int16
	// ID and Epoch are session_id and session_epoch.
	ID, Epoch int32
	// Follower sessions are privileged in the cache.
	Follower bool
	// Partitions are those in the request, Forgotten those to be dropped from the session.
	Partitions, Forgotten []FetchPartition
	// Name resolves a topic id (v13 and later).
	Name func(metadata.TopicID) (string, bool)
}

// FetchContext is one Fetch request in its session. Kafka: FetchContext.
type FetchContext struct{}

// Begin resolves a request against its session. The error is a top-level one: FETCH_SESSION_ID_NOT_FOUND,
// INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR, to be answered with session id 0 and no partitions.
func (c *SessionCache) Begin(r SessionRequest) (*FetchContext, error) { return nil, nil }

// Partitions are what must be fetched, in order. The slice is the context's own.
func (c *FetchContext) Partitions() []FetchPartition { return nil }

// Finish takes the results, in the order of Partitions, and returns the session id for the answer and the results that
// belong into it; what is left out is released. The session moves on; call it once.
func (c *FetchContext) Finish(results []FetchResult) (sessionID int32, answer []FetchResult) {
	return 0, nil
}
