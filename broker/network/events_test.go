package network

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/security"
)

func TestEventLog_Flood_BoundedAndCounted(t *testing.T) {
	var out bytes.Buffer
	l := eventLog{lg: slog.New(slog.NewTextHandler(&out, nil))}
	at := time.Unix(1000, 0)
	for range 1000 {
		l.logAt(eventSize, "c", errors.New("x"), at)
	}
	l.logAt(eventMalformed, "c", errors.New("x"), at) // a kind of its own
	l.logAt(eventSize, "c", errors.New("x"), at.Add(time.Second))
	if n := strings.Count(out.String(), "frame size"); n != eventsPerSecond+1 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(out.String(), "skipped=990") || strings.Count(out.String(), "malformed") != 1 {
		t.Errorf("log is\n%s", out.String())
	}
}

func TestServer_Metrics_KafkasNames(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := startServer(t, Options{Metrics: reg, Throttle: func(*Request) time.Duration { return time.Millisecond }}, answerAll)
	c := dial(t, s, "PLAINTEXT")
	served(c)
	served(c) // the first was counted before this was read
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "Metadata" && (m.GetCounter().GetValue() > 0 || m.GetSummary().GetSampleCount() > 0) {
					got[f.GetName()] = true
				}
			}
		}
	}
	for _, name := range []string{"kafka_network_requestmetrics_requests_total", "kafka_network_requestmetrics_totaltimems", "kafka_network_requestmetrics_throttletimems"} {
		if !got[name] {
			t.Errorf("%s has not counted: %v", name, got)
		}
	}
}

func TestConn_Accessors(t *testing.T) {
	seen := make(chan *Conn, 1)
	s := startServer(t, Options{}, func(r *Request) { seen <- r.Conn; answerAll(r) })
	c := dial(t, s, "PLAINTEXT")
	served(c)
	got := receive(t, seen)
	if got.Listener() != "PLAINTEXT" || got.RemoteHost() != "/127.0.0.1" || got.Host() != "127.0.0.1" || got.Principal() != security.Anonymous || got.InterBroker() {
		t.Errorf("%s %s %s", got.Listener(), got.RemoteHost(), got.Principal())
	}
	if want := s.Addr("PLAINTEXT").String() + "-" + c.LocalAddr().String() + "-0"; got.ID() != want {
		t.Errorf("id %s, want %s", got.ID(), want)
	}
	got.SetPrincipal(security.User("alice"))
	if got.Principal() != security.User("alice") {
		t.Error("principal")
	}
}

func TestHostOf_IPv6_IsWrittenInFull(t *testing.T) {
	for ip, want := range map[string]string{"::1": "0:0:0:0:0:0:0:1", "2001:db8::a0:1": "2001:db8:0:0:0:0:a0:1", "10.0.0.1": "10.0.0.1"} {
		if got := hostOf(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %s", ip, got)
		}
	}
}
