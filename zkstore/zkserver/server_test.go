package zkserver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server until the test ends.
func start(t *testing.T, o zkserver.Options) *zkserver.Server {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	s, err := zkserver.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial connects the Go client and waits for its session.
func dial(t *testing.T, s *zkserver.Server) *zk.Conn {
	t.Helper()
	has := make(chan struct{}, 16)
	c, _, err := zk.Connect([]string{s.Addr()}, 5*time.Second, zk.WithLogger(quiet{}), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			has <- struct{}{}
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	select {
	case <-has:
	case <-t.Context().Done():
		t.Fatal("no session")
	}
	return c
}

func TestServer_GoClient_BasicOperations(t *testing.T) {
	c := dial(t, start(t, zkserver.Options{FS: vfs.NewMem(nil), Dir: "/zk"}))
	acl := zk.WorldACL(zk.PermAll)
	if _, err := c.Create("/a", nil, 0, acl); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create("/a", nil, 0, acl); !errors.Is(err, zk.ErrNodeExists) {
		t.Errorf("second create: %v", err)
	}
	data, st, err := c.Get("/a")
	if err != nil || data != nil || st.Version != 0 {
		t.Errorf("null data came back as %q, %+v, %v", data, st, err)
	}
	_, _, ev, err := c.GetW("/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set("/a", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if e := <-ev; e.Type != zk.EventNodeDataChanged || e.Path != "/a" {
		t.Errorf("event %+v", e)
	}
	if _, err := c.Set("/a", []byte("x"), 0); !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("stale set: %v", err)
	}
	p, err := c.Create("/a/s-", []byte{}, zk.FlagSequence|zk.FlagEphemeral, acl)
	if err != nil || p != "/a/s-0000000000" {
		t.Errorf("sequential: %q, %v", p, err)
	}
	res, err := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 1}, &zk.CreateRequest{Path: "/a/m", Acl: acl}, &zk.DeleteRequest{Path: "/nope"})
	if !errors.Is(err, zk.ErrNoNode) || len(res) != 3 {
		t.Errorf("multi: %+v, %v", res, err)
	}
	if ok, _, _ := c.Exists("/a/m"); ok {
		t.Error("a failed multi left a node")
	}
}
