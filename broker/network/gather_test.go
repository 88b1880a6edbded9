package network

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol"
)

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
