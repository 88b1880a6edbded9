package zkstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// recorder keeps the order of calls.
type recorder struct {
	mu    sync.Mutex
	calls []string
	ch    chan string
}

func newRecorder() *recorder { return &recorder{ch: make(chan string, 64)} }

func (r *recorder) add(s string) {
	r.mu.Lock()
	r.calls = append(r.calls, s)
	r.mu.Unlock()
	r.ch <- s
}

func TestClient_SessionExpires_HooksInOrderAndNewSession(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		c := zkstore.NewClient(e.through(p).short())
		t.Cleanup(c.Close)
		rec := newRecorder()
		var sessions []*zkstore.Session
		for _, name := range []string{"a", "b"} {
			c.OnSession(name, func(ctx context.Context, s *zkstore.Session) error {
				if name == "a" {
					sessions = append(sessions, s)
					if _, err := s.Create(ctx, "/eph", nil, zkstore.Ephemeral); err != nil {
						return err
					}
				}
				rec.add("start " + name)
				return nil
			}, func() { rec.add("expire " + name) })
		}
		must(t, c.Start(t.Context()))
		expect(t, rec.ch, "start a")
		expect(t, rec.ch, "start b")
		_, direct := client(t, e.config())
		p.close()
		expect(t, rec.ch, "expire b")
		expect(t, rec.ch, "expire a")
		if err := context.Cause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := sessions[0].Get(t.Context(), "/"); !errors.Is(err, zkstore.ErrSessionExpired) {
			t.Errorf("old session: %v", err)
		}
		waitGone(t, direct, "/eph")
		p.open()
		expect(t, rec.ch, "start a")
		expect(t, rec.ch, "start b")
		if sessions[0].ID() == sessions[1].ID() || c.Session() != sessions[1] {
			t.Error("no new session")
		}
		c.Close()
		if got := strings.Join(rec.calls[6:], ","); got != "expire b,expire a" {
			t.Errorf("at the end: %s", got)
		}
		// The session was closed, not left to expire.
		if exists, _, err := direct.Exists(t.Context(), "/eph"); exists || err != nil {
			t.Errorf("ephemeral node after Close: %v, %v", exists, err)
		}
	})
}

func waitGone(t *testing.T, s *zkstore.Session, path string) {
	t.Helper()
	for {
		exists, _, ch, err := s.ExistsW(t.Context(), path)
		must(t, err)
		if !exists {
			return
		}
		select {
		case <-ch:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is still there", path)
		}
	}
}

func TestClient_ConnectionFrozen_LocalClockExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		_, s := client(t, e.through(p).short())
		begin := time.Now()
		p.freeze()
		select {
		case <-s.Done():
		case <-time.After(20 * time.Second):
			t.Fatal("session lives without a sign of the server")
		}
		if took := time.Since(begin); took < 500*time.Millisecond {
			t.Errorf("after %v already", took)
		}
	})
}

func TestClient_OwnNodesLeftBySession_Replaced(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		cfg := e.through(p).short()
		c := zkstore.NewClient(cfg)
		t.Cleanup(c.Close)
		type life struct {
			epoch int64
			e     zkstore.Election
			won   bool
			err   error
		}
		lives, gone := make(chan life, 8), make(chan struct{}, 8)
		c.OnSession("broker", func(ctx context.Context, s *zkstore.Session) (err error) {
			var l life
			defer func() { l.err = err; lives <- l }()
			if err = s.EnsurePersistentPaths(ctx); err != nil {
				return err
			}
			if l.epoch, err = s.RegisterBroker(ctx, broker(1, 9092)); err != nil {
				return err
			}
			l.e, l.won, _, err = s.ElectController(ctx, 1)
			return err
		}, func() { gone <- struct{}{} })
		must(t, c.Start(t.Context()))
		first := <-lives
		// The server goes on hearing pings of the old session, so that only this client believes that it is over.
		stop := p.orphan()
		defer stop()
		<-gone
		p.open()
		second := <-lives
		for second.err != nil {
			second = <-lives
		}
		if second.epoch <= first.epoch || !second.won || second.e.Epoch != 2 {
			t.Errorf("first %+v, second %+v", first, second)
		}
	})
}

func TestClient_ConnectionLost_WatchesSeeWhatWasMissed(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		_, s := client(t, e.through(p).config())
		_, other := client(t, e.config())
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		kids, data := make(chan string, 64), make(chan string, 64)
		wg.Go(func() {
			_ = s.WatchChildren(ctx, "/w", func(names []string) { kids <- fmt.Sprint(len(names)) })
		})
		wg.Go(func() {
			_ = s.WatchData(ctx, "/w/d", func(b []byte, st zkstore.Stat, exists bool) { data <- fmt.Sprint(string(b), exists) })
		})
		expect(t, kids, "0")
		expect(t, data, "false")
		create := func(path, b string) {
			t.Helper()
			_, err := other.Create(t.Context(), path, []byte(b), zkstore.Persistent)
			must(t, err)
		}
		create("/w", "")
		eventually(t, kids, "0")
		create("/w/d", "1")
		eventually(t, kids, "1")
		eventually(t, data, "1true")
		p.close()
		create("/w/e", "")
		_, err := other.Set(t.Context(), "/w/d", []byte("2"), -1)
		must(t, err)
		p.open()
		eventually(t, kids, "2")
		eventually(t, data, "2true")
		must(t, other.Delete(t.Context(), "/w/d", -1))
		eventually(t, kids, "1")
		eventually(t, data, "false")
	})
}

// eventually waits for a value, past others.
func eventually(t *testing.T, ch <-chan string, want string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-ch:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("no %q", want)
		}
	}
}

// An answer that is lost leaves open whether the operation was done: each must be resolved to what happened.
func TestSession_AnswerLost_WriteResolvedByReadBack(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		_, s := prepared(t, e.through(p).config())
		ctx := t.Context()
		_, err := s.Create(ctx, "/f", []byte("0"), zkstore.Persistent)
		must(t, err)

		p.loseAnswer()
		if path, err := s.Create(ctx, "/f/c", []byte("x"), zkstore.Persistent); err != nil || path != "/f/c" {
			t.Errorf("create: %q, %v", path, err)
		}
		p.loseAnswer()
		if path, err := s.Create(ctx, "/f/e", nil, zkstore.Ephemeral); err != nil || path != "/f/e" {
			t.Errorf("ephemeral: %q, %v", path, err)
		}
		p.loseAnswer()
		if st, err := s.Set(ctx, "/f", []byte("1"), 0); err != nil || st.Version != 1 {
			t.Errorf("set: %+v, %v", st, err)
		}
		p.loseAnswer()
		if err := s.Delete(ctx, "/f/c", 0); err != nil {
			t.Errorf("delete: %v", err)
		}
		p.loseAnswer()
		res, err := s.Multi(ctx, zkstore.CheckOp("/f", 1), zkstore.SetOp("/f", []byte("2"), 1), zkstore.CreateOp("/f/m", nil, zkstore.Persistent))
		if err != nil || len(res) != 3 || res[1].Stat.Version != 2 {
			t.Errorf("multi: %+v, %v", res, err)
		}
		p.loseAnswer()
		if _, err := s.Set(ctx, "/f", []byte("stale"), 0); !errors.Is(err, zkstore.ErrBadVersion) {
			t.Errorf("stale set: %v", err)
		}
		p.loseAnswer()
		if _, err := s.RegisterBroker(ctx, broker(1, 9092)); err != nil {
			t.Errorf("register: %v", err)
		}
		p.loseAnswer()
		el, won, _, err := s.ElectController(ctx, 1)
		if err != nil || !won || el.Epoch != 1 || el.EpochZKVersion != 1 {
			t.Errorf("elect: %+v %v %v", el, won, err)
		}
		tp := metadata.TopicPartition{Topic: "t"}
		must(t, s.CreateTopic(ctx, "t", znode.TopicAssignment{Partitions: map[int32][]metadata.BrokerID{0: ids(1)}}, nil))
		state := metadata.LeaderAndISR{ControllerEpoch: 1, Leader: 1, ISR: ids(1)}
		w := s.Controller(el)
		if r, err := w.CreatePartitionStates(ctx, []zkstore.PartitionWrite{{TP: tp, State: state}}); err != nil || r[0].Err != nil {
			t.Errorf("create state: %+v %v", r, err)
		}
		p.loseAnswer()
		if r, err := w.SetPartitionStates(ctx, []zkstore.PartitionWrite{{TP: tp, State: state}}); err != nil || r[0].Err != nil || r[0].Version != 1 {
			t.Errorf("set state: %+v %v", r, err)
		}
		data, st, err := s.Get(ctx, "/f")
		if err != nil || string(data) != "2" || st.Version != 2 {
			t.Errorf("in the end: %q %+v %v", data, st, err)
		}
	})
}

// Connections break all the time while two sessions count a node up: no count may be lost or done twice.
func TestSession_CutsUnderLoad_CountsExactly(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		p := newProxy(t, e.addr)
		_, plain := client(t, e.config())
		_, err := plain.Create(t.Context(), "/n", []byte{}, zkstore.Persistent)
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var cutter, counters sync.WaitGroup
		cutter.Go(func() {
			tick := time.NewTicker(15 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					p.cut()
				case <-ctx.Done():
					return
				}
			}
		})
		const each = 60
		var stale [2]int
		for i := range 2 {
			_, s := client(t, e.through(p).config())
			counters.Go(func() {
				for n := 0; n < each; {
					data, st, err := s.Get(t.Context(), "/n")
					if err != nil {
						t.Error(err)
						return
					}
					_, err = s.Set(t.Context(), "/n", append(data, byte('a'+i)), st.Version)
					switch {
					case err == nil:
						n++
					case errors.Is(err, zkstore.ErrBadVersion):
						stale[i]++
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		counters.Wait()
		stop()
		cutter.Wait()
		data, _, err := plain.Get(t.Context(), "/n")
		must(t, err)
		a, b := strings.Count(string(data), "a"), strings.Count(string(data), "b")
		// A set whose answer was lost and which was overwritten at once cannot be told from one that was never done, and
		// is reported as stale: so there may be more than was counted, by no more than what was reported.
		for i, n := range []int{a, b} {
			if n < each || n > each+stale[i] {
				t.Errorf("writer %d counted %d, the node has %d, %d were stale", i, each, n, stale[i])
			}
		}
	})
}

func TestClient_Chroot_CreatedWithParents(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		cfg := e.config()
		cfg.Chroot += "/deep/er/"
		_, s := client(t, cfg)
		_, err := s.Create(t.Context(), "/x", nil, zkstore.Persistent)
		must(t, err)
		kids, _, ch, err := s.ChildrenW(t.Context(), "/")
		if err != nil || len(kids) != 1 || kids[0] != "x" {
			t.Errorf("%v %v", kids, err)
		}
		_, root := client(t, e.config())
		if exists, _, err := root.Exists(t.Context(), "/deep/er/x"); err != nil || !exists {
			t.Errorf("%v %v", exists, err)
		}
		must(t, root.Delete(t.Context(), "/deep/er/x", -1))
		if ev := <-ch; ev.Type != zkstore.NodeChildrenChanged || ev.Path != "/" {
			t.Errorf("event %+v", ev)
		}
	})
}

func TestClient_Start_Unreachable_OneClearLine(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := ln.Addr().String()
	must(t, ln.Close())
	c := zkstore.NewClient(zkstore.Config{Servers: []string{addr}, ConnectTimeout: 300 * time.Millisecond})
	begin := time.Now()
	err = c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "300ms") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestClient_Start_ServerSilent_Fails(t *testing.T) {
	p := newProxy(t, embedded(t))
	p.freeze()
	c := zkstore.NewClient(zkstore.Config{Servers: []string{p.addr()}, ConnectTimeout: 300 * time.Millisecond})
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Errorf("got %v", err)
	}
}

func TestClient_Start_OneOfTwoServersDown_Connects(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	dead := ln.Addr().String()
	must(t, ln.Close())
	cfg := env{addr: embedded(t)}.config()
	cfg.Servers = append(cfg.Servers, dead)
	_, s := client(t, cfg)
	if !s.Connected() {
		t.Error("not connected")
	}
}

func TestClient_Start_HookFails_ErrorOfHook(t *testing.T) {
	c := zkstore.NewClient(env{addr: embedded(t)}.config())
	rec := newRecorder()
	boom := errors.New("boom")
	c.OnSession("first", func(context.Context, *zkstore.Session) error { return nil }, func() { rec.add("first") })
	c.OnSession("second", func(context.Context, *zkstore.Session) error { return boom }, func() { rec.add("second") })
	c.OnSession("third", func(context.Context, *zkstore.Session) error { rec.add("third"); return nil }, func() { rec.add("third") })
	if err := c.Start(t.Context()); !errors.Is(err, boom) || !strings.Contains(err.Error(), "second") {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(rec.calls, ","); got != "second,first" {
		t.Errorf("ended: %s", got)
	}
}

func TestSession_ContextEnds_CallReturns(t *testing.T) {
	p := newProxy(t, embedded(t))
	_, s := client(t, env{addr: p.addr()}.config())
	p.freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.Get(ctx, "/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := s.GetMany(ctx, []string{"/", "/"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestClient_Close_WhileHookWaits_HookIsEnded(t *testing.T) {
	c := zkstore.NewClient(env{addr: embedded(t)}.config())
	waiting := make(chan struct{})
	c.OnSession("slow", func(ctx context.Context, _ *zkstore.Session) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	started := make(chan error, 1)
	go func() { started <- c.Start(t.Context()) }()
	<-waiting
	c.Close()
	if err := <-started; err == nil {
		t.Error("started without its hook")
	}
	c.Close()
	if c.Session() != nil {
		t.Error("a closed client has a session")
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a closed client started")
	}
}

func TestClient_LaterHookFails_SessionGivenUpForAnother(t *testing.T) {
	p := newProxy(t, embedded(t))
	c := zkstore.NewClient(env{addr: p.addr()}.short())
	t.Cleanup(c.Close)
	rec := newRecorder()
	n := 0
	c.OnSession("flaky", func(context.Context, *zkstore.Session) error {
		n++
		rec.add(fmt.Sprint("start ", n))
		if n == 2 {
			return errors.New("not now")
		}
		return nil
	}, func() { rec.add("expire") })
	must(t, c.Start(t.Context()))
	p.close()
	expect(t, rec.ch, "start 1")
	expect(t, rec.ch, "expire")
	p.open()
	expect(t, rec.ch, "start 2")
	expect(t, rec.ch, "expire")
	expect(t, rec.ch, "start 3")
}

func TestClient_WaitSession_NextOneAndClose(t *testing.T) {
	p := newProxy(t, embedded(t))
	c, s := client(t, env{addr: p.addr()}.short())
	if got, err := c.WaitSession(t.Context()); err != nil || got != s {
		t.Errorf("%v %v", got, err)
	}
	p.close()
	<-s.Done()
	for c.Session() == s { // told a moment later
		_ = s.EnsureFeature(t.Context())
	}
	p.open()
	if got, err := c.WaitSession(t.Context()); err != nil || got == s {
		t.Errorf("%v %v", got, err)
	}
	c.Close()
	if _, err := c.WaitSession(t.Context()); err == nil {
		t.Error("a closed client gave a session")
	}
}
