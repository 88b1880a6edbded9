package zkstore_test

import (
	"context"
	"testing"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
)

// embedded runs an embedded server until the test ends. Its sessions last between 0.4 and 4 seconds.
func embedded(t testing.TB) string {
	t.Helper()
	s, err := zkserver.Open(zkserver.Options{Addr: "127.0.0.1:0", FS: vfs.NewMem(nil), Dir: "/zk", Tick: 200 * time.Millisecond})
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
	return s.Addr()
}

// client starts a client and returns its session.
func client(t testing.TB, cfg zkstore.Config) (*zkstore.Client, *zkstore.Session) {
	t.Helper()
	c := zkstore.NewClient(cfg)
	t.Cleanup(c.Close)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, c.Session()
}
