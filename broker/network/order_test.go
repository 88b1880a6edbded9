package network

import (
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Case S03 (a): acks=0 gives no bytes, everything else is answered in the order of the requests, whichever is ready first.
func TestConn_PipelinedMix_AnsweredInOrder(t *testing.T) {
	parked := make(chan *Request, 2)
	s := startServer(t, Options{}, func(r *Request) {
		switch body := r.Body.(type) {
		case *kmsg.ProduceRequest:
			r.Unmute()
			if body.Acks == 0 {
				r.NoResponse()
			} else {
				parked <- r
			}
		default:
			answerAll(r)
		}
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(0, nil), produceRequest(-1, nil), produceRequest(-1, nil), metadataRequest(), heartbeatRequest())
	second, third := receive(t, parked), receive(t, parked)
	third.Respond(third.Body.ResponseKind())
	second.Respond(second.Body.ResponseKind())
	for corr := int32(2); corr <= 5; corr++ {
		c.expect(corr)
	}
}

// While a request is in work, the next of the same connection is not handled; other connections are.
func TestConn_RequestInWork_NextWaits(t *testing.T) {
	var mu sync.Mutex
	var events []string
	note := func(e string) { mu.Lock(); defer mu.Unlock(); events = append(events, e) }
	parked := make(chan *Request, 1)
	s := startServer(t, Options{}, func(r *Request) {
		if r.Key == 3 {
			parked <- r
			return
		}
		note("handled")
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(metadataRequest(), heartbeatRequest())
	r := receive(t, parked)
	other := dial(t, s, "PLAINTEXT")
	other.send(heartbeatRequest())
	other.expect(1)
	note("answering")
	r.Respond(r.Body.ResponseKind())
	c.expect(1)
	c.expect(2)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"handled", "answering", "handled"}; !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

// Answers to unmuted requests go out although the reader is busy in a handler that blocks.
func TestConn_HandlerBlocks_EarlierAnswersGoOut(t *testing.T) {
	parked, block := make(chan *Request, 1), make(chan struct{})
	s := startServer(t, Options{}, func(r *Request) {
		if r.Key == 0 {
			r.Unmute()
			parked <- r
			return
		}
		<-block
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(-1, nil), heartbeatRequest())
	r := receive(t, parked)
	r.Respond(r.Body.ResponseKind())
	c.expect(1)
	close(block)
	c.expect(2)
}

func TestConn_TooManyUnmuted_ReaderWaits(t *testing.T) {
	parked := make(chan *Request, 10)
	s := startServer(t, Options{MaxInFlight: 3}, func(r *Request) { r.Unmute(); parked <- r })
	c := dial(t, s, "PLAINTEXT")
	for range 5 {
		c.send(produceRequest(-1, nil))
	}
	var rs []*Request
	for range 3 {
		rs = append(rs, receive(t, parked))
	}
	rs[0].Respond(rs[0].Body.ResponseKind())
	rs = append(rs, receive(t, parked))
	if n := len(parked); n != 0 {
		t.Errorf("%d requests more than allowed are in work", n)
	}
	rs[1].Respond(rs[1].Body.ResponseKind())
	rs = append(rs, receive(t, parked))
	for _, r := range rs[2:] {
		r.Respond(r.Body.ResponseKind())
	}
	for corr := int32(1); corr <= 5; corr++ {
		c.expect(corr)
	}
}

// Case S03 (b): an acks=0 write that fails has no other sign than the end of the connection.
func TestRequest_Close_EndsConnectionAndContext(t *testing.T) {
	ended := make(chan struct{})
	s := startServer(t, Options{}, func(r *Request) {
		if r.Key == 0 {
			r.Close(errors.New("unknown partition"))
			<-r.Context().Done()
			close(ended)
			return
		}
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(0, nil), metadataRequest())
	c.expectClosed()
	receive(t, ended)
}

func TestConn_HandlerPanics_OthersGoOn(t *testing.T) {
	s := startServer(t, Options{}, func(r *Request) {
		if r.Key == 3 {
			panic("no")
		}
		answerAll(r)
	})
	other := dial(t, s, "PLAINTEXT")
	c := dial(t, s, "PLAINTEXT")
	c.send(metadataRequest())
	c.expectClosed()
	other.send(heartbeatRequest())
	other.expect(1)
}

// Case S01: a client of the future is told the range, on a connection that stays open.
func TestConn_FutureApiVersions_ToldAndGoesOn(t *testing.T) {
	s := startServer(t, Options{}, answerAll)
	c := dial(t, s, "PLAINTEXT")
	for _, version := range []byte{5, 99, 127} {
		if _, err := c.Write([]byte{0, 0, 0, 14, 0, 18, 0, version, 0, 0, 0, 9, 0, 1, 'c', 0, 0xde, 0xad}); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(c.expect(9)); got != "002300000001001200000004" {
			t.Errorf("v%d: got %s", version, got)
		}
	}
	for v := int16(0); v <= 4; v++ {
		r := kmsg.NewPtrApiVersionsRequest()
		r.SetVersion(v)
		c.send(r)
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.SetVersion(v)
		if err := resp.ReadFrom(c.expect(int32(v) + 1)); err != nil {
			t.Errorf("v%d: %v", v, err)
		}
	}
	c.send(metadataRequest())
	c.expect(6)
}

// The peer may stop sending and still gets what is in work.
func TestConn_HalfClosed_InWorkAnswered(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{}, func(r *Request) { r.Unmute(); parked <- r })
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(-1, nil))
	r := receive(t, parked)
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r.Respond(r.Body.ResponseKind())
	c.expect(1)
	c.expectClosed()
}
