package controller_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"jackdaw/controller"
)

// link stands between one broker and ZooKeeper and can be cut.
type link struct {
	ln     net.Listener
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]struct{}
}

func newLink(t *testing.T, target string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &link{ln: ln, target: target, conns: map[net.Conn]struct{}{}}
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(true)
		l.wg.Wait()
	})
	return l
}

func (l *link) accept() {
	for {
		a, err := l.ln.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", l.target)
		if err != nil {
			_ = a.Close()
			continue
		}
		l.mu.Lock()
		l.conns[a], l.conns[b] = struct{}{}, struct{}{}
		if l.down {
			_, _ = a.Close(), b.Close()
		}
		l.mu.Unlock()
		for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
			l.wg.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = a.Close(), b.Close()
			})
		}
	}
}

// set cuts the link, or lets new connections through again.
func (l *link) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	if down {
		for nc := range l.conns {
			_ = nc.Close()
			delete(l.conns, nc)
		}
	}
}

// The controller's session expires while it is cut off. Another takes over; when the first comes back it is an ordinary broker
// with a new epoch, and gets its partitions again.
func TestControllerSessionExpires_StepsDownAndComesBackAsBroker(t *testing.T) {
	c := newCluster(t)
	l := newLink(t, c.zkAddr)
	direct := c.zkAddr
	c.zkAddr = l.ln.Addr().String()
	c.sessionTimeout = time.Second
	first := c.start(1)
	c.zkAddr, c.sessionTimeout = direct, 4*time.Second
	c.start(2)
	c.create("a", ids(1, 2))
	before := first.epoch.Load()
	l.set(true)
	c.await("controller 2", c.nodes[2].controller.Active)
	c.await("leader 2", func() bool { li, _ := c.state("a", 0); return li.Leader == 2 && slices.Equal(li.ISR, ids(2)) })
	c.await("controller 1 to step down", func() bool { return !first.controller.Active() })
	l.set(false)
	c.await("broker 1 back", func() bool { return slices.Contains(c.nodes[2].live(), 1) && first.epoch.Load() != before })
	c.await("broker 1 to follow", func() bool { li, _ := first.partition(tp("a", 0)); return li.Leader == 2 })
	if first.controller.Active() {
		t.Error("two controllers are active")
	}
}

// A connection that is lost for a moment loses no watch: what changed meanwhile is read again.
func TestConnectionLost_ChangesAreSeen(t *testing.T) {
	c := newCluster(t)
	l := newLink(t, c.zkAddr)
	direct := c.zkAddr
	c.zkAddr = l.ln.Addr().String()
	c.start(1)
	c.zkAddr = direct
	c.create("a", ids(1))
	l.set(true)
	must(t, c.admin.RequestTopicDeletion(t.Context(), "a"))
	l.set(false)
	c.await("topic gone", func() bool {
		names, err := c.admin.Topics(t.Context())
		must(t, err)
		return len(names) == 0
	})
	if c.leader().Epoch() != 1 {
		t.Errorf("controller epoch %d, want 1: the session was good all along", c.leader().Epoch())
	}
}

func TestSessionExpired_BeforeRun_DoesNotWait(t *testing.T) {
	c := controller.New(controller.Config{BrokerID: 1})
	c.SessionExpired()
}
