package network

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
)

func TestThrottle_Respond_AnswersAtOnceThenMutes(t *testing.T) {
	const delay = 300 * time.Millisecond
	handled := make(chan time.Time, 2)
	s := startServer(t, Options{Throttle: func(r *Request) time.Duration {
		if r.CorrelationID == 1 {
			return delay
		}
		return 0
	}}, func(r *Request) {
		handled <- time.Now()
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(heartbeatRequest(), heartbeatRequest())
	body := c.expect(1)
	answered := time.Now()
	if got := binary.BigEndian.Uint32(body[1:]); got != uint32(delay.Milliseconds()) {
		t.Errorf("throttle_time_ms is %d, want %d", got, delay.Milliseconds())
	}
	c.expect(2)
	first, second := receive(t, handled), receive(t, handled)
	if gap := second.Sub(first); gap < delay {
		t.Errorf("the second request was handled %v after the first, want %v", gap, delay)
	}
	if second.Before(answered) {
		t.Error("the answer came after the delay")
	}
}

// With acks=all the answer, and the throttle with it, comes when the reader has gone on already.
func TestThrottle_PipelinedProduce_MutesWhatComesNext(t *testing.T) {
	const delay = 300 * time.Millisecond
	first := make(chan *Request, 1)
	handled := make(chan time.Time, 3)
	s := startServer(t, Options{}, func(r *Request) {
		handled <- time.Now()
		r.Unmute()
		if r.CorrelationID == 1 {
			first <- r
			return
		}
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(-1, []byte("a")))
	r := receive(t, first)
	receive(t, handled)
	began := time.Now()
	r.Throttle(delay)
	answerAll(r)
	c.expect(1)
	c.send(produceRequest(-1, []byte("b")))
	c.expect(2)
	if gap := receive(t, handled).Sub(began); gap < delay {
		t.Errorf("handled %v after the throttle, want %v", gap, delay)
	}
}

func TestThrottle_ServerStops_DoesNotWaitForIt(t *testing.T) {
	s := startServer(t, Options{Throttle: func(*Request) time.Duration { return time.Hour }}, answerAll)
	c := dial(t, s, "PLAINTEXT")
	c.send(metadataRequest())
	c.expect(1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	c.expectClosed()
}

func TestSetLimits_WhileRunning_CountForNewConnections(t *testing.T) {
	s := startServer(t, Options{MaxConnsPerIP: 1}, answerAll)
	ask := func(c *client) bool {
		c.corr = 0
		p := protocol.AppendRequest(nil, "test", 1, metadataRequest())
		if _, err := c.Write(p); err != nil {
			return false
		}
		_, err := c.frame()
		return err == nil
	}
	if !ask(dial(t, s, "PLAINTEXT")) {
		t.Fatal("the first connection is refused")
	}
	if ask(dial(t, s, "PLAINTEXT")) {
		t.Fatal("a second connection is served")
	}
	if err := s.SetLimits(t.Context(), Limits{MaxConnsPerIP: 2}); err != nil {
		t.Fatal(err)
	}
	if !ask(dial(t, s, "PLAINTEXT")) {
		t.Error("the second connection is refused after the limit was raised")
	}
	if err := s.SetLimits(t.Context(), Limits{MaxConnsPerIP: 5, MaxConnsPerIPOverrides: map[string]int{"127.0.0.1": 0}}); err != nil {
		t.Fatal(err)
	}
	if ask(dial(t, s, "PLAINTEXT")) {
		t.Error("an address with the override 0 is served")
	}
}

var _ kmsg.SetThrottleResponse = (*kmsg.HeartbeatResponse)(nil)
