package zkserver_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zkserver"
)

// raw speaks the protocol byte by byte, for what the Go client does not send.
type raw struct {
	t  *testing.T
	nc net.Conn
}

func dialRaw(t *testing.T, addr string) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return &raw{t, nc}
}

// msg is a message under construction.
type msg []byte

func (m msg) i32(v int32) msg  { return binary.BigEndian.AppendUint32(m, uint32(v)) }
func (m msg) i64(v int64) msg  { return binary.BigEndian.AppendUint64(m, uint64(v)) }
func (m msg) str(s string) msg { return append(m.i32(int32(len(s))), s...) }
func (m msg) bool(b bool) msg  { return append(m, map[bool]byte{true: 1}[b]) }
func (m msg) acl() msg         { return m.i32(1).i32(31).str("world").str("anyone") }
func (m msg) strs(s ...string) msg {
	m = m.i32(int32(len(s)))
	for _, x := range s {
		m = m.str(x)
	}
	return m
}

func (r *raw) send(m msg) {
	r.t.Helper()
	if _, err := r.nc.Write(append(msg{}.i32(int32(len(m))), m...)); err != nil {
		r.t.Fatal(err)
	}
}

// recv reads one message; nil when the server has closed the connection.
func (r *raw) recv() msg {
	r.t.Helper()
	var head [4]byte
	_, err := io.ReadFull(r.nc, head[:])
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		r.t.Fatal("no answer")
	}
	if err != nil {
		return nil
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(r.nc, b); err != nil {
		r.t.Fatal(err)
	}
	return b
}

// session is what the handshake gave.
type session struct {
	id, timeoutMs int64
	password      string
}

func (r *raw) connect(lastZxid int64, timeoutMs int32, s session) (session, bool) {
	r.t.Helper()
	password := s.password
	if password == "" {
		password = strings.Repeat("\x00", 16)
	}
	r.send(msg{}.i32(0).i64(lastZxid).i32(timeoutMs).i64(s.id).str(password).bool(false))
	b := r.recv()
	if b == nil {
		return session{}, false
	}
	if len(b) != 4+4+8+4+16+1 {
		r.t.Fatalf("answer of %d bytes to a client with a read-only flag", len(b))
	}
	return session{
		timeoutMs: int64(binary.BigEndian.Uint32(b[4:])), id: int64(binary.BigEndian.Uint64(b[8:])), password: string(b[20:36]),
	}, true
}

// call sends a request and returns the error code and the body of the answer, past events.
func (r *raw) call(op int32, body msg) (code int32, answer msg) {
	r.t.Helper()
	r.send(append(msg{}.i32(77).i32(op), body...))
	for {
		b := r.recv()
		if b == nil {
			return -4, nil
		}
		if xid := int32(binary.BigEndian.Uint32(b)); xid != -1 {
			return int32(binary.BigEndian.Uint32(b[12:])), b[16:]
		}
	}
}

func connected(t *testing.T, s *zkserver.Server) *raw {
	t.Helper()
	r := dialRaw(t, s.Addr())
	if sess, ok := r.connect(0, 10000, session{}); !ok || sess.id == 0 {
		t.Fatal("no session")
	}
	return r
}

func mem() zkserver.Options {
	return zkserver.Options{FS: vfs.NewMem(nil), Dir: "/zk", Tick: 100 * time.Millisecond}
}

func TestConnect_Timeouts_BetweenTwoAndTwentyTicks(t *testing.T) {
	s := start(t, mem())
	for asked, want := range map[int32]int64{1: 200, 500: 500, 60000: 2000, -5: 200} {
		if got, ok := dialRaw(t, s.Addr()).connect(0, asked, session{}); !ok || got.timeoutMs != want {
			t.Errorf("asked %d, got %+v", asked, got)
		}
	}
}

func TestConnect_SessionMoves_OldConnectionEnds(t *testing.T) {
	s := start(t, mem())
	a, b := dialRaw(t, s.Addr()), dialRaw(t, s.Addr())
	sess, _ := a.connect(0, 2000, session{})
	if code, _ := a.call(1, msg{}.str("/e").i32(-1).acl().i32(1)); code != 0 {
		t.Fatalf("create: %d", code)
	}
	again, ok := b.connect(0, 2000, sess)
	if !ok || again != sess {
		t.Errorf("attached to %+v, want %+v", again, sess)
	}
	if got := a.recv(); got != nil {
		t.Errorf("the old connection got %v", got)
	}
	if code, _ := b.call(3, msg{}.str("/e").bool(false)); code != 0 {
		t.Errorf("ephemeral node: %d", code)
	}
}

func TestConnect_WrongPasswordOrUnknownSession_Expired(t *testing.T) {
	s := start(t, mem())
	sess, _ := dialRaw(t, s.Addr()).connect(0, 2000, session{})
	for _, bad := range []session{{id: sess.id, password: strings.Repeat("x", 16)}, {id: 12345}} {
		r := dialRaw(t, s.Addr())
		if got, ok := r.connect(0, 2000, bad); !ok || got.id != 0 || got.timeoutMs != 0 {
			t.Errorf("got %+v, %v", got, ok)
		}
		if r.recv() != nil {
			t.Error("the connection goes on")
		}
	}
}

func TestConnect_ClientAheadOfServer_Refused(t *testing.T) {
	s := start(t, mem())
	if _, ok := dialRaw(t, s.Addr()).connect(99, 2000, session{}); ok {
		t.Error("a client of another data directory was taken")
	}
}

func TestSession_NoPing_ExpiresAndEphemeralsGo(t *testing.T) {
	s := start(t, mem())
	silent, watcher := dialRaw(t, s.Addr()), dial(t, s)
	sess, _ := silent.connect(0, 300, session{})
	silent.call(1, msg{}.str("/e").i32(-1).acl().i32(1))
	exists, _, ev, err := watcher.ExistsW("/e")
	if err != nil || !exists {
		t.Fatal(exists, err)
	}
	<-ev
	if silent.recv() != nil {
		t.Error("the connection of an expired session goes on")
	}
	if got, _ := dialRaw(t, s.Addr()).connect(0, 300, sess); got.id != 0 {
		t.Errorf("came back as %+v", got)
	}
}

func TestRequests_EveryKind_CodeAndBody(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	stat := 68
	tests := []struct {
		name string
		op   int32
		body msg
		code int32
		size int // of the answer's body
	}{
		{"create", 1, msg{}.str("/a").str("x").acl().i32(0), 0, 4 + 2},
		{"create2", 15, msg{}.str("/a/b").str("x").acl().i32(0), 0, 4 + 4 + stat},
		{"create container", 19, msg{}.str("/c").str("x").acl().i32(4), -6, 0},
		{"create ttl", 21, msg{}.str("/c").str("x").acl().i32(5).i64(1), -6, 0},
		{"exists", 3, msg{}.str("/a").bool(false), 0, stat},
		{"exists not", 3, msg{}.str("/no").bool(true), -101, 0},
		{"get", 4, msg{}.str("/a").bool(true), 0, 4 + 1 + stat},
		{"set", 5, msg{}.str("/a").str("yy").i32(0), 0, stat},
		{"get acl", 6, msg{}.str("/a"), 0, 4 + 4 + 4 + 5 + 4 + 6 + stat},
		{"set acl", 7, msg{}.str("/a").acl().i32(0), 0, stat},
		{"children", 8, msg{}.str("/a").bool(true), 0, 4 + 4 + 1},
		{"children2", 12, msg{}.str("/a").bool(false), 0, 4 + 4 + 1 + stat},
		{"sync", 9, msg{}.str("/a"), 0, 4 + 2},
		{"ping", 11, nil, 0, 0},
		{"check", 13, msg{}.str("/a").i32(1), 0, stat},
		{"check stale", 13, msg{}.str("/a").i32(0), -103, 0},
		{"get ephemerals", 103, msg{}.str("/"), 0, 4},
		{"count children", 104, msg{}.str("/a"), 0, 4},
		{"who am I", 107, nil, 0, 4 + 4 + 2 + 4 + 9},
		{"auth digest", 100, msg{}.i32(0).str("digest").str("u:p"), 0, 0},
		{"set watches", 101, msg{}.i64(1).strs("/a").strs("/no").strs("/a"), 0, 0},
		{"set watches 2", 105, msg{}.i64(1 << 40).strs("/a").strs("/no").strs("/a").strs("/a").strs("/a"), 0, 0},
		{"check watches", 17, msg{}.str("/a").i32(3), 0, 0},
		{"remove watches", 18, msg{}.str("/a").i32(2), 0, 0},
		{"remove watches again", 18, msg{}.str("/a").i32(2), -121, 0},
		{"add watch", 106, msg{}.str("/a").i32(1), 0, 4},
		{"add watch of no mode", 106, msg{}.str("/a").i32(7), -8, 0},
		{"reconfig", 16, msg{}.str("").str("").str("").i64(0), -6, 0},
		{"a kind that does not exist", 999, nil, -6, 0},
		{"a body that ends early", 1, msg{}.str("/x"), -5, 0},
		{"a body with a negative length", 3, msg{}.i32(-7), -5, 0},
		{"multi without operations", 14, msg{}.i32(-1).bool(true).i32(-1), 0, 9},
		{"multi that ends early", 14, msg{}.i32(13).bool(false).i32(-1).str("/a"), -5, 0},
		{"multi with a read", 14, msg{}.i32(4).bool(false).i32(-1).str("/a").bool(false), -6, 0},
		{"delete", 2, msg{}.str("/a/b").i32(-1), 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, body := r.call(tt.op, tt.body)
			if code != tt.code || len(body) != tt.size {
				t.Errorf("code %d, body of %d bytes, want %d and %d", code, len(body), tt.code, tt.size)
			}
		})
	}
}

func TestRequests_MultiRead_ResultForEach(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	r.call(1, msg{}.str("/a").str("x").acl().i32(0))
	code, body := r.call(22, msg{}.i32(4).bool(false).i32(-1).str("/a").bool(false).i32(8).bool(false).i32(-1).str("/a").bool(false).
		i32(4).bool(false).i32(-1).str("/no").bool(false).i32(-1).bool(true).i32(-1))
	want := msg{}.i32(4).bool(false).i32(0).str("x")
	if code != 0 || len(body) < len(want) || string(body[:len(want)]) != string(want) {
		t.Fatalf("%d %v", code, body)
	}
	rest := body[len(want)+68:]
	end := msg{}.i32(8).bool(false).i32(0).strs().i32(-1).bool(false).i32(-101).i32(-101).i32(-1).bool(true).i32(-1)
	if d := cmp.Diff(end, rest); d != "" {
		t.Error(d)
	}
}

func TestRequests_MultiFailed_ErrorsAsZooKeeper(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	header := func(m msg, op int32) msg { return m.i32(op).bool(false).i32(-1) }
	m := header(nil, 1).str("/a").i32(-1).acl().i32(0)
	m = header(m, 13).str("/no").i32(0)
	m = header(m, 2).str("/a").i32(-1)
	code, body := r.call(14, m.i32(-1).bool(true).i32(-1))
	want := msg{}
	for _, c := range []int32{0, -101, -2} {
		want = want.i32(-1).bool(false).i32(c).i32(c)
	}
	if d := cmp.Diff(want.i32(-1).bool(true).i32(-1), body); d != "" || code != 0 {
		t.Errorf("%d %s", code, d)
	}
}

func TestRequests_Events_BeforeLaterAnswers(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	r.call(3, msg{}.str("/w").bool(true))
	other := connected(t, s)
	other.call(1, msg{}.str("/w").i32(-1).acl().i32(0))
	// The answer shows the node, so the event of its creation must come first.
	r.send(msg{}.i32(5).i32(3).str("/w").bool(false))
	event := r.recv()
	want := msg{}.i32(-1).i64(-1).i32(0).i32(1).i32(3).str("/w")
	if d := cmp.Diff(want, event); d != "" {
		t.Error(d)
	}
	if b := r.recv(); int32(binary.BigEndian.Uint32(b)) != 5 {
		t.Errorf("answer %v", b)
	}
}

func TestRequests_CloseSession_AnsweredThenClosed(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	if code, _ := r.call(-11, nil); code != 0 {
		t.Errorf("code %d", code)
	}
	if r.recv() != nil {
		t.Error("the connection goes on")
	}
}

func TestRequests_AuthOfUnknownScheme_RefusedAndClosed(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	if code, _ := r.call(100, msg{}.i32(0).str("kerberos").str("x")); code != -115 {
		t.Errorf("code %d", code)
	}
	if r.recv() != nil {
		t.Error("the connection goes on")
	}
}

func TestConn_ForeignBytes_ClosedAndOthersServed(t *testing.T) {
	s := start(t, mem())
	good := connected(t, s)
	for name, b := range map[string]string{
		"http": "GET / HTTP/1.1\r\n\r\n", "tls": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "negative": "\xff\xff\xff\xff",
		"short handshake": "\x00\x00\x00\x04\x00\x00\x00\x00", "huge": "\x7f\xff\xff\xff",
	} {
		r := dialRaw(t, s.Addr())
		if _, err := r.nc.Write([]byte(b)); err != nil {
			t.Fatal(err)
		}
		if got := r.recv(); got != nil {
			t.Errorf("%s: answered %v", name, got)
		}
	}
	long := connected(t, s)
	_, _ = long.nc.Write(msg{}.i32(0x100000))
	if long.recv() != nil {
		t.Error("a request above the limit was not refused")
	}
	if code, _ := good.call(3, msg{}.str("/").bool(false)); code != 0 {
		t.Errorf("another connection: %d", code)
	}
}

func TestConn_TooManyFromOneAddress_Refused(t *testing.T) {
	o := mem()
	o.MaxClientConns = 2
	s := start(t, o)
	first := connected(t, s)
	connected(t, s)
	if _, ok := dialRaw(t, s.Addr()).connect(0, 1000, session{}); ok {
		t.Error("a third connection was taken")
	}
	_ = first.nc.Close()
	for { // the server learns of the end in its own time
		if _, ok := dialRaw(t, s.Addr()).connect(0, 1000, session{}); ok {
			return
		}
	}
}

func TestFourLetter_Commands_Text(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	r.call(1, msg{}.str("/e").str("x").acl().i32(1))
	for cmd, want := range map[string][]string{
		"ruok": {"imok"}, "isro": {"rw"},
		"srvr": {"Zookeeper version: 3.8", "Zxid: 0x2\n", "Mode: standalone\n", "Node count: 4\n"},
		"stat": {"Clients:\n /127.0.0.1:", "Node count: 4\n"},
		"mntr": {"zk_server_state\tstandalone\n", "zk_znode_count\t4\n", "zk_ephemerals_count\t1\n", "zk_global_sessions\t1\n"},
		"dump": {"not in the whitelist"},
	} {
		c := dialRaw(t, s.Addr())
		if _, err := io.WriteString(c.nc, cmd); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c.nc)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s: no %q in\n%s", cmd, w, b)
			}
		}
	}
}

func TestConn_Pipelined_AnswersInOrder(t *testing.T) {
	s := start(t, mem())
	r := connected(t, s)
	const n = 3000 // more than may wait, so that the reader has to stop now and then
	go func() {
		for i := range n {
			m := msg{}.i32(int32(i)).i32(1).str(fmt.Sprintf("/n%d", i)).i32(-1).acl().i32(0)
			if _, err := r.nc.Write(append(msg{}.i32(int32(len(m))), m...)); err != nil {
				return
			}
		}
	}()
	for i := range n {
		b := r.recv()
		if b == nil || int(binary.BigEndian.Uint32(b)) != i || binary.BigEndian.Uint32(b[12:]) != 0 {
			t.Fatalf("answer %d: %v", i, b)
		}
	}
}
