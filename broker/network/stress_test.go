package network

import (
	"math/rand/v2"
	"sync"
	"testing"

	"jackdaw/protocol"
)

// Many connections, requests answered at once, later, by others, unmuted or not: every connection sees all of its answers,
// in order, and every part is let go of once.
func TestServer_AllKindsOfAnswers_CompleteAndInOrder(t *testing.T) {
	const conns, requests = 8, 300
	var answering sync.WaitGroup
	var mu sync.Mutex
	released := 0
	f, data := tempFile(t, 100_000)
	respond := func(r *Request) {
		if r.CorrelationID%3 != 0 {
			r.Respond(r.Body.ResponseKind())
			return
		}
		ps, _ := parts(r.CorrelationID, f, data, int(r.CorrelationID), sendfileMin+int(r.CorrelationID))
		r.RespondParts(ps, func() { mu.Lock(); defer mu.Unlock(); released++ })
	}
	s := startServer(t, Options{MaxInFlight: 5}, func(r *Request) {
		n := rand.IntN(4)
		if n >= 2 {
			r.Unmute()
		}
		if n%2 == 0 {
			respond(r)
			return
		}
		answering.Add(1)
		go func() { defer answering.Done(); respond(r) }()
	})
	var clients sync.WaitGroup
	for range conns {
		c := dial(t, s, "PLAINTEXT")
		clients.Add(2)
		go func() {
			defer clients.Done()
			var p []byte
			for corr := int32(1); corr <= requests; corr++ {
				p = protocol.AppendRequest(p[:0], "stress", corr, produceRequest(-1, make([]byte, rand.IntN(20_000))))
				if _, err := c.Write(p); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		go func() {
			defer clients.Done()
			for corr := int32(1); corr <= requests; corr++ {
				p, err := c.frame()
				if err != nil || int32(p[2])<<8|int32(p[3]) != corr {
					t.Errorf("answer %d: %v", corr, err)
					return
				}
			}
		}()
	}
	clients.Wait()
	answering.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if want := conns * requests / 3; released != want {
		t.Errorf("%d answers let go of, want %d", released, want)
	}
}
