//go:build compat

package compat

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// session drives one fetch session by hand.
type session struct {
	t     *testing.T
	conn  *wire.Conn
	topic string
	id    int32
}

// fetch sends one Fetch v12 of the session with the partitions at their offsets, forgetting others, and returns the answer.
func (s *session) fetch(id, epoch int32, positions map[int32]int64, forget ...int32) *kmsg.FetchResponse {
	s.t.Helper()
	var at []wire.Position
	for _, p := range slices.Sorted(func(yield func(int32) bool) {
		for p := range positions {
			if !yield(p) {
				return
			}
		}
	}) {
		at = append(at, wire.Position{Topic: s.topic, Partition: p, Offset: positions[p]})
	}
	req := wire.NewFetch(at...)
	req.SessionID, req.SessionEpoch, req.MaxWaitMillis, req.MinBytes = id, epoch, 0, 0
	if len(forget) > 0 {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.Partitions = s.topic, forget
		req.ForgottenTopics = append(req.ForgottenTopics, f)
	}
	r, err := s.conn.Do(req, 12)
	if err != nil {
		s.t.Fatalf("fetch (%d, %d): %v", id, epoch, err)
	}
	return r.(*kmsg.FetchResponse)
}

// partitions lists what an answer contains, ascending.
func partitions(r *kmsg.FetchResponse) []int32 {
	ids := []int32{}
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			ids = append(ids, p.Partition)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *session) expect(what string, r *kmsg.FetchResponse, code int16, id int32, want ...int32) {
	s.t.Helper()
	if r.ErrorCode != code || r.SessionID != id || !slices.Equal(partitions(r), append([]int32{}, want...)) {
		s.t.Errorf("%s: error %d, session %d, partitions %v; want %d, %d, %v", what, r.ErrorCode, r.SessionID, partitions(r), code, id, want)
	}
}

// TestFetchSession_StateMachine walks through KIP-227.
func TestFetchSession_StateMachine(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 3, 1)
	s := &session{t: t, conn: dial(t, addr), topic: topic}
	at := map[int32]int64{0: 0, 1: 0, 2: 0}

	r := s.fetch(0, 0, at)
	if s.id = r.SessionID; s.id == 0 {
		t.Fatal("no session was made")
	}
	s.expect("full fetch", r, 0, s.id, 0, 1, 2)
	s.expect("nothing new", s.fetch(s.id, 1, nil), 0, s.id)
	mustProduce(t, addr, topic, 1, 1, wire.Values("v"))
	r = s.fetch(s.id, 2, nil)
	s.expect("one has data", r, 0, s.id, 1)
	if len(r.Topics) == 1 && len(r.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Error("the partition with data came without it")
	}
	s.expect("an epoch again", s.fetch(s.id, 2, nil), 71, 0)
	s.expect("an epoch ahead", s.fetch(s.id, 9, nil), 71, 0)
	s.expect("another session", s.fetch(s.id+1, 1, nil), 70, 0)

	r = s.fetch(s.id, 3, map[int32]int64{1: 1}) // moves on: the data is not sent again
	s.expect("the position moved", r, 0, s.id)
	s.expect("an unknown partition", s.fetch(s.id, 4, map[int32]int64{77: 0}), 0, s.id, 77)
	s.expect("its error again", s.fetch(s.id, 5, nil), 0, s.id, 77)
	s.expect("forgotten", s.fetch(s.id, 6, nil, 77, 2), 0, s.id)
	mustProduce(t, addr, topic, 2, 1, wire.Values("v"))
	s.expect("data of a forgotten one", s.fetch(s.id, 7, nil), 0, s.id)
	mustProduce(t, addr, topic, 0, 1, wire.Values("v"))
	s.expect("data of one that is left", s.fetch(s.id, 8, nil), 0, s.id, 0)

	s.expect("closed by epoch -1", s.fetch(s.id, -1, at), 0, 0, 0, 1, 2)
	s.expect("after the close", s.fetch(s.id, 9, nil), 70, 0)
	s.expect("sessionless", s.fetch(0, -1, at), 0, 0, 0, 1, 2)
	s.expect("an epoch without a session", s.fetch(0, 5, at), 70, 0)
}

func TestFetchSession_AllForgotten_Closed(t *testing.T) {
	c := one(t)
	topic := topicName(t)
	createTopic(t, c, topic, 2, 1)
	s := &session{t: t, conn: dial(t, c.Brokers[0].Addr()), topic: topic}
	id := s.fetch(0, 0, map[int32]int64{0: 0, 1: 0}).SessionID
	s.expect("all forgotten", s.fetch(id, 1, nil, 0, 1), 0, 0)
	s.expect("afterwards", s.fetch(id, 2, nil), 70, 0)
}

// TestFetchSession_NamesAndIDsMixed_106: a session of topic names is not one of topic ids.
func TestFetchSession_NamesAndIDsMixed_106(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	s := &session{t: t, conn: dial(t, addr), topic: topic}
	id := s.fetch(0, 0, map[int32]int64{0: 0}).SessionID
	req := wire.NewFetch(wire.Position{TopicID: topicID(t, addr, topic)})
	req.SessionID, req.SessionEpoch, req.MaxWaitMillis = id, 1, 0
	r, err := s.conn.Do(req, 13)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.(*kmsg.FetchResponse); f.ErrorCode != 106 || len(f.Topics) != 0 {
		t.Errorf("error %d with %d topics, want 106 and none", f.ErrorCode, len(f.Topics))
	}
}

// TestFetchSession_CacheFull_Bounded: clients that open sessions and never use them do not push out one that is used.
func TestFetchSession_CacheFull_Bounded(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"max.incremental.fetch.session.cache.slots": "100"}})
	addr := c.Brokers[0].Addr()
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	s := &session{t: t, conn: dial(t, addr), topic: topic}
	at := map[int32]int64{0: 0}
	id := s.fetch(0, 0, at).SessionID
	other := &session{t: t, conn: dial(t, addr), topic: topic}
	opened, epoch := 1, int32(1)
	for i := range 3000 {
		r := other.fetch(0, 0, at)
		if r.SessionID != 0 {
			opened++
		}
		if r.ErrorCode != 0 || !slices.Equal(partitions(r), []int32{0}) {
			t.Fatalf("full fetch %d: error %d, partitions %v", i, r.ErrorCode, partitions(r))
		}
		if i%300 == 0 {
			s.expect("the session in use", s.fetch(id, epoch, nil), 0, id)
			epoch++
		}
	}
	if opened > 100 {
		t.Errorf("%d sessions with 100 slots", opened)
	}
	mustProduce(t, addr, topic, 0, 1, wire.Values("v"))
	s.expect("the session in use, at the end", s.fetch(id, epoch, nil), 0, id, 0)
}
