package log

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// testTP is the partition that most tests use.
var testTP = metadata.TopicPartition{Topic: "t", Partition: 0}

// testStart is where test clocks begin.
var testStart = time.UnixMilli(1_700_000_000_000)

// fixture is a Manager on one directory with a clock of its own.
type fixture struct {
	t   *testing.T
	fs  vfs.FS
	cfg Config
	now time.Time
	m   *Manager
}

// newFixture opens a Manager on a file system.
func newFixture(t *testing.T, fsys vfs.FS, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, fs: fsys, cfg: DefaultConfig(), now: testStart}
	f.cfg.IndexBytes = 1 << 20
	if change != nil {
		change(&f.cfg)
	}
	f.open()
	return f
}

// open makes and opens the Manager.
func (f *fixture) open() {
	f.t.Helper()
	f.m = NewManager(Options{
		FS: f.fs, Dirs: []string{"/data"}, Config: func(string) Config { return f.cfg }, Now: func() time.Time { return f.now },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err := f.m.Open(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// reopen closes cleanly and opens again.
func (f *fixture) reopen() *Log {
	f.t.Helper()
	if err := f.m.Close(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.open()
	return f.log()
}

// log returns the test partition.
func (f *fixture) log() *Log {
	f.t.Helper()
	l, err := f.m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// batch builds n records "k<i>" to "v<i>" at the fixture's time.
func (f *fixture) batch(n int, o record.BuilderOptions) []byte {
	return f.codecBatch(record.None, n, o)
}

func (f *fixture) codecBatch(c record.Codec, n int, o record.BuilderOptions) []byte {
	b := record.NewBuilder(c, o)
	for i := range n {
		b.Append(f.now.UnixMilli()+int64(i), fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "value %d", i), nil)
	}
	return b.Build()
}

// append appends as leader of epoch 0 and moves the high watermark to the end.
func (f *fixture) append(l *Log, b []byte) AppendInfo {
	f.t.Helper()
	info, err := l.AppendAsLeader(b, 0, AppendOptions{AllowZstd: true})
	if err != nil {
		f.t.Fatal(err)
	}
	l.SetHighWatermark(l.EndOffset())
	return info
}

// read returns the bytes of a Read, failing on errors.
func read(t *testing.T, l *Log, offset int64, maxBytes int, upTo int64, minOne bool) []byte {
	t.Helper()
	r, err := l.Read(offset, maxBytes, upTo, minOne)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	b, err := r.ReadAll(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bases lists the base offsets of batches.
func bases(t *testing.T, b []byte) []int64 {
	t.Helper()
	var out []int64
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		if !batch.CheckCRC() {
			t.Fatalf("batch at %d: wrong checksum", batch.BaseOffset())
		}
		out = append(out, batch.BaseOffset())
		b = rest
	}
	return out
}

// readAll returns the base offsets of all batches from the log start to the log end.
func readAll(t *testing.T, l *Log) []int64 {
	t.Helper()
	var out []int64
	for off := l.StartOffset(); off < l.EndOffset(); {
		b := read(t, l, off, 1<<20, l.EndOffset(), true)
		if len(b) == 0 {
			t.Fatalf("nothing at offset %d", off)
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, batch.BaseOffset())
			off = batch.NextOffset()
			b = rest
		}
	}
	return out
}

// aborted returns the aborted transactions in [from, upTo), failing on errors.
func aborted(t *testing.T, l *Log, from, upTo int64) []AbortedTxn {
	t.Helper()
	list, err := l.AbortedTxns(from, upTo)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}
