package network

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"jackdaw/protocol"
)

// diskFile is an open file as the log gives it.
type diskFile struct{ *os.File }

func (f diskFile) Fd() (uintptr, bool) { return f.File.Fd(), true }

func tempFile(t testing.TB, n int) (diskFile, []byte) {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return diskFile{f}, data
}

// parts makes a response of ranges of a file, with bytes between them, and says what it must look like.
func parts(corr int32, f protocol.File, data []byte, sizes ...int) (ps []protocol.Part, want []byte) {
	head := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	ps, want = []protocol.Part{{Bytes: head}}, head[4:]
	pos := 3
	for i, n := range sizes {
		ps = append(ps, protocol.Part{Range: protocol.FileRange{File: f, Pos: int64(pos), Len: n}}, protocol.Part{Bytes: []byte{byte(i)}})
		want = append(append(want[:len(want):len(want)], data[pos:pos+n]...), byte(i))
		pos += n
	}
	binary.BigEndian.PutUint32(head, uint32(len(want)))
	return ps, want
}

func TestRespondParts_FileRanges_SentWhole(t *testing.T) {
	f, data := tempFile(t, 12<<20)
	for _, listener := range []string{"PLAINTEXT", "SSL"} { // sent by sendfile, and copied
		t.Run(listener, func(t *testing.T) {
			done := make(chan struct{}, 1)
			var want atomic.Pointer[[]byte]
			s := startServer(t, Options{Listeners: secured(t)}, func(r *Request) {
				ps, w := parts(r.CorrelationID, f, data, 0, 1, 100, sendfileMin-1, sendfileMin, 3<<20, 7, 100_000, smallFrame, 5<<20)
				want.Store(&w)
				r.RespondParts(ps, func() { done <- struct{}{} })
			})
			c := dial(t, s, listener)
			if listener == "SSL" {
				c = c.overTLS(clientTLS(t, "keys.pkcs12"))
			}
			for range 3 {
				c.send(metadataRequest())
				got, err := c.frame()
				if err != nil || !bytes.Equal(got, *want.Load()) {
					t.Fatalf("%v, %d bytes, want %d", err, len(got), len(*want.Load()))
				}
				receive(t, done)
			}
		})
	}
}

// A file that is shorter than promised cannot be made good: the connection ends, and what was pinned is let go.
func TestRespondParts_ShortFile_Closed(t *testing.T) {
	f, _ := tempFile(t, 100_000)
	for _, n := range []int{10, 200_000} {
		done := make(chan struct{}, 1)
		s := startServer(t, Options{}, func(r *Request) {
			r.RespondParts([]protocol.Part{
				{Bytes: []byte{0, 1, 0, 0}},
				{Range: protocol.FileRange{File: f, Pos: 99_995, Len: n}},
			}, func() { done <- struct{}{} })
		})
		c := dial(t, s, "PLAINTEXT")
		c.send(metadataRequest())
		if _, err := c.frame(); err == nil {
			t.Errorf("%d bytes: a whole answer", n)
		}
		receive(t, done)
	}
}

// Case S05 (c): who never reads has one request in work, and is closed when nothing moves.
func TestConn_PeerNeverReads_OneRequestInWork(t *testing.T) {
	f, _ := tempFile(t, 30<<20)
	var handled, done atomic.Int32
	first := make(chan struct{}, 20)
	s := startServer(t, Options{IdleTimeout: 200 * time.Millisecond, SendBuffer: 64 << 10}, func(r *Request) {
		handled.Add(1)
		first <- struct{}{}
		r.RespondParts([]protocol.Part{
			{Bytes: []byte{0x01, 0xe0, 0, 0}},
			{Range: protocol.FileRange{File: f, Len: 30 << 20}},
		}, func() { done.Add(1) })
	})
	c := dial(t, s, "PLAINTEXT")
	for range 20 {
		c.send(metadataRequest())
	}
	receive(t, first)
	s.waitGone(t)
	if handled.Load() != 1 || done.Load() != 1 {
		t.Errorf("%d handled, %d released; want one each", handled.Load(), done.Load())
	}
}

// waitGone waits until no connection is left.
func (s *Server) waitGone(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if s.eachConn(func(*Conn) {}) == 0 {
			return
		}
	}
	t.Fatal("connections are left")
}

// A peer that goes away while its answer is being made: the answer is dropped and let go, once.
func TestRespondParts_PeerGone_DoneCalledOnce(t *testing.T) {
	parked := make(chan *Request, 1)
	s := startServer(t, Options{IdleTimeout: 100 * time.Millisecond}, func(r *Request) { r.Unmute(); parked <- r })
	c := dial(t, s, "PLAINTEXT")
	c.send(produceRequest(-1, nil))
	r := receive(t, parked)
	r.Conn.close()
	var done atomic.Int32
	r.RespondParts(nil, func() { done.Add(1) })
	s.waitGone(t)
	if done.Load() != 1 {
		t.Errorf("done called %d times", done.Load())
	}
}

// The whole way of a small Produce through this layer: what is left is the client id, the Request, and kmsg's four pieces.
func TestServer_Produce_FewAllocations(t *testing.T) {
	resp := produceRequest(1, nil).ResponseKind()
	s := startServer(t, Options{}, func(r *Request) { r.Unmute(); r.Respond(resp) })
	c := dial(t, s, "PLAINTEXT")
	req := protocol.AppendRequest(nil, "test", 1, produceRequest(1, make([]byte, 100)))
	in := make([]byte, 1000)
	n := testing.AllocsPerRun(200, func() {
		if _, err := c.Write(req); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(in); err != nil {
			t.Fatal(err)
		}
	})
	if n > 8 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	f, _ := tempFile(b, 1<<20)
	b.Run("produce", func(b *testing.B) {
		resp := produceRequest(1, nil).ResponseKind()
		s := startServer(b, Options{}, func(r *Request) { r.Unmute(); r.Respond(resp) })
		benchmarkRoundTrip(b, s, protocol.AppendRequest(nil, "bench", 1, produceRequest(1, make([]byte, 1000))))
	})
	for _, n := range []int{1000, 100_000} {
		b.Run("fetch"+map[int]string{1000: "-copied", 100_000: "-sendfile"}[n], func(b *testing.B) {
			head := binary.BigEndian.AppendUint32(nil, uint32(n))
			ps := []protocol.Part{{Bytes: head}, {Range: protocol.FileRange{File: f, Len: n}}}
			s := startServer(b, Options{}, func(r *Request) { r.RespondParts(ps, nil) })
			benchmarkRoundTrip(b, s, protocol.AppendRequest(nil, "bench", 1, metadataRequest()))
		})
	}
}

func benchmarkRoundTrip(b *testing.B, s *Server, req []byte) {
	c := dial(b, s, "PLAINTEXT")
	if err := c.SetDeadline(time.Time{}); err != nil {
		b.Fatal(err)
	}
	in := make([]byte, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(req); err != nil {
			b.Fatal(err)
		}
		want := 4
		for have := 0; have < want; {
			n, err := c.Read(in[have:])
			if err != nil {
				b.Fatal(err)
			}
			if have += n; have >= 4 {
				want = 4 + int(binary.BigEndian.Uint32(in))
			}
		}
	}
}
