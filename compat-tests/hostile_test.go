//go:build compat

package compat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// dial opens a connection that ends with the test.
func dial(t *testing.T, addr string) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// sendHostile sends bytes on a connection of its own and says whether the broker closed it within the limit.
func sendHostile(addr string, p []byte, limit time.Duration) error {
	c, err := wire.Dial(addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.WriteRaw(p); err != nil {
		return nil // closed before everything was written
	}
	switch frame, err := c.ReadFrame(limit); {
	case err == nil:
		return fmt.Errorf("answered with % x", frame)
	case errors.Is(err, wire.ErrClosed):
		return nil
	default:
		return err
	}
}

func expectClosed(t *testing.T, addr string, p []byte) {
	t.Helper()
	if err := sendHostile(addr, p, 5*time.Second); err != nil {
		t.Errorf("connection not closed: %v", err)
	}
}

// foreign are first bytes that can never become a request.
var foreign = map[string][]byte{
	"HTTP":             []byte("GET / HTTP/1.1\r\n\r\n"),
	"TLS hello":        {0x16, 0x03, 0x01, 0x00, 0xa5, 0x01, 0x00, 0x00, 0xa1, 0x03, 0x03},
	"size -1":          wire.Size(-1),
	"size 0":           wire.Size(0),
	"size of 2 GiB":    wire.Size(0x7fffffff),
	"size limit and 1": wire.Size(104857601),
}

func TestHostile_ForeignBytes_Closed(t *testing.T) {
	c := one(t)
	for name, p := range foreign {
		t.Run(name, func(t *testing.T) { expectClosed(t, c.Brokers[0].Addr(), p) })
	}
	checkAlive(t, c)
}

func TestHostile_PartialFrames_HarmNobody(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	silent := dial(t, addr)
	if err := silent.WriteRaw(append(wire.Size(100), 0, 3)); err != nil {
		t.Fatal(err)
	}
	short, err := wire.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(short.WriteRaw([]byte{0, 0, 1}), short.Close()); err != nil {
		t.Fatal(err)
	}
	checkAlive(t, c)
	if _, err := silent.ReadFrame(200 * time.Millisecond); !errors.Is(err, wire.ErrSilent) {
		t.Errorf("a partial frame: %v, want the broker to wait for the rest", err)
	}
}

// lies are frames of the right size whose insides are not what they say.
func lies() []struct {
	name          string
	key, version  int16
	flexible      bool
	body          []byte
	apacheDiffers string
} {
	million := binary.BigEndian.AppendUint32(nil, 1_000_000)
	nested := append([]byte{255, 255, 0, 1, 0, 0, 0, 1}, million...) // Produce v3: null txn id, acks, timeout, 10^6 topics
	for range 20 {
		nested = append(append(nested, 0, 1, 'x'), million...)
	}
	return []struct {
		name          string
		key, version  int16
		flexible      bool
		body          []byte
		apacheDiffers string
	}{
		{"array of 2^31-1", 3, 1, false, []byte{0x7f, 0xff, 0xff, 0xff}, ""},
		{"compact array of 2^32-2", 3, 9, true, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0}, "overflows, and takes it for null"},
		{"compact array of 2^31-2", 3, 9, true, []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0, 0}, ""},
		{"string longer than the frame", 3, 1, false, []byte{0, 0, 0, 1, 0x7f, 0xff, 'a', 'b'}, ""},
		{"string of length -5", 3, 1, false, []byte{0, 0, 0, 1, 0xff, 0xfb, 'a', 'b'}, ""},
		{"array of length -7", 2, 1, false, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf9}, ""},
		{"null for an array that cannot be null", 2, 1, false, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ""},
		{"null for a string that cannot be null", 3, 1, false, []byte{0, 0, 0, 1, 0xff, 0xff}, ""},
		{"number of six bytes", 3, 9, true, []byte{0x81, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0, 0, 0}, ""},
		{"body cut short", 3, 1, false, []byte{0, 0}, ""},
		{"nested arrays of 10^6", 0, 3, false, nested, ""},
		{"bytes left over", 3, 1, false, []byte{0, 0, 0, 0, 'm', 'o', 'r', 'e'}, "does not look behind the body"},
		{"tag section that never ends", 3, 9, true, []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "overflows, and takes it for no tag"},
	}
}

func TestHostile_LyingLengths_Closed(t *testing.T) {
	c := one(t)
	addr := c.Brokers[0].Addr()
	for _, lie := range lies() {
		t.Run(lie.name, func(t *testing.T) {
			if lie.apacheDiffers != "" {
				jackdawOnly(t, lie.apacheDiffers)
			}
			expectClosed(t, addr, wire.Frame(lie.key, lie.version, 5, lie.flexible, lie.body))
			checkAlive(t, c)
		})
	}
}

// rss reads the resident size of a process in bytes.
func rss(t *testing.T, b *cluster.Broker) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil && n == 1 {
			return kib << 10
		}
	}
	t.Fatalf("no VmRSS for %s", b.Name)
	return 0
}

// openFiles counts the descriptors of a process.
func openFiles(t *testing.T, b *cluster.Broker) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestHostile_TwoHundredAtOnce_MemoryBounded(t *testing.T) {
	c := one(t)
	b := c.Brokers[0]
	before := rss(t, b)
	var inputs [][]byte
	for _, p := range foreign {
		inputs = append(inputs, p)
	}
	for _, lie := range lies() {
		if lie.apacheDiffers == "" {
			inputs = append(inputs, wire.Frame(lie.key, lie.version, 5, lie.flexible, lie.body))
		}
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if err := sendHostile(b.Addr(), inputs[i%len(inputs)], 20*time.Second); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	all.Wait()
	checkAlive(t, c)
	grown := rss(t, b) - before
	t.Logf("resident memory grew by %d KiB", grown>>10)
	if grown > 64<<20 && cluster.Target() == cluster.Jackdaw { // a JVM grows its heap as it likes
		t.Errorf("resident memory grew by %d MiB, want less than 64", grown>>20)
	}
}
