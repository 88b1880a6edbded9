package replication

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
)

const (
	// sessionIdle is how long a session is safe: afterwards a less used or smaller one makes room for another.
	// Kafka: FetchSessionCache min.incremental.fetch.session.eviction.ms.
	sessionIdle = 2 * time.Minute
	// noSession is the id of an answer without a session, initialEpoch and finalEpoch the epochs of full requests: to open
	// a session, and to have none.
	noSession    int32 = 0
	initialEpoch int32 = 0
	finalEpoch   int32 = -1
	// topicIDVersion is the first version of Fetch that names topics by id.
	topicIDVersion = 13
)

// SessionCache keeps fetch sessions (KIP-227): what a client has asked for once need not be in every request, and
// partitions without news need not be in answers. The cache is bounded. Safe for concurrent use; Cache.mu comes before
// fetchSession.mu. Kafka: FetchSessionCache, FetchManager.
type SessionCache struct {
	slots   int
	now     func() time.Time
	metrics *sessionMetrics
	mu      struct {
		sync.Mutex
		sessions   map[int32]*fetchSession
		partitions int // in all sessions
	}
}

// NewSessionCache returns a cache of at most slots sessions. now may be nil.
func NewSessionCache(slots int, now func() time.Time, reg prometheus.Registerer) *SessionCache {
	if now == nil {
		now = time.Now
	}
	c := &SessionCache{slots: slots, now: now}
	c.mu.sessions = map[int32]*fetchSession{}
	c.metrics = newSessionMetrics(reg, c)
	return c
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

// fetchSession is what is remembered of one client.
type fetchSession struct {
	id       int32
	follower bool
	byID     bool // topics are named by id
	created  time.Time

	// lastUsed and size are guarded by SessionCache.mu.
	lastUsed time.Time
	size     int

	mu struct {
		sync.Mutex
		epoch int32
		// asked and cached are parallel and in the order in which partitions are read: those that gave records go last.
		asked  []FetchPartition
		cached []*cachedPartition
		index  map[sessionKey]*cachedPartition
		// lent is true while a request reads asked.
		lent bool
	}
}

// cachedPartition is what was last answered for a partition of a session. Kafka: CachedPartition.
type cachedPartition struct {
	key      sessionKey
	hw       int64
	logStart int64
	pos      int  // in asked
	fed      bool // gave records in the answer under way
}

// FetchContext is one Fetch request in its session. It is used by one goroutine at a time. Kafka: FetchContext.
type FetchContext struct {
	cache      *SessionCache
	session    *fetchSession // nil without a session, and before a full request has opened one
	partitions []FetchPartition
	cached     []*cachedPartition
	open       *SessionRequest // of a full request that wants a session
}

// Partitions are what must be fetched, in order. The slice is valid until Finish.
func (c *FetchContext) Partitions() []FetchPartition { return c.partitions }

// Begin resolves a request against its session. The error is a top-level one, to be answered with session id 0 and no
// partitions: kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIDError. The session
// moves to its next epoch. r.Partitions is kept until Finish. Kafka: FetchManager.newContext.
func (c *SessionCache) Begin(r SessionRequest) (*FetchContext, error) {
	if r.Version < 7 {
		r.ID, r.Epoch = noSession, finalEpoch
	}
	if r.Epoch == initialEpoch || r.Epoch == finalEpoch {
		if r.ID != noSession {
			c.remove(r.ID)
		}
		ctx := &FetchContext{cache: c, partitions: r.Partitions}
		if r.Epoch == initialEpoch {
			ctx.open = &r
		}
		return ctx, nil
	}
	s, err := c.use(&r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx := &FetchContext{cache: c, session: s, partitions: s.mu.asked, cached: s.mu.cached}
	s.mu.lent = true
	return ctx, nil
}

// use finds the session of an incremental request and applies the request to it.
func (c *SessionCache) use(r *SessionRequest) (*fetchSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.mu.sessions[r.ID]
	if s == nil {
		return nil, kerr.FetchSessionIDNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.epoch != r.Epoch:
		return nil, kerr.InvalidFetchSessionEpoch
	case s.byID != (r.Version >= topicIDVersion):
		return nil, kerr.FetchSessionTopicIDError
	}
	s.updateLocked(r)
	c.mu.partitions += len(s.mu.asked) - s.size
	s.size = len(s.mu.asked)
	s.lastUsed = c.now()
	s.mu.epoch = nextEpoch(s.mu.epoch)
	if s.size == 0 {
		delete(c.mu.sessions, s.id)
		return &fetchSession{}, nil // nothing to remember: the answer has id 0
	}
	return s, nil
}

// nextEpoch wraps to 1, as 0 opens a session.
func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// keyOf names a partition as the session does.
func (s *fetchSession) keyOf(p *FetchPartition) sessionKey {
	if s.byID {
		return sessionKey{id: p.TopicID, partition: p.TP.Partition}
	}
	return sessionKey{topic: p.TP.Topic, partition: p.TP.Partition}
}

// updateLocked adds, changes and forgets partitions, and looks up names that were not known before.
func (s *fetchSession) updateLocked(r *SessionRequest) {
	if s.mu.lent {
		// A request of this session is still waiting; its client has given it up, but it goes on reading.
		s.mu.asked = append([]FetchPartition(nil), s.mu.asked...)
		s.mu.cached = append([]*cachedPartition(nil), s.mu.cached...)
		s.mu.lent = false
	}
	for i := range r.Partitions {
		s.putLocked(&r.Partitions[i])
	}
	for i := range r.Forgotten {
		s.dropLocked(s.keyOf(&r.Forgotten[i]))
	}
	if !s.byID || r.Name == nil {
		return
	}
	for i := range s.mu.asked {
		p := &s.mu.asked[i]
		if p.TP.Topic == "" {
			p.TP.Topic, _ = r.Name(p.TopicID)
		}
	}
}

func (s *fetchSession) putLocked(p *FetchPartition) {
	key := s.keyOf(p)
	if old := s.mu.index[key]; old != nil {
		s.mu.asked[old.pos] = *p
		return
	}
	cp := &cachedPartition{key: key, hw: -1, logStart: -1, pos: len(s.mu.asked)}
	s.mu.index[key] = cp
	s.mu.asked = append(s.mu.asked, *p)
	s.mu.cached = append(s.mu.cached, cp)
}

func (s *fetchSession) dropLocked(key sessionKey) {
	cp := s.mu.index[key]
	if cp == nil {
		return
	}
	delete(s.mu.index, key)
	s.mu.asked = append(s.mu.asked[:cp.pos], s.mu.asked[cp.pos+1:]...)
	s.mu.cached = append(s.mu.cached[:cp.pos], s.mu.cached[cp.pos+1:]...)
	for i := cp.pos; i < len(s.mu.cached); i++ {
		s.mu.cached[i].pos = i
	}
}

// Finish takes the results, in the order of Partitions, and returns the session id for the answer and the results that
// belong into it, in results' own memory; what is left out is released. Call it once.
// Kafka: FetchContext.updateAndGenerateResponseData.
func (c *FetchContext) Finish(results []FetchResult) (sessionID int32, answer []FetchResult) {
	switch {
	case c.open != nil:
		return c.cache.create(c.open, results), results
	case c.session == nil || c.session.id == noSession:
		return noSession, results
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	moved := false
	answer = results[:0]
	for i := range results {
		hasRecords := results[i].Records.Size() > 0
		if !c.cached[i].news(&results[i]) {
			results[i].Records.Release()
			continue
		}
		moved = moved || hasRecords
		c.cached[i].fed = hasRecords
		answer = append(answer, results[i])
	}
	s.mu.lent = false
	if moved {
		s.rotateLocked()
	}
	return s.id, answer
}

// Throttled ends a request in the place of Finish when the client gets nothing because it is held up. The session stays as
// it is, and nothing is skipped; a request that was to open one opens none. The results are the caller's to release.
// Kafka: FetchContext.getThrottledResponse.
func (c *FetchContext) Throttled() (sessionID int32) {
	if c.session == nil || c.session.id == noSession {
		return noSession
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.mu.lent = false
	return c.session.id
}

// news reports whether a result must be told, and remembers it. After an error or a diverging epoch the next result is
// news whatever it is. Kafka: CachedPartition.maybeUpdateResponseData.
func (cp *cachedPartition) news(r *FetchResult) bool {
	tell := r.Records.Size() > 0 || cp.hw != r.HighWatermark || cp.logStart != r.LogStartOffset ||
		r.PreferredReadReplica != metadata.NoBroker || r.Err != nil || r.Diverging != nil
	cp.hw, cp.logStart = r.HighWatermark, r.LogStartOffset
	if r.Err != nil || r.Diverging != nil {
		cp.hw = -1
	}
	return tell
}

// rotateLocked puts the partitions that have just given records last, so that none starves.
func (s *fetchSession) rotateLocked() {
	n := len(s.mu.cached)
	if n == 1 {
		s.mu.cached[0].fed = false
		return
	}
	asked, cached := make([]FetchPartition, 0, n), make([]*cachedPartition, 0, n)
	for _, fed := range []bool{false, true} {
		for i, cp := range s.mu.cached {
			if cp.fed == fed {
				asked, cached = append(asked, s.mu.asked[i]), append(cached, cp)
			}
		}
	}
	for i, cp := range cached {
		cp.pos, cp.fed = i, false
	}
	s.mu.asked, s.mu.cached = asked, cached
}

// create opens a session for a full request if there is room, and returns its id, else 0.
func (c *SessionCache) create(r *SessionRequest, results []FetchResult) int32 {
	s := &fetchSession{follower: r.Follower, byID: r.Version >= topicIDVersion, created: c.now(), size: len(results)}
	if s.size == 0 {
		return noSession
	}
	s.lastUsed = s.created
	s.mu.epoch = nextEpoch(initialEpoch)
	s.mu.index = make(map[sessionKey]*cachedPartition, s.size)
	for i := range r.Partitions {
		s.putLocked(&r.Partitions[i])
		s.mu.index[s.keyOf(&r.Partitions[i])].news(&results[i])
	}
	s.size = len(s.mu.asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.sessions) >= c.slots && !c.evictLocked(s) {
		return noSession
	}
	for s.id = 0; s.id == noSession || c.mu.sessions[s.id] != nil; {
		s.id = rand.Int32()
	}
	c.mu.sessions[s.id] = s
	c.mu.partitions += s.size
	return s.id
}

// evictLocked makes room for a session if there is a less valuable one: the longest idle if it has been so for
// sessionIdle, else the least of those that may be evicted. Followers may evict any consumer's; a consumer only what was
// created longer than sessionIdle ago. Kafka: FetchSessionCacheShard.tryEvict.
func (c *SessionCache) evictLocked(by *fetchSession) bool {
	var oldest, least *fetchSession
	now := c.now()
	for _, s := range c.mu.sessions {
		if oldest == nil || s.lastUsed.Before(oldest.lastUsed) {
			oldest = s
		}
		evictable := now.Sub(s.created) > sessionIdle || by.follower && !s.follower
		if evictable && (least == nil || s.lessThan(least)) {
			least = s
		}
	}
	victim := least
	if oldest != nil && now.Sub(oldest.lastUsed) > sessionIdle {
		victim = oldest
	} else if least == nil || by.lessThan(least) {
		return false
	}
	c.metrics.evictions.Inc()
	c.removeLocked(victim)
	return true
}

// lessThan orders by value: followers' sessions above consumers', then by size.
func (s *fetchSession) lessThan(o *fetchSession) bool {
	if s.follower != o.follower {
		return !s.follower
	}
	return s.size < o.size
}

func (c *SessionCache) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.mu.sessions[id]; s != nil {
		c.removeLocked(s)
	}
}

func (c *SessionCache) removeLocked(s *fetchSession) {
	delete(c.mu.sessions, s.id)
	c.mu.partitions -= s.size
}

// counts returns how many sessions there are, and how many partitions in them.
func (c *SessionCache) counts() (sessions, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.sessions), c.mu.partitions
}
