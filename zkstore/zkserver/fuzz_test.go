package zkserver

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zktree"
)

// idle returns a server that does not run, and a connection with a session.
func idle(t testing.TB) (*Server, *conn) {
	t.Helper()
	s, err := Open(Options{Addr: "127.0.0.1:0", FS: vfs.NewMem(nil), Dir: "/zk"})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	t.Cleanup(func() {
		_, _ = near.Close(), far.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := newConn(s, near, 1, netip.IPv4Unspecified())
	s.mu.conns[c.id] = c
	if ok, err := s.connect(c, handshake()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return s, c
}

func handshake() []byte {
	e := &encoder{}
	e.int32(0)
	e.int64(0)
	e.int32(30000)
	e.int64(0)
	e.bytes(make([]byte, 16))
	return e.b
}

// Whatever a client sends, the server answers with one well-formed message and stays in order.
func FuzzHandle(f *testing.F) {
	seed := func(op opcode, body func(e *encoder)) {
		e := &encoder{}
		e.int32(1)
		e.int32(int32(op))
		body(e)
		f.Add(e.b)
	}
	seed(opCreate, func(e *encoder) { e.string("/a"); e.bytes(nil); e.acl(zktree.OpenACL()); e.int32(3) })
	seed(opSetData, func(e *encoder) { e.string("/a"); e.bytes([]byte("x")); e.int32(-1) })
	seed(opGetChildren2, func(e *encoder) { e.string("/"); e.bool(true) })
	seed(opMulti, func(e *encoder) {
		multiHeader(e, opDelete, false, -1)
		e.string("/a")
		e.int32(0)
		multiHeader(e, opError, true, -1)
	})
	seed(opMultiRead, func(e *encoder) { multiHeader(e, opGetData, false, -1); e.string("/"); e.bool(false) })
	seed(opSetWatches2, func(e *encoder) { e.int64(0); e.strings([]string{"/a"}); e.int32(-1); e.int32(1 << 30) })
	seed(opAddWatch, func(e *encoder) { e.string("/"); e.int32(1) })
	s, c := idle(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > s.opts.MaxRequestBytes {
			return
		}
		c.mu.queue, c.mu.bytes = nil, 0
		s.handle(c, b)
		if s.mu.bySession[c.session] != c { // a closed session: go on with another
			if ok, err := s.connect(c, handshake()); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for _, m := range c.mu.queue {
			if int(binary.BigEndian.Uint32(m.b)) != len(m.b)-4 {
				t.Fatalf("message of %d bytes says %d", len(m.b)-4, binary.BigEndian.Uint32(m.b))
			}
		}
		s.mu.group = nil
	})
}

func FuzzDecodeConnect(f *testing.F) {
	f.Add(handshake())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeConnect(b); err == nil && len(r.password) > len(b) {
			t.Error("password is longer than the message")
		}
	})
}

// A request may not make the server allocate much more than its own length.
func TestDecoder_HugeCounts_AllocatesLittle(t *testing.T) {
	s, c := idle(t)
	for _, op := range []opcode{opCreate, opSetWatches, opMulti, opSetACL} {
		e := &encoder{}
		e.int32(1)
		e.int32(int32(op))
		e.int64(0)
		for range 16 {
			e.int32(0x7ffffff0)
		}
		b := e.b
		if n := testing.AllocsPerRun(10, func() { s.handle(c, b) }); n > 50 {
			t.Errorf("op %d: %v allocations", op, n)
		}
	}
}

func TestParseName_OwnFilesOnly(t *testing.T) {
	if z, ok := parseName(strings.TrimPrefix(fileName("/d", journalPrefix, 0x1f), "/d/"), journalPrefix); !ok || z != 0x1f {
		t.Errorf("%d %v", z, ok)
	}
	for _, name := range []string{"journal.1f", "journal.00000000000000zz", "snapshot.000000000000001f.tmp", "lock"} {
		if _, ok := parseName(name, journalPrefix); ok {
			t.Errorf("%s was taken", name)
		}
	}
}
