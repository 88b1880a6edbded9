package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/peer"
)

func newTestSender() *sender {
	return &sender{id: 1, now: time.Now, backoff: 100 * time.Millisecond, lg: slog.New(slog.DiscardHandler)}
}

func TestSenderPush_QueueTooLong_OnlyStopReplicaKept(t *testing.T) {
	s := newTestSender()
	stop := kmsg.NewPtrStopReplicaRequest()
	if !s.push(metadata.Broker{ID: 1}, stop) {
		t.Fatal("the first request did not fit")
	}
	for range maxQueued - 1 {
		if !s.push(metadata.Broker{ID: 1}, kmsg.NewPtrUpdateMetadataRequest()) {
			t.Fatal("a request below the bound did not fit")
		}
	}
	last := kmsg.NewPtrLeaderAndISRRequest()
	if s.push(metadata.Broker{ID: 1}, last) {
		t.Fatal("the queue has no bound")
	}
	for _, want := range []kmsg.Request{stop, last} {
		if q, _, ok := s.pop(); !ok || q.body != want {
			t.Errorf("got %T, want %T", q.body, want)
		}
	}
	if _, _, ok := s.pop(); ok {
		t.Error("something else was kept")
	}
}

func TestSenderRun_BrokerUnreachable_TriesUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender()
		attempts := 0
		s.dial = func(context.Context, metadata.Broker) (*peer.Conn, error) {
			attempts++
			return nil, errors.New("connection refused")
		}
		s.deliver = func(context.Context, answer) { t.Error("an answer came from nowhere") }
		s.push(metadata.Broker{ID: 1}, kmsg.NewPtrUpdateMetadataRequest())
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		if attempts != 11 {
			t.Errorf("%d attempts in 1.05 s, want one each 100 ms", attempts)
		}
	})
}

func TestSenderRun_NewAddress_IsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender()
		var hosts []string
		s.dial = func(_ context.Context, b metadata.Broker) (*peer.Conn, error) {
			hosts = append(hosts, b.Endpoints[0].Host)
			return nil, errors.New("connection refused")
		}
		at := func(host string) metadata.Broker {
			return metadata.Broker{ID: 1, Endpoints: []metadata.Endpoint{{Host: host}}}
		}
		s.push(at("old"), kmsg.NewPtrUpdateMetadataRequest())
		time.AfterFunc(150*time.Millisecond, func() { s.push(at("new"), kmsg.NewPtrUpdateMetadataRequest()) })
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(hosts) != 3 || hosts[1] != "old" || hosts[2] != "new" {
			t.Errorf("dialed %v", hosts)
		}
	})
}
