package network

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/budget"
)

// frame is a whole request frame of a header of version 1 or 2 without client id, and a body.
func frame(key, version byte, flexible bool, body string) string {
	h := string([]byte{0, key, 0, version, 0, 0, 0, 1, 0xff, 0xff})
	if flexible {
		h += "\x00"
	}
	n := len(h) + len(body)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + h + body
}

// hostile is what comes on a port of Kafka's that is not Kafka, or lies (case S02). Each must cost its connection.
var hostile = map[string]string{
	"HTTP":                          "GET / HTTP/1.1\r\n\r\n",
	"TLS ClientHello":               "\x16\x03\x01\x00\xf5\x01\x00\x00",
	"size -1":                       "\xff\xff\xff\xff",
	"size 0":                        "\x00\x00\x00\x00",
	"size 2^31-1":                   "\x7f\xff\xff\xff",
	"size limit + 1":                "\x06\x40\x00\x01",
	"a frame of 3 bytes":            "\x00\x00\x00\x03abc",
	"unknown key":                   frame(99, 0, false, ""),
	"Metadata v13":                  frame(3, 13, true, ""),
	"Produce v2":                    frame(0, 2, false, ""),
	"array of 2^31-1":               frame(3, 1, false, "\x7f\xff\xff\xff"),
	"compact array of 2^32-2":       frame(3, 9, true, "\xff\xff\xff\xff\x0f"),
	"string past the frame":         frame(3, 1, false, "\x00\x00\x00\x01\x40\x00abc"),
	"negative length":               frame(3, 1, false, "\x00\x00\x00\x01\xff\xfe"),
	"null for an array":             frame(19, 0, false, "\xff\xff\xff\xff\x00\x00\x00\x00"),
	"varint of six bytes":           frame(3, 9, true, "\x80\x80\x80\x80\x80\x00"),
	"bytes left over":               frame(3, 1, false, "\x00\x00\x00\x00abc"),
	"nested arrays of 10^6":         frame(0, 3, false, "\xff\xff\x00\x01\x00\x00\x00\x00"+string(bytes.Repeat([]byte("\x00\x0f\x42\x40\x00\x00"), 30))),
	"ApiVersions v3, name past end": frame(18, 3, true, "\x7fabc"),
}

func TestConn_HostileBytes_ClosedAndOthersServed(t *testing.T) {
	s := startServer(t, Options{}, answerAll)
	other := dial(t, s, "PLAINTEXT")
	for name, in := range hostile {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s, "PLAINTEXT")
			if _, err := c.Write([]byte(in)); err != nil {
				t.Fatal(err)
			}
			c.expectClosed()
		})
	}
	other.send(metadataRequest())
	other.expect(1)
}

// 200 connections that claim 100 MiB each and send little of it must not cost memory.
func TestConn_LyingSizes_LittleMemory(t *testing.T) {
	s := startServer(t, Options{Budget: budget.New(1 << 30)}, answerAll)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 200 {
		c := dial(t, s, "PLAINTEXT")
		if _, err := c.Write(append([]byte{0x06, 0x40, 0, 0}, make([]byte, 100*(i%2))...)); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, s, "PLAINTEXT")
	c.send(metadataRequest())
	c.expect(1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("heap grew by %d MiB", grown>>20)
	}
	c.send(produceRequest(1, make([]byte, 50<<20))) // is served, which shows that the budget is not taken
	c.expect(2)
}

func TestConn_BudgetSpent_RequestWaits(t *testing.T) {
	b := budget.New(1 << 20)
	parked := make(chan *Request, 2)
	s := startServer(t, Options{Budget: b}, func(r *Request) { parked <- r })
	first, second := dial(t, s, "PLAINTEXT"), dial(t, s, "PLAINTEXT")
	first.send(produceRequest(1, make([]byte, 800<<10)))
	r := receive(t, parked)
	second.send(produceRequest(1, make([]byte, 700<<10)))
	r.Respond(r.Body.ResponseKind())
	first.expect(1)
	r = receive(t, parked)
	if got := b.InUse(); got < 700<<10 || got > 1<<20 {
		t.Errorf("%d bytes in use", got)
	}
	r.Respond(r.Body.ResponseKind())
	second.expect(1)
	second.send(metadataRequest())
	receive(t, parked).Close(nil)
	second.expectClosed()
}

func TestConn_FramesOfAllSizes_ArriveWhole(t *testing.T) {
	type got struct {
		ok   bool
		size int
	}
	seen := make(chan got, 1)
	s := startServer(t, Options{}, func(r *Request) {
		p := r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records
		ok := true
		for i, b := range p {
			ok = ok && b == byte(i*7)
		}
		seen <- got{ok, len(p)}
		answerAll(r)
	})
	c := dial(t, s, "PLAINTEXT")
	for i, n := range []int{0, 1, 100, readBufferSize - 60, readBufferSize, 100_000, smallFrame, 1 << 20, 5 << 20, 20 << 20, 3} {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i * 7)
		}
		// Two in one write, so that frames begin anywhere in the buffer.
		c.send(produceRequest(1, p), produceRequest(1, p))
		for j := range 2 {
			if g := receive(t, seen); !g.ok || g.size != n {
				t.Fatalf("%d bytes: got %+v", n, g)
			}
			c.expect(int32(2*i + j + 1))
		}
	}
}

func TestConn_ByteByByte_Served(t *testing.T) {
	s := startServer(t, Options{}, answerAll)
	c := dial(t, s, "PLAINTEXT")
	for _, b := range []byte(frame(3, 1, false, "\xff\xff\xff\xff") + frame(3, 1, false, "\xff\xff\xff\xff")) {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	c.expect(1)
	c.expect(1)
}
