package replication

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// sessionClient plays a client against a cache, without logs.
type sessionClient struct {
	t     *testing.T
	cache *SessionCache
	now   time.Time
	// hw is what the next answers say, by partition; errs overrides it.
	hw   map[int32]int64
	errs map[int32]error
}

func newSessionClient(t *testing.T, slots int) *sessionClient {
	s := &sessionClient{t: t, now: time.Unix(1000, 0), hw: map[int32]int64{}, errs: map[int32]error{}}
	s.cache = NewSessionCache(slots, func() time.Time { return s.now }, nil)
	return s
}

func parts(list ...int32) []FetchPartition {
	var out []FetchPartition
	for _, p := range list {
		out = append(out, FetchPartition{
			TP: metadata.TopicPartition{Topic: "t", Partition: p}, TopicID: metadata.TopicID{9},
			CurrentLeaderEpoch: metadata.NoEpoch, LastFetchedEpoch: metadata.NoEpoch,
		})
	}
	return out
}

// fetch sends a request and returns the session id, and the partitions fetched and answered.
func (s *sessionClient) fetch(r SessionRequest) (id int32, fetched, answered []int32) {
	s.t.Helper()
	if r.Version == 0 {
		r.Version = 12
	}
	fc, err := s.cache.Begin(r)
	if err != nil {
		s.t.Fatal(err)
	}
	var results []FetchResult
	for i := range fc.Partitions() {
		p := &fc.Partitions()[i]
		fetched = append(fetched, p.TP.Partition)
		res := noRecords(p)
		res.HighWatermark, res.LogStartOffset = s.hw[p.TP.Partition], 0
		if res.Err = s.errs[p.TP.Partition]; res.Err != nil {
			res.HighWatermark = -1
		}
		results = append(results, res)
	}
	id, answer := fc.Finish(results)
	for _, res := range answer {
		answered = append(answered, res.TP.Partition)
	}
	return id, fetched, answered
}

func (s *sessionClient) wantError(r SessionRequest, want error) {
	s.t.Helper()
	if r.Version == 0 {
		r.Version = 12
	}
	if _, err := s.cache.Begin(r); !errors.Is(err, want) {
		s.t.Fatalf("session %d epoch %d: got %v, want %v", r.ID, r.Epoch, err, want)
	}
}

func wantParts(t *testing.T, what string, got []int32, want ...int32) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		t.Fatalf("%s: partitions %v, want %v", what, got, want)
	}
}

func TestSession_Life_AnswersOnlyNews(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, answered := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0, 1, 2)})
	if id == 0 {
		t.Fatal("no session")
	}
	wantParts(t, "full", answered, 0, 1, 2)

	_, fetched, answered := s.fetch(SessionRequest{ID: id, Epoch: 1})
	wantParts(t, "fetched from memory", fetched, 0, 1, 2)
	wantParts(t, "nothing new", answered)

	s.hw[1] = 5
	_, _, answered = s.fetch(SessionRequest{ID: id, Epoch: 2})
	wantParts(t, "new high watermark", answered, 1)

	s.wantError(SessionRequest{ID: id, Epoch: 2}, kerr.InvalidFetchSessionEpoch)
	s.wantError(SessionRequest{ID: id, Epoch: 9}, kerr.InvalidFetchSessionEpoch)
	s.wantError(SessionRequest{ID: id + 1, Epoch: 3}, kerr.FetchSessionIDNotFound)
	s.wantError(SessionRequest{ID: 0, Epoch: 5}, kerr.FetchSessionIDNotFound)

	_, fetched, _ = s.fetch(SessionRequest{ID: id, Epoch: 3, Forgotten: parts(0, 2), Partitions: parts(7)})
	wantParts(t, "after forgetting", fetched, 1, 7)

	got, fetched, _ := s.fetch(SessionRequest{ID: id, Epoch: 4, Forgotten: parts(1, 7)})
	wantParts(t, "all forgotten", fetched)
	if got != 0 {
		t.Fatalf("session %d, want 0", got)
	}
	s.wantError(SessionRequest{ID: id, Epoch: 5}, kerr.FetchSessionIDNotFound)
}

func TestSession_Error_IsToldEachTimeAndThenTheRecovery(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0, 1)})
	s.errs[0] = kerr.UnknownTopicOrPartition
	for epoch := int32(1); epoch < 4; epoch++ {
		_, _, answered := s.fetch(SessionRequest{ID: id, Epoch: epoch})
		wantParts(t, "error", answered, 0)
	}
	delete(s.errs, 0)
	_, _, answered := s.fetch(SessionRequest{ID: id, Epoch: 4})
	wantParts(t, "recovery", answered, 0)
	_, _, answered = s.fetch(SessionRequest{ID: id, Epoch: 5})
	wantParts(t, "quiet", answered)
}

func TestSession_FinalEpoch_ClosesAndAnswersInFull(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)})
	got, _, answered := s.fetch(SessionRequest{ID: id, Epoch: -1, Partitions: parts(0, 1)})
	wantParts(t, "full", answered, 0, 1)
	if got != 0 {
		t.Fatalf("session %d, want 0", got)
	}
	s.wantError(SessionRequest{ID: id, Epoch: 1}, kerr.FetchSessionIDNotFound)
	if got, _, _ := s.fetch(SessionRequest{Epoch: -1, Partitions: parts(0)}); got != 0 {
		t.Fatalf("session %d for a request that wants none", got)
	}
	if got, _, _ := s.fetch(SessionRequest{Version: 6, Partitions: parts(0)}); got != 0 {
		t.Fatalf("session %d below v7", got)
	}
	if got, _, _ := s.fetch(SessionRequest{Epoch: 0}); got != 0 {
		t.Fatalf("session %d of nothing", got)
	}
}

func TestSession_FullRequestWithID_ReplacesIt(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)})
	next, _, _ := s.fetch(SessionRequest{ID: id, Epoch: 0, Partitions: parts(0)})
	if next == id || next == 0 {
		t.Fatalf("session %d after %d", next, id)
	}
	s.wantError(SessionRequest{ID: id, Epoch: 1}, kerr.FetchSessionIDNotFound)
	if n, p := s.cache.counts(); n != 1 || p != 1 {
		t.Fatalf("%d sessions with %d partitions", n, p)
	}
}

func TestSession_EpochWraps_ToOne(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)})
	s.cache.mu.sessions[id].mu.epoch = math.MaxInt32
	s.fetch(SessionRequest{ID: id, Epoch: math.MaxInt32})
	s.fetch(SessionRequest{ID: id, Epoch: 1})
}

func TestSession_IDsAndNames_DoNotMix(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Version: 12, Epoch: 0, Partitions: parts(0)})
	s.wantError(SessionRequest{Version: 13, ID: id, Epoch: 1}, kerr.FetchSessionTopicIDError)
	id, _, _ = s.fetch(SessionRequest{Version: 13, Epoch: 0, Partitions: parts(0)})
	s.wantError(SessionRequest{Version: 12, ID: id, Epoch: 1}, kerr.FetchSessionTopicIDError)
}

func TestSession_UnknownTopicID_IsResolvedLater(t *testing.T) {
	s := newSessionClient(t, 10)
	asked := parts(0)
	asked[0].TP.Topic = ""
	id, _, _ := s.fetch(SessionRequest{Version: 13, Epoch: 0, Partitions: asked})
	if id == 0 {
		t.Fatal("no session")
	}
	fc, err := s.cache.Begin(SessionRequest{Version: 13, ID: id, Epoch: 1, Name: func(metadata.TopicID) (string, bool) { return "t", true }})
	if err != nil {
		t.Fatal(err)
	}
	if got := fc.Partitions()[0].TP.Topic; got != "t" {
		t.Fatalf("topic %q", got)
	}
}

func TestSession_Full_EvictsByValue(t *testing.T) {
	s := newSessionClient(t, 2)
	open := func(follower bool, n int) int32 {
		list := make([]int32, n)
		for i := range list {
			list[i] = int32(i)
		}
		id, _, _ := s.fetch(SessionRequest{Epoch: 0, Follower: follower, Partitions: parts(list...)})
		return id
	}
	first, second := open(false, 2), open(false, 3)
	if open(false, 9) != 0 {
		t.Fatal("a young session was evicted by a consumer")
	}
	follower := open(true, 1)
	if follower == 0 {
		t.Fatal("a follower found no room")
	}
	s.wantError(SessionRequest{ID: first, Epoch: 1}, kerr.FetchSessionIDNotFound)
	s.now = s.now.Add(sessionIdle + time.Second)
	s.fetch(SessionRequest{ID: second, Epoch: 1})
	s.fetch(SessionRequest{ID: follower, Epoch: 1})
	if open(false, 1) != 0 {
		t.Fatal("a smaller session evicted a larger one in use")
	}
	if open(false, 3) == 0 {
		t.Fatal("an old session that is not larger must go")
	}
	s.wantError(SessionRequest{ID: second, Epoch: 2}, kerr.FetchSessionIDNotFound)
	s.fetch(SessionRequest{ID: follower, Epoch: 2})
}

func TestSession_IdleLongest_GoesFirst(t *testing.T) {
	s := newSessionClient(t, 2)
	idle, _, _ := s.fetch(SessionRequest{Epoch: 0, Follower: true, Partitions: parts(0, 1, 2)})
	used, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)})
	s.now = s.now.Add(sessionIdle + time.Second)
	s.fetch(SessionRequest{ID: used, Epoch: 1})
	if id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)}); id == 0 {
		t.Fatal("no room")
	}
	s.wantError(SessionRequest{ID: idle, Epoch: 1}, kerr.FetchSessionIDNotFound)
	s.fetch(SessionRequest{ID: used, Epoch: 2})
}

func TestSession_ManyClientsThatNeverReturn_CacheIsBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := newSessionClient(t, 0)
	s.cache = NewSessionCache(1000, func() time.Time { return s.now }, reg)
	loyal, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0, 1, 2, 3)})
	for i := range 3000 {
		s.now = s.now.Add(time.Second)
		s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0)})
		s.fetch(SessionRequest{ID: loyal, Epoch: int32(i + 1)})
	}
	if n, _ := s.cache.counts(); n != 1000 {
		t.Fatalf("%d sessions, want 1000", n)
	}
	if got := testutil.ToFloat64(s.cache.metrics.evictions); got != 2001 {
		t.Fatalf("%v evictions, want 2001", got)
	}
}

func TestSession_PartitionsWithRecords_GoLast(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0, 1, 2)})
	fc, err := s.cache.Begin(SessionRequest{Version: 12, ID: id, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	results := make([]FetchResult, 3)
	for i := range results {
		results[i] = noRecords(&fc.Partitions()[i])
	}
	fc.cached[0].fed = true // as Finish notes for one that gave records
	fc.session.rotateLocked()
	fc.Finish(results)
	_, fetched, _ := s.fetch(SessionRequest{ID: id, Epoch: 2})
	wantParts(t, "next", fetched, 1, 2, 0)
}

func TestSession_ClientGivesUpAWaitingRequest_ItsPartitionsStay(t *testing.T) {
	s := newSessionClient(t, 10)
	id, _, _ := s.fetch(SessionRequest{Epoch: 0, Partitions: parts(0, 1)})
	waiting, err := s.cache.Begin(SessionRequest{Version: 12, ID: id, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, fetched, _ := s.fetch(SessionRequest{ID: id, Epoch: 2, Forgotten: parts(0), Partitions: parts(5)})
	wantParts(t, "later request", fetched, 1, 5)
	if got := waiting.Partitions(); len(got) != 2 || got[0].TP.Partition != 0 || got[1].TP.Partition != 1 {
		t.Fatalf("waiting request reads %v", got)
	}
	results := []FetchResult{noRecords(&waiting.Partitions()[0]), noRecords(&waiting.Partitions()[1])}
	waiting.Finish(results)
}

// TestLeaderSession_Requests_HoldOnlyChanges is the follower's side.
func TestLeaderSession_Requests_HoldOnlyChanges(t *testing.T) {
	bubble(t, 1, nil, func(t *testing.T, c *cluster) {
		c.create(t0, 1)
		u0 := metadata.TopicPartition{Topic: "u", Partition: 0}
		c.create(u0, 1)
		cfg := Config{BrokerID: 2}.withDefaults()
		states := []*fetchState{
			{followed: followed{p: c.nodes[1].partition(t0), topicID: c.state(t0).TopicID}},
			{followed: followed{p: c.nodes[1].partition(u0), topicID: c.state(u0).TopicID}},
		}
		var s leaderSession
		s.reset()
		step := func(states []*fetchState, wantEpoch int32, topics, forgotten int) {
			t.Helper()
			req := s.build(&cfg, states)
			if req.SessionEpoch != wantEpoch || len(req.Topics) != topics || len(req.ForgottenTopics) != forgotten {
				t.Fatalf("epoch %d, %d topics, %d forgotten; want %d, %d, %d", req.SessionEpoch, len(req.Topics),
					len(req.ForgottenTopics), wantEpoch, topics, forgotten)
			}
		}
		resp := newFetchResponse(77)
		step(states, 0, 2, 0)
		mustAccept(t, &s, resp)
		step(states, 1, 0, 0)
		mustAccept(t, &s, resp)
		c.nodes[1].produce(t0, 1, "a")
		step(states, 2, 1, 0)
		mustAccept(t, &s, resp)
		step(states[:1], 3, 0, 1)
		mustAccept(t, &s, resp)
		step(states, 4, 1, 0)
		resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
		if err := s.accept(resp); !errors.Is(err, kerr.FetchSessionIDNotFound) {
			t.Fatalf("got %v", err)
		}
		step(states, 0, 2, 0)
		mustAccept(t, &s, newFetchResponse(0))
		step(states, 0, 2, 0)
		mustAccept(t, &s, newFetchResponse(77))
		s.epoch = math.MaxInt32
		mustAccept(t, &s, newFetchResponse(77))
		step(states, 1, 0, 0)
	})
}

func newFetchResponse(session int32) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.SessionID = session
	return resp
}

func mustAccept(t *testing.T, s *leaderSession, resp *kmsg.FetchResponse) {
	t.Helper()
	if err := s.accept(resp); err != nil {
		t.Fatal(err)
	}
}
