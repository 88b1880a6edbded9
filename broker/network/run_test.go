package network

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/budget"
	"jackdaw/protocol"
)

// runs is a handler that looks at whole runs. It answers Produce at once and pipelined, and all else when it is let.
type runs struct {
	t     *testing.T
	sizes chan int
	gate  chan int // how many bytes must have come before something else than Produce is answered
}

func newRuns(t *testing.T) *runs {
	return &runs{t: t, sizes: make(chan int, 10_000), gate: make(chan int, 10)}
}

func (h *runs) Handle(run []*Request) {
	h.sizes <- len(run)
	if run[0].Key != produceKey {
		n := <-h.gate
		for in := &run[0].Conn.in; in.w-in.r+in.raw.waiting() < n; {
			runtime.Gosched()
		}
		answerAll(run[0])
		return
	}
	for _, r := range run { // only now, when the last was read: the first must be what they were
		got := r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records
		if want := pattern(r.CorrelationID, len(got)); !bytes.Equal(got, want) {
			h.t.Errorf("request %d of a run of %d: its %d bytes have changed", r.CorrelationID, len(run), len(got))
		}
		r.Unmute()
		answerAll(r)
	}
}

// pattern is what a request carries.
func pattern(correlation int32, n int) []byte {
	return bytes.Repeat([]byte{byte(correlation), byte(correlation >> 8), 0xa5}, n/3+1)[:n]
}

// produce makes Produce requests with the next correlation ids and records of these sizes.
func (c *client) produce(sizes ...int) []kmsg.Request {
	var list []kmsg.Request
	for i, n := range sizes {
		list = append(list, produceRequest(1, pattern(c.corr+int32(i)+1, n)))
	}
	return list
}

// produceAfter is produce for requests that follow n others.
func (c *client) produceAfter(n int32, sizes ...int) []kmsg.Request {
	c.corr += n
	defer func() { c.corr -= n }()
	return c.produce(sizes...)
}

// held has the reader wait for the answer to another request, so that all that follows comes together.
func (h *runs) held(c *client, reqs ...kmsg.Request) (got []int) {
	h.t.Helper()
	c.send(metadataRequest())
	receive(h.t, h.sizes)
	first := c.corr
	c.send(reqs...)
	h.gate <- c.sent
	h.gate <- 0 // for another one among reqs
	for corr := first; corr <= c.corr; corr++ {
		c.expect(corr)
	}
	for n := 0; n < len(reqs); {
		got = append(got, receive(h.t, h.sizes))
		n += got[len(got)-1]
	}
	return got
}

func TestConn_RequestsThatHaveCome_HandledTogether(t *testing.T) {
	const small, large = 100, 9000
	for _, tc := range []struct {
		name  string
		o     Options
		sizes []int
		want  []int
	}{
		{"small ones", Options{}, []int{small, small, small, small}, []int{4}},
		{"large ones", Options{}, []int{large, large, large}, []int{3}},
		{"a small one behind a large one", Options{}, []int{large, small, small}, []int{3}},
		{"a large one would be read over a small one", Options{}, []int{large, small, large}, []int{2, 1}},
		{"no more than may be in work", Options{MaxInFlight: 3}, []int{small, small, small, small, small}, []int{3, 2}},
		{"no memory for a second", Options{Budget: budget.New(large + 500)}, []int{large, large}, []int{1, 1}},
		{"memory for two", Options{Budget: budget.New(2*large + 500)}, []int{large, large, large}, []int{2, 1}},
		{"larger than all of the memory", Options{Budget: budget.New(large / 2)}, []int{large, large}, []int{1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newRuns(t)
			tc.o.Handler = h
			c := dial(t, startRuns(t, tc.o), "PLAINTEXT")
			if got := h.held(c, c.produceAfter(1, tc.sizes...)...); !slices.Equal(got, tc.want) {
				t.Errorf("handled %d at a time, want %d", got, tc.want)
			}
			wantFree(t, tc.o.Budget)
		})
	}
}

// wantFree waits until nothing is reserved: that is given back after the answer.
func wantFree(t *testing.T, b *budget.Budget) {
	t.Helper()
	for end := time.Now().Add(patience); b != nil && b.InUse() > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are reserved still", b.InUse())
		}
	}
}

func TestConn_OtherRequestsBetween_NotJoined(t *testing.T) {
	h := newRuns(t)
	s := startRuns(t, Options{Handler: h})
	c := dial(t, s, "PLAINTEXT")
	reqs := c.produceAfter(1, 100, 100, 100)
	reqs = slices.Insert(reqs, 2, metadataRequest())
	reqs[3] = produceRequest(1, pattern(5, 100))
	if got := h.held(c, reqs...); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("handled %d at a time", got)
	}
}

// Whatever sizes come together, in clear or encrypted, with little memory or much: no frame changes while others are read.
func TestConn_AnySizes_FramesStayAsTheyAre(t *testing.T) {
	for _, listener := range []string{"PLAINTEXT", "SSL"} {
		for _, limit := range []int64{0, 100_000} {
			t.Run(fmt.Sprint(listener, " ", limit), func(t *testing.T) {
				h := newRuns(t)
				b := budget.New(limit)
				s := startRuns(t, Options{Handler: h, Budget: b, Listeners: secured(t)})
				c := dial(t, s, listener)
				if listener == "SSL" {
					c = c.overTLS(clientTLS(t, "keys.pkcs12"))
				}
				for range 100 {
					var sizes []int
					for range 1 + rand.IntN(20) {
						sizes = append(sizes, rand.IntN([]int{50, 3000, 20_000}[rand.IntN(3)]))
					}
					first := c.corr + 1
					sent := make(chan struct{})
					reqs := c.produce(sizes...)
					go func() { defer close(sent); c.send(reqs...) }()
					for i := range sizes {
						c.expect(first + int32(i))
					}
					<-sent
				}
				wantFree(t, b)
			})
		}
	}
}

// A panic costs the connection; the others go on.
func TestConn_PanicInARun_ConnectionClosed(t *testing.T) {
	s := startRuns(t, Options{Logger: slog.New(slog.DiscardHandler), Handler: panicking{}})
	c := dial(t, s, "PLAINTEXT")
	c.send(c.produce(10, 20, 30)...)
	c.expectClosed()
	served(dial(t, s, "PLAINTEXT"))
}

// panicking does so in the middle of a run.
type panicking struct{}

func (panicking) Handle(run []*Request) {
	for i, r := range run {
		if i == 1 {
			panic("in a test")
		}
		if r.Key != produceKey {
			answerAll(r)
		}
	}
}

// produceAtOnce answers Produce within Handle, pipelined.
func produceAtOnce(r *Request) {
	if _, ok := r.Body.(*kmsg.ProduceRequest); ok {
		r.Unmute()
	}
	answerAll(r)
}

// Answers of requests that came together may go out together; nothing that came before a bad frame is lost.
func TestConn_BadFrameAfterProduce_EarlierAnswered(t *testing.T) {
	s := startServer(t, Options{}, produceAtOnce)
	c := dial(t, s, "PLAINTEXT")
	p := protocol.AppendRequest(nil, "test", 1, produceRequest(1, nil))
	p = protocol.AppendRequest(p, "test", 2, produceRequest(1, nil))
	p = append(p, 0, 0, 0, 5, 0, 0, 0, 9, 0) // a Produce whose header is cut
	if _, err := c.Write(p); err != nil {
		t.Fatal(err)
	}
	c.expect(1)
	c.expect(2)
	c.expectClosed()
}

// An answer waits for nothing that is not here yet.
func TestConn_NextFrameIncomplete_AnswerIsSent(t *testing.T) {
	s := startServer(t, Options{}, produceAtOnce)
	c := dial(t, s, "PLAINTEXT")
	p := protocol.AppendRequest(nil, "test", 1, produceRequest(1, nil))
	next := protocol.AppendRequest(nil, "test", 2, produceRequest(1, nil))
	if _, err := c.Write(append(p, next[:len(next)-1]...)); err != nil {
		t.Fatal(err)
	}
	c.expect(1)
	if _, err := c.Write(next[len(next)-1:]); err != nil {
		t.Fatal(err)
	}
	c.expect(2)
}

func TestFrameReader_Comes_WholeFramesOfTheAPI(t *testing.T) {
	whole := protocol.AppendRequest(nil, "test", 1, produceRequest(1, nil))
	for _, tc := range []struct {
		name string
		buf  []byte
		want bool
	}{
		{"nothing", nil, false},
		{"a whole Produce", whole, true},
		{"a Produce and more", append(whole[:len(whole):len(whole)], 0, 0), true},
		{"a byte is missing", whole[:len(whole)-1], false},
		{"another API", protocol.AppendRequest(nil, "test", 1, heartbeatRequest()), false},
		{"a negative size", []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, false},
	} {
		f := frameReader{buf: tc.buf, w: len(tc.buf)}
		if got := f.comes(produceKey); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
