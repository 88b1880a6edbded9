package peer

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestConnIdle_ContextEnds_ConnectionIsStillGood(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(0) })
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if err := c.Idle(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := c.Request(t.Context(), shutdownRequest()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConnIdle_PeerCloses_IsReset(t *testing.T) {
	answers := make(chan []byte, 1)
	b := startBroker(t, func(int32, []byte) []byte { return <-answers })
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.nc.Write([]byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil { // makes the peer ask for an answer
		t.Fatal(err)
	}
	close(answers) // it has none and closes
	err = c.Idle(t.Context())
	if !IsReset(err) {
		t.Errorf("got %v, want a reset", err)
	}
	if _, again := c.Request(t.Context(), shutdownRequest()); !errors.Is(again, err) {
		t.Errorf("request: %v, want the first error", again)
	}
}

func TestConnIdle_UnaskedBytes_Refused(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(0) })
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.nc.Write([]byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := c.Idle(t.Context()); !errors.Is(err, errUnasked) {
		t.Errorf("got %v, want %v", err, errUnasked)
	}
}

func TestConnIdle_Closed_ErrClosed(t *testing.T) {
	b := startBroker(t, func(int32, []byte) []byte { return shutdownResponse(0) })
	c, err := Dial(t.Context(), b.addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Millisecond, func() { _ = c.Close() })
	if err := c.Idle(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}
