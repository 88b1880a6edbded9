package network

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// Case S05 (a) and (b): silent connections and half frames go after the idle time.
func TestServer_IdleConnections_Closed(t *testing.T) {
	s := startServer(t, Options{IdleTimeout: 100 * time.Millisecond}, answerAll)
	var cs []*client
	for i := range 50 {
		c := dial(t, s, "PLAINTEXT")
		if i%2 == 0 {
			if _, err := c.Write([]byte("\x00\x00\x00\x64half")); err != nil {
				t.Fatal(err)
			}
		}
		cs = append(cs, c)
	}
	for _, c := range cs {
		c.expectClosed()
	}
}

// A long poll is not idle; after its answer the time begins anew.
func TestServer_RequestInWork_NotIdle(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{IdleTimeout: 50 * time.Millisecond}, func(r *Request) { parked <- r })
	c, idle := dial(t, s, "PLAINTEXT"), dial(t, s, "PLAINTEXT")
	c.send(metadataRequest())
	r := receive(t, parked)
	idle.expectClosed() // so the idle time has passed
	r.Respond(r.Body.ResponseKind())
	c.expect(1)
	c.expectClosed()
}

// Case S05 (d).
func TestServer_TooManyPerIP_Rejected(t *testing.T) {
	s := startServer(t, Options{MaxConnsPerIP: 2}, answerAll)
	a, b := dial(t, s, "PLAINTEXT"), dial(t, s, "PLAINTEXT")
	served(a)
	served(b)
	dial(t, s, "PLAINTEXT").expectClosed()
	_ = a.Close()
	untilServed(t, s)
}

func TestServer_OverridePerIP_GoesBefore(t *testing.T) {
	s := startServer(t, Options{MaxConnsPerIP: 1, MaxConnsPerIPOverrides: map[string]int{"127.0.0.1": 2}}, answerAll)
	served(dial(t, s, "PLAINTEXT"))
	served(dial(t, s, "PLAINTEXT"))
	dial(t, s, "PLAINTEXT").expectClosed()
}

// Past the broker's bound connections wait until one ends, but never those of brokers.
func TestServer_BrokerFull_InterBrokerServed(t *testing.T) {
	s := startServer(t, Options{
		MaxConns: 2,
		Listeners: []ListenerConfig{
			{Name: "PLAINTEXT", Addr: "127.0.0.1:0"},
			{Name: "OTHER", Addr: "127.0.0.1:0"},
			{Name: "INTERNAL", Addr: "127.0.0.1:0", InterBroker: true},
		},
	}, answerAll)
	first := dial(t, s, "PLAINTEXT")
	served(first)
	served(dial(t, s, "OTHER"))
	late := dial(t, s, "PLAINTEXT")
	late.send(metadataRequest())
	inter := []*client{dial(t, s, "INTERNAL"), dial(t, s, "INTERNAL")}
	for _, c := range inter {
		served(c)
	}
	if n := s.eachConn(func(*Conn) {}); n != 4 {
		t.Errorf("%d connections are served, want 4", n)
	}
	_ = first.Close()
	for _, c := range inter {
		_ = c.Close()
	}
	if _, err := late.frame(); err != nil {
		t.Errorf("no room although three have gone: %v", err)
	}
}

func TestServer_ListenerFull_SlotComesBack(t *testing.T) {
	s := startServer(t, Options{Listeners: []ListenerConfig{{Name: "SMALL", Addr: "127.0.0.1:0", MaxConns: 1}}}, answerAll)
	first := dial(t, s, "SMALL")
	served(first)
	second := dial(t, s, "SMALL")
	second.send(metadataRequest())
	_ = first.Close()
	second.expect(1)
}

func served(c *client) {
	c.t.Helper()
	c.send(metadataRequest())
	c.expect(c.corr)
}

// untilServed dials until a connection is served: the end of another is noticed at any time.
func untilServed(t *testing.T, s *Server) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		c := dial(t, s, "PLAINTEXT")
		_, _ = c.Write([]byte(frame(3, 1, false, "\xff\xff\xff\xff")))
		if _, err := c.frame(); err == nil {
			return
		}
	}
	t.Fatal("no slot has come back")
}

func TestServer_Close_AnswersWhatIsInWork(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{}, func(r *Request) { parked <- r })
	idle, busy := dial(t, s, "PLAINTEXT"), dial(t, s, "PLAINTEXT")
	busy.send(metadataRequest(), metadataRequest())
	r := receive(t, parked)
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	idle.expectClosed()
	r.Respond(r.Body.ResponseKind())
	busy.expect(1)
	busy.expectClosed() // the second request is not read any more
	if err := receive(t, closed); err != nil {
		t.Error(err)
	}
}

func TestServer_CloseTimesOut_CutsOff(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{}, func(r *Request) { parked <- r })
	c := dial(t, s, "PLAINTEXT")
	c.send(metadataRequest())
	r := receive(t, parked)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c.expectClosed()
	r.Respond(r.Body.ResponseKind()) // too late, and harmless
}

func TestServer_StartTwiceOnOnePort_NamesListener(t *testing.T) {
	s := startServer(t, Options{}, answerAll)
	again := New(Options{Listeners: []ListenerConfig{{Name: "EXTERNAL", Addr: s.Addr("PLAINTEXT").String()}}})
	if err := again.Start(); err == nil || err.Error()[:17] != "listener EXTERNAL" {
		t.Errorf("got %v", err)
	}
}

// A listener that is added serves at once. When it is removed, what is in work is answered, and others go on.
func TestServer_ListenerAddedAndRemoved_OthersGoOn(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{}, func(r *Request) {
		if r.Conn.Listener() == "EXTRA" {
			parked <- r
			return
		}
		r.Respond(r.Body.ResponseKind())
	})
	stays := dial(t, s, "PLAINTEXT")
	served(stays)
	extra := ListenerConfig{Name: "EXTRA", Addr: "127.0.0.1:0"}
	if err := s.AddListener(extra); err != nil {
		t.Fatal(err)
	}
	if err := s.AddListener(extra); err == nil {
		t.Error("added twice")
	}
	asking, silent := dial(t, s, "EXTRA"), dial(t, s, "EXTRA")
	asking.send(metadataRequest())
	r := receive(t, parked)
	addr := s.Addr("EXTRA").String()
	s.RemoveListener("EXTRA")
	s.RemoveListener("EXTRA")
	silent.expectClosed()
	r.Respond(r.Body.ResponseKind())
	asking.expect(1)
	asking.expectClosed()
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("somebody listens there still")
	}
	stays.send(metadataRequest())
	stays.expect(2)
	if err := s.AddListener(ListenerConfig{Name: "OTHER", Addr: addr}); err != nil {
		t.Errorf("the port of the removed listener: %v", err)
	}
	s.StopAccepting()
	if err := s.AddListener(ListenerConfig{Name: "LATE", Addr: "127.0.0.1:0"}); err == nil {
		t.Error("added while the server stops")
	}
}
