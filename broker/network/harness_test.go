package network

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"jackdaw/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// startServer runs a server with one listener named PLAINTEXT, if o names none, and stops it at the end of the test.
func startServer(t testing.TB, o Options, h HandlerFunc) *Server {
	t.Helper()
	o.Handler = h
	return startRuns(t, o)
}

// startRuns is startServer with the handler of o.
func startRuns(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Listeners == nil {
		o.Listeners = []ListenerConfig{{Name: "PLAINTEXT", Addr: "127.0.0.1:0"}}
	}
	s := New(o)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

// client is a raw connection to a server under test.
type client struct {
	t testing.TB
	net.Conn
	corr int32
	sent int // bytes of the last send
}

func dial(t testing.TB, s *Server, listener string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr(listener).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, Conn: nc}
}

// send sends requests in one write.
func (c *client) send(reqs ...kmsg.Request) {
	c.t.Helper()
	var p []byte
	for _, r := range reqs {
		c.corr++
		p = protocol.AppendRequest(p, "test", c.corr, r)
	}
	c.sent = len(p)
	if _, err := c.Write(p); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads one frame without its size.
func (c *client) frame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	p := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, p)
	return p, err
}

// expect reads one response and checks its correlation id.
func (c *client) expect(corr int32) []byte {
	c.t.Helper()
	p, err := c.frame()
	if err != nil {
		c.t.Fatalf("response %d: %v", corr, err)
	}
	if got := int32(binary.BigEndian.Uint32(p)); got != corr {
		c.t.Fatalf("correlation id %d, want %d", got, corr)
	}
	return p[4:]
}

// expectClosed reads until the server closes the connection, which must be without an answer.
func (c *client) expectClosed() {
	c.t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n > 0 || (!errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET)) {
		c.t.Fatalf("read %d bytes, %v; want the connection closed", n, err)
	}
}

func metadataRequest() kmsg.Request {
	r := kmsg.NewPtrMetadataRequest()
	r.SetVersion(1)
	return r
}

func produceRequest(acks int16, records []byte) kmsg.Request {
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(9)
	r.Acks = acks
	r.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records}}}}
	return r
}

func heartbeatRequest() kmsg.Request {
	r := kmsg.NewPtrHeartbeatRequest()
	r.SetVersion(4)
	return r
}

// answer gives the plain answer to any request.
func answerAll(r *Request) { r.Respond(r.Body.ResponseKind()) }

// receive waits for a value.
func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing has come")
		panic("unreachable")
	}
}
