package bench

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

func TestBare_WithFollowers_AnswersEveryRequest(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	serve := func(followers ...string) string {
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b := Bare{Dir: t.TempDir(), Followers: followers}
		wg.Go(func() {
			if err := b.Serve(ctx, ln); err != nil {
				t.Error(err)
			}
		})
		return ln.Addr().String()
	}
	leader := serve(serve(), serve())
	r, err := Run(ctx, Load{Verb: Produce, Bootstrap: leader, Direct: true, Topic: "bare", Acks: -1, Conns: 2, For: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests == 0 || r.Bytes != r.Requests*64*1024 {
		t.Errorf("got %+v", r)
	}
}
