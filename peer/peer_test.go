package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBroker answers each request frame with the bytes that answer returns, after the correlation id. nil closes the connection.
type fakeBroker struct {
	addr     string
	requests atomic.Int32
}

func startBroker(t *testing.T, answer func(n int32, frame []byte) []byte) *fakeBroker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBroker{addr: ln.Addr().String()}
	done := make(chan struct{})
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	go func() {
		defer close(done)
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			b.serve(nc, answer)
		}
	}()
	return b
}

// serve handles one connection; these tests never have two.
func (b *fakeBroker) serve(nc net.Conn, answer func(int32, []byte) []byte) {
	defer func() { _ = nc.Close() }()
	for {
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(nc, frame); err != nil {
			return
		}
		body := answer(b.requests.Add(1), frame)
		if body == nil {
			return
		}
		out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		out = append(out, frame[4:8]...) // the correlation id
		if _, err := nc.Write(append(out, body...)); err != nil {
			return
		}
	}
}

func shutdownRequest() *kmsg.ControlledShutdownRequest {
	req := kmsg.NewPtrControlledShutdownRequest()
	req.Version = 2 // a version with a plain header
	req.BrokerID = 3
	return req
}

func shutdownResponse(code int16) []byte {
	resp := kmsg.NewPtrControlledShutdownResponse()
	resp.Version = 2
	resp.ErrorCode = code
	return resp.AppendTo(nil)
}

func TestConnRequest_Answered_ResponseDecoded(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(77) })
	c, err := Dial(t.Context(), b.addr, Options{ClientID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 3 {
		resp, err := c.Request(t.Context(), shutdownRequest())
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.(*kmsg.ControlledShutdownResponse).ErrorCode; got != 77 {
			t.Errorf("error code %d, want 77", got)
		}
	}
}

func TestConnRequest_PeerCloses_IsReset(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return nil })
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = c.Request(t.Context(), shutdownRequest())
	if !IsReset(err) || IsRefused(err) || IsTimeout(err) {
		t.Errorf("reset %t refused %t timeout %t: %v", IsReset(err), IsRefused(err), IsTimeout(err), err)
	}
	if _, again := c.Request(t.Context(), shutdownRequest()); !errors.Is(again, err) {
		t.Errorf("second request: %v, want the first error", again)
	}
}

func TestDial_NobodyListens_IsRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Dial(t.Context(), addr, Options{})
	if !IsRefused(err) || IsReset(err) || IsTimeout(err) {
		t.Errorf("reset %t refused %t timeout %t: %v", IsReset(err), IsRefused(err), IsTimeout(err), err)
	}
}

func TestConnRequest_SilentPeer_IsTimeout(t *testing.T) {
	release := make(chan struct{})
	b := startBroker(t, func(int32, []byte) []byte { <-release; return nil })
	defer close(release)
	c, err := Dial(t.Context(), b.addr, Options{Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = c.Request(t.Context(), shutdownRequest())
	if !IsTimeout(err) || IsReset(err) || IsRefused(err) {
		t.Errorf("reset %t refused %t timeout %t: %v", IsReset(err), IsRefused(err), IsTimeout(err), err)
	}
}

func TestConnRequest_ContextEnds_ReturnsItsCause(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	b := startBroker(t, func(int32, []byte) []byte { close(asked); <-release; return nil })
	defer close(release)
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := c.Request(ctx, shutdownRequest()); !errors.Is(err, context.Canceled) || IsTimeout(err) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestConnClose_DuringRequest_EndsIt(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	b := startBroker(t, func(int32, []byte) []byte { close(asked); <-release; return nil })
	defer close(release)
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-asked; _ = c.Close() }()
	if _, err := c.Request(t.Context(), shutdownRequest()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestConnRequest_TooLargeResponse_Refused(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return make([]byte, 100) })
	c, err := Dial(t.Context(), b.addr, Options{MaxResponseBytes: 50})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request(t.Context(), shutdownRequest()); err == nil {
		t.Error("a response of 104 bytes was accepted, allowed are 50")
	}
}

func TestControllerChannel_ControllerMoves_AsksTheNewOne(t *testing.T) {
	old := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(kerr.NotController.Code) })
	next := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(0) })
	c := NewControllerChannel(ChannelOptions{
		Backoff: time.Millisecond,
		Lookup: func() (string, bool) {
			if old.requests.Load() == 0 {
				return old.addr, true
			}
			return next.addr, true
		},
	})
	defer func() { _ = c.Close() }()
	resp, err := c.Request(t.Context(), shutdownRequest())
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.(*kmsg.ControlledShutdownResponse).ErrorCode; got != 0 {
		t.Errorf("error code %d, want 0", got)
	}
}

func TestControllerChannel_AnswerLost_AsksAgain(t *testing.T) {
	b := startBroker(t, func(n int32, _ []byte) []byte {
		if n == 1 {
			return nil
		}
		return shutdownResponse(0)
	})
	c := NewControllerChannel(ChannelOptions{
		Backoff: time.Millisecond,
		Lookup:  func() (string, bool) { return b.addr, true },
	})
	defer func() { _ = c.Close() }()
	if _, err := c.Request(t.Context(), shutdownRequest()); err != nil {
		t.Fatal(err)
	}
	if got := b.requests.Load(); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}

func TestControllerChannelClose_NoController_EndsRequest(t *testing.T) {
	looked := make(chan struct{}, 1)
	c := NewControllerChannel(ChannelOptions{
		Lookup: func() (string, bool) {
			select {
			case looked <- struct{}{}:
			default:
			}
			return "", false
		},
	})
	go func() { <-looked; _ = c.Close() }()
	if _, err := c.Request(t.Context(), shutdownRequest()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestControllerChannel_SilentController_LeftWhenAnotherIsElected(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{})
	old := startBroker(t, func(int32, []byte) []byte { close(asked); <-release; return nil })
	defer close(release)
	next := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(0) })
	c := NewControllerChannel(ChannelOptions{
		Backoff: time.Millisecond,
		Lookup: func() (string, bool) {
			select {
			case <-asked:
				return next.addr, true
			default:
				return old.addr, true
			}
		},
	})
	defer func() { _ = c.Close() }()
	if _, err := c.Request(t.Context(), shutdownRequest()); err != nil {
		t.Fatal(err)
	}
}
