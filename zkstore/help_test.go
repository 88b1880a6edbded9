package zkstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
	"jackdaw/zkstore/znode"
)

// classpathEnv names the jars of Apache ZooKeeper and its logger, as java -cp takes them.
const classpathEnv = "JACKDAW_ZK_CLASSPATH"

// apacheServer is shared by all tests, each of which has a chroot of its own.
var apacheServer struct {
	addr string
	err  error
	// tests counts chroots, since a test may run many times.
	tests atomic.Int64
}

func TestMain(m *testing.M) {
	stop := func() {}
	if cp := os.Getenv(classpathEnv); cp != "" {
		apacheServer.addr, stop, apacheServer.err = startApache(cp)
	}
	code := m.Run()
	stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goleak:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// startApache runs Apache ZooKeeper on a port that it chooses itself, and finds out which.
func startApache(cp string) (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "jackdaw-zk")
	if err != nil {
		return "", func() {}, err
	}
	logging := "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n" +
		"log4j.appender.out.layout=org.apache.log4j.PatternLayout\nlog4j.appender.out.layout.ConversionPattern=%m%n\n"
	if err := os.WriteFile(filepath.Join(dir, "log4j"), []byte(logging), 0o600); err != nil {
		return "", func() {}, err
	}
	// Arguments: port, data directory, tick in ms, connections from one address. Port 0 is any free one.
	cmd := exec.Command("java", "-Xmx128m", "-cp", cp, "-Dlog4j.configuration=file:"+filepath.Join(dir, "log4j"),
		"-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.forceSync=no",
		"org.apache.zookeeper.server.ZooKeeperServerMain", "0", filepath.Join(dir, "data"), "200", "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", func() {}, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", func() {}, err
	}
	var drained sync.WaitGroup
	stop = func() {
		_ = cmd.Process.Kill()
		drained.Wait()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	lines := bufio.NewScanner(out)
	var seen []string
	for lines.Scan() {
		seen = append(seen, lines.Text())
		if strings.Contains(lines.Text(), "request_throttler") || strings.Contains(lines.Text(), "PrepRequestProcessor (sid:0) started") {
			drained.Go(func() { _, _ = io.Copy(io.Discard, out) })
			addr, err = listenAddr(cmd.Process.Pid)
			return addr, stop, err
		}
	}
	stop()
	return "", func() {}, fmt.Errorf("zookeeper did not start:\n%s", strings.Join(seen, "\n"))
}

// listenAddr finds the port that a process listens on, in /proc.
func listenAddr(pid int) (string, error) {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return "", err
	}
	inodes := map[string]bool{}
	for _, fd := range fds {
		link, err := os.Readlink(fd)
		if err == nil && strings.HasPrefix(link, "socket:[") {
			inodes[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(b), "\n") {
			f := strings.Fields(line)
			const listening = "0A"
			if len(f) < 10 || f[3] != listening || !inodes[f[9]] {
				continue
			}
			var port int
			if _, err := fmt.Sscanf(f[1][strings.LastIndexByte(f[1], ':')+1:], "%X", &port); err == nil {
				return fmt.Sprintf("127.0.0.1:%d", port), nil
			}
		}
	}
	return "", fmt.Errorf("process %d listens on no port", pid)
}

// onBoth runs a contract test on the embedded server and on Apache ZooKeeper. f gets an address and an own chroot.
func onBoth(t *testing.T, f func(t *testing.T, e env)) {
	t.Helper()
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, env{addr: embedded(t), chroot: ""})
	})
	t.Run("apache", func(t *testing.T) {
		e := apache(t)
		t.Parallel()
		f(t, e)
	})
}

// apache is a chroot of Apache ZooKeeper. The test is skipped where there is none, but never by the CI.
func apache(t *testing.T) env {
	t.Helper()
	if os.Getenv(classpathEnv) == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set", classpathEnv)
		}
		t.Skipf("%s is not set", classpathEnv)
	}
	if apacheServer.err != nil {
		t.Fatal(apacheServer.err)
	}
	return env{addr: apacheServer.addr, chroot: fmt.Sprintf("/test-%d", apacheServer.tests.Add(1))}
}

// env is a place for one test.
type env struct{ addr, chroot string }

// config is that of a client whose session lives 4 seconds.
func (e env) config() zkstore.Config {
	return zkstore.Config{Servers: []string{e.addr}, Chroot: e.chroot, SessionTimeout: 4 * time.Second, MaxInFlight: 32}
}

// short is config with a session of a second, for tests that wait for its end.
func (e env) short() zkstore.Config {
	c := e.config()
	c.SessionTimeout = time.Second
	return c
}

// through is the place seen through a proxy.
func (e env) through(p *proxy) env { return env{addr: p.addr(), chroot: e.chroot} }

// embedded runs an embedded server until the test ends.
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
	if testing.Verbose() && os.Getenv("JACKDAW_TEST_LOG") != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c := zkstore.NewClient(cfg)
	t.Cleanup(c.Close)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, c.Session()
}

// prepared is client with the persistent paths in place.
func prepared(t testing.TB, cfg zkstore.Config) (*zkstore.Client, *zkstore.Session) {
	t.Helper()
	c, s := client(t, cfg)
	if err := s.EnsurePersistentPaths(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, s
}

func broker(id metadata.BrokerID, port int32) znode.BrokerInfo {
	return znode.BrokerInfo{Broker: metadata.Broker{ID: id, Endpoints: []metadata.Endpoint{
		{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: port},
	}}, JMXPort: -1}
}

func ids(v ...metadata.BrokerID) []metadata.BrokerID { return v }

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// proxy stands between client and server and spoils connections.
type proxy struct {
	ln     net.Listener
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex
	pairs map[*pair]struct{}
	// refuse closes new connections at once.
	refuse bool
	// lose closes a connection instead of passing the next answer on.
	lose bool
	// pass is closed while bytes may pass.
	pass chan struct{}
}

// pair is a connection from the client and the one to the server.
type pair struct {
	down, up net.Conn
	// orphaned tells that the client's end is gone and the server is not to know; guarded by proxy.mu.
	orphaned bool
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{ln: ln, target: target, pairs: map[*pair]struct{}{}, pass: make(chan struct{})}
	close(p.pass)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.thaw()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

func (p *proxy) accept() {
	for {
		down, err := p.ln.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.refuse {
			p.mu.Unlock()
			_ = down.Close()
			if up != nil {
				_ = up.Close()
			}
			continue
		}
		c := &pair{down: down, up: up}
		p.pairs[c] = struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(c, up, down, false) })
		p.wg.Go(func() { p.copy(c, down, up, true) })
	}
}

func (p *proxy) copy(c *pair, dst, src net.Conn, answers bool) {
	defer p.closeUnlessOrphaned(c)
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		gate, lose, orphaned := p.pass, answers && p.lose, c.orphaned
		if lose {
			p.lose = false
		}
		p.mu.Unlock()
		if lose {
			return
		}
		if orphaned {
			continue
		}
		<-gate
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) closeUnlessOrphaned(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = c.down.Close()
	if !c.orphaned {
		_ = c.up.Close()
		delete(p.pairs, c)
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		_ = c.down.Close()
		_ = c.up.Close()
	}
}

// orphan closes the client's ends of all connections and refuses new ones until open, while the server goes on hearing
// of the sessions until stop.
func (p *proxy) orphan() (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	done := make(chan struct{})
	var wg sync.WaitGroup
	for c := range p.pairs {
		c.orphaned = true
		_ = c.down.Close()
		wg.Go(func() {
			defer c.up.Close()
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				ping := []byte{0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11}
				if _, err := c.up.Write(ping); err != nil {
					return
				}
				select {
				case <-tick.C:
				case <-done:
					return
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

// loseAnswer makes the next answer end its connection instead.
func (p *proxy) loseAnswer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = true
}

// close refuses connections until open, and cuts those that are there.
func (p *proxy) close() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.cut()
}

func (p *proxy) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
}

// freeze lets connections stand without a byte passing.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.pass:
	default:
		close(p.pass)
	}
}
