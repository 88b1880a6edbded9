package network

import (
	"bytes"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
)

// unserved is a connection that nobody reads but the test, and its other end.
func unserved(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	s := startServer(t, Options{}, answerAll)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	return newConn(s, s.listeners()[0], in, 1), out
}

// look tries to read, without waiting, and tells whether something came.
func look(t *testing.T, c *Conn) (came bool) {
	t.Helper()
	c.in.raw.f, c.in.raw.ahead = &c.in, true
	if err := c.raw.Control(func(fd uintptr) { came = c.in.raw.once(fd) }); err != nil {
		t.Fatal(err)
	}
	return came
}

func write(t *testing.T, c net.Conn, p []byte) {
	t.Helper()
	if _, err := c.Write(p); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, c *Conn, want []byte) {
	t.Helper()
	got, err := c.in.next()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want[4:]) {
		t.Fatalf("a frame of %d bytes, want %d", len(got), len(want)-4)
	}
	c.in.release()
}

// Thousands of connections that wait must not hold thousands of buffers; what has come is never given away.
func TestFrameReader_NothingComes_HoldsNoBuffer(t *testing.T) {
	c, peer := unserved(t)
	frame := protocol.AppendRequest(nil, "test", 1, heartbeatRequest())
	write(t, peer, frame)
	next(t, c, frame)
	if c.in.buf == nil {
		t.Error("no buffer to read into")
	}
	if look(t, c) || c.in.buf != nil {
		t.Error("a buffer is held while nothing comes")
	}
	write(t, peer, append(frame[:len(frame):len(frame)], frame[:7]...))
	next(t, c, frame)
	if err := c.in.need(7); err != nil { // the rest may have come later
		t.Fatal(err)
	}
	if look(t, c) || c.in.buf == nil {
		t.Error("the buffer was given away with the beginning of a frame")
	}
	write(t, peer, frame[7:])
	next(t, c, frame)
}

// What comes behind a large frame is read with it, and its answer can wait for the next once that is here as a whole.
func TestFrameReader_LargeFrames_NextIsSeen(t *testing.T) {
	c, peer := unserved(t)
	large := protocol.AppendRequest(nil, "test", 1, produceRequest(1, make([]byte, 64<<10)))
	other := protocol.AppendRequest(nil, "test", 2, heartbeatRequest())
	write(t, peer, append(append(large[:len(large):len(large)], large...), other...))
	next(t, c, large)
	for deadline := time.Now().Add(patience); !c.in.comes(produceKey); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the next request is not seen")
		}
		if c.in.r == c.in.w {
			if err := c.in.need(6); err != nil { // it came too late to be read with the first
				t.Fatal(err)
			}
		}
	}
	next(t, c, large)
	if err := c.in.need(6); err != nil {
		t.Fatal(err)
	}
	if c.in.comes(produceKey) {
		t.Error("a Heartbeat taken for a Produce")
	}
	next(t, c, other)
}

// The promise holds through the server, too.
func TestConn_LargeFramesTogether_AnsweredInOrder(t *testing.T) {
	s := startServer(t, Options{}, produceAtOnce)
	c := dial(t, s, "PLAINTEXT")
	var reqs []kmsg.Request
	for range 5 {
		reqs = append(reqs, produceRequest(1, make([]byte, 64<<10)))
	}
	for round := range 20 {
		c.send(reqs...)
		for i := range reqs {
			c.expect(int32(round*len(reqs) + i + 1))
		}
	}
}
