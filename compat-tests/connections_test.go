//go:build compat

package compat

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

func TestConnections_Idle_ClosedInTime(t *testing.T) {
	jackdawOnly(t, "closes one idle connection a round of its selector")
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"connections.max.idle.ms": "3000"}})
	b := c.Brokers[0]
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	before := openFiles(t, b)
	var conns []*wire.Conn
	for i := range 400 {
		conn := dial(t, b.Addr())
		if i%2 == 1 { // half of a request
			if err := conn.WriteRaw(append(wire.Size(100), make([]byte, 40)...)); err != nil {
				t.Fatal(err)
			}
		}
		conns = append(conns, conn)
	}
	began := time.Now()
	for i, conn := range conns {
		if _, err := conn.ReadFrame(5*time.Second - min(4*time.Second, time.Since(began))); !errors.Is(err, wire.ErrClosed) {
			t.Errorf("connection %d of 400 after %v: %v, want it closed", i, time.Since(began), err)
			break
		}
	}
	t.Logf("400 idle connections closed within %v", time.Since(began).Round(time.Millisecond))
	cluster.Eventually(t, 10*time.Second, "descriptors given back", func() error {
		if n := openFiles(t, b); n > before+20 {
			return fmt.Errorf("%d open files, %d before", n, before)
		}
		return nil
	})
	checkAlive(t, c)
}

// TestConnections_RequestInProgress_NotIdle: a long poll outlives the idle time.
func TestConnections_RequestInProgress_NotIdle(t *testing.T) {
	jackdawOnly(t, "closes a connection whose long poll lasts longer than the idle time")
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"connections.max.idle.ms": "2000"}})
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	req := wire.NewFetch(wire.Position{Topic: topic})
	req.MaxWaitMillis = 5000
	began := time.Now()
	r, err := wire.Ask[*kmsg.FetchResponse](c.Brokers[0].Addr(), req, 11)
	if err != nil {
		t.Fatalf("a long poll of 5 s with an idle time of 2 s: %v after %v", err, time.Since(began))
	}
	if r.Topics[0].Partitions[0].ErrorCode != 0 || time.Since(began) < 4*time.Second {
		t.Errorf("answered after %v with error %d", time.Since(began), r.Topics[0].Partitions[0].ErrorCode)
	}
}

// dialFrom connects from another loopback address, so that limits per address do not hit the harness.
func dialFrom(t *testing.T, source, addr string) *wire.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 5 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &wire.Conn{Conn: c, ClientID: "compat"}
}

func TestConnections_TooManyFromOneAddress_ClosedAtOnce(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"max.connections.per.ip": "5"}})
	addr := c.Brokers[0].Addr()
	var held []*wire.Conn
	for i := range 5 {
		conn := dialFrom(t, "127.0.0.2", addr)
		if _, err := conn.Do(newApiVersions(), 3); err != nil {
			t.Fatalf("connection %d of 5: %v", i+1, err)
		}
		held = append(held, conn)
	}
	for range 5 {
		conn := dialFrom(t, "127.0.0.2", addr)
		if _, err := conn.ReadFrame(5 * time.Second); !errors.Is(err, wire.ErrClosed) {
			t.Errorf("a connection too many: %v, want it closed", err)
		}
	}
	if _, err := dialFrom(t, "127.0.0.3", addr).Do(newApiVersions(), 3); err != nil {
		t.Errorf("another address: %v", err)
	}
	if err := held[0].Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 10*time.Second, "a slot that came back", func() error {
		_, err := dialFrom(t, "127.0.0.2", addr).Do(newApiVersions(), 3)
		return err
	})
}

// TestConnections_ClientThatNeverReads_MemoryBounded: 20 fetches of 50 MiB in a pipe and nobody reads the answers.
func TestConnections_ClientThatNeverReads_MemoryBounded(t *testing.T) {
	c := one(t)
	b := c.Brokers[0]
	topic := topicName(t)
	createTopic(t, c, topic, 1, 1)
	for range 60 {
		mustProduce(t, b.Addr(), topic, 0, 1, wire.Values(string(make([]byte, 900<<10))))
	}
	before := rss(t, b)
	for range 3 {
		conn := dial(t, b.Addr())
		for range 20 {
			req := wire.NewFetch(wire.Position{Topic: topic, MaxBytes: 50 << 20})
			if _, err := conn.WriteRequest(req, 11); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 20 {
		checkAlive(t, c)
	}
	if grown := rss(t, b) - before; grown > 128<<20 && cluster.Target() == cluster.Jackdaw {
		t.Errorf("resident memory grew by %d MiB for connections that do not read", grown>>20)
	}
}

// TestConnections_FrozenPeers_Forgotten: clients that hang with requests in flight, some with answers that no longer fit
// the socket, are closed when the idle time is over, and their descriptors come back.
func TestConnections_FrozenPeers_Forgotten(t *testing.T) {
	jackdawOnly(t, "closes one idle connection a round of its selector")
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{"connections.max.idle.ms": "3000"}})
	b := c.Brokers[0]
	topic, empty := topicName(t), topicName(t)+"-empty"
	createTopic(t, c, topic, 1, 1)
	createTopic(t, c, empty, 1, 1)
	for range 30 {
		mustProduce(t, b.Addr(), topic, 0, 1, wire.Values(string(make([]byte, 900<<10))))
	}
	before := openFiles(t, b)
	for i := range 60 {
		req := wire.NewFetch(wire.Position{Topic: topic, MaxBytes: 50 << 20})
		if i%2 == 0 { // a long poll that is answered when nobody listens any more
			req = wire.NewFetch(wire.Position{Topic: empty})
			req.MaxWaitMillis = 1000
		}
		if _, err := dial(t, b.Addr()).WriteRequest(req, 11); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, 30*time.Second, "descriptors given back", func() error {
		if n := openFiles(t, b); n > before+10 {
			return fmt.Errorf("%d open files, %d before", n, before)
		}
		return nil
	})
	checkAlive(t, c)
}
