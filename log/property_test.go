package log

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// modelBatch is a batch that the log must hold.
type modelBatch struct{ base, last int64 }

// logModel drives a log and a list of batches through the same operations.
type logModel struct {
	fs      *vfs.Mem
	cfg     Config
	m       *Manager
	l       *Log
	batches []modelBatch
	start   int64
	end     int64
}

func (m *logModel) open(t *rapid.T) {
	m.m = NewManager(Options{FS: m.fs, Dirs: []string{"/data"}, Config: func(string) Config { return m.cfg }, Logger: slog.New(slog.DiscardHandler)})
	if err := m.m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := m.m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(l.EndOffset())
	m.l = l
}

func (m *logModel) append(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "batches") {
		n := rapid.IntRange(1, 6).Draw(t, "records")
		b := record.NewBuilder(rapid.SampledFrom([]record.Codec{record.None, record.LZ4}).Draw(t, "codec"), record.BuilderOptions{})
		for range n {
			b.Append(rapid.Int64Range(0, 1000).Draw(t, "ts"), []byte("k"), make([]byte, rapid.IntRange(0, 200).Draw(t, "bytes")), nil)
		}
		info, err := m.l.AppendAsLeader(b.Build(), 0, AppendOptions{})
		if err != nil || info.FirstOffset != m.end {
			t.Fatal(info, err)
		}
		m.end = info.LastOffset + 1
		m.batches = append(m.batches, modelBatch{info.FirstOffset, info.LastOffset})
	}
	m.l.SetHighWatermark(m.end)
}

func (m *logModel) truncate(t *rapid.T) {
	to := rapid.Int64Range(m.start, m.end).Draw(t, "to")
	if _, err := m.l.TruncateTo(to); err != nil {
		t.Fatal(err)
	}
	for n := len(m.batches); n > 0 && m.batches[n-1].last >= to; n-- {
		to = min(to, m.batches[n-1].base)
		m.batches = m.batches[:n-1]
	}
	m.end = max(to, m.start)
}

func (m *logModel) deleteRecords(t *rapid.T) {
	m.start = rapid.Int64Range(m.start, m.end).Draw(t, "start")
	if err := m.l.IncrementStartOffset(m.start); err != nil {
		t.Fatal(err)
	}
	if _, err := m.l.applyRetention(); err != nil {
		t.Fatal(err)
	}
	m.m.checkpointStarts()
}

func (m *logModel) check(t *rapid.T) {
	if m.l.StartOffset() != m.start || m.l.EndOffset() != m.end {
		t.Fatalf("log is %d to %d, want %d to %d", m.l.StartOffset(), m.l.EndOffset(), m.start, m.end)
	}
	if m.start == m.end {
		return
	}
	off := rapid.Int64Range(m.start, m.end-1).Draw(t, "offset")
	upTo := rapid.Int64Range(off, m.end).Draw(t, "upTo")
	r, err := m.l.Read(off, rapid.IntRange(1, 3000).Draw(t, "max"), upTo, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	b, err := r.ReadAll(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.batches, func(x modelBatch) bool { return x.last >= off })
	if len(b) == 0 && m.batches[i].last < upTo {
		t.Fatalf("nothing at %d up to %d", off, upTo)
	}
	for ; len(b) > 0; i++ {
		batch, rest, err := record.Next(b)
		if err != nil || (modelBatch{batch.BaseOffset(), batch.LastOffset()}) != m.batches[i] || batch.LastOffset() >= upTo || !batch.CheckCRC() {
			t.Fatalf("batch %d to %d, want %v, up to %d, %v", batch.BaseOffset(), batch.LastOffset(), m.batches[i], upTo, err)
		}
		b = rest
	}
}

// The log agrees with a list of batches through appends, truncations, deletions and restarts of every kind.
func TestLog_RandomOperations_AgreeWithAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &logModel{fs: vfs.NewMem(nil), cfg: DefaultConfig()}
		m.cfg.SegmentBytes = int32(rapid.IntRange(1500, 6000).Draw(t, "segment.bytes"))
		m.cfg.IndexIntervalBytes = int32(rapid.IntRange(0, 500).Draw(t, "index.interval.bytes"))
		m.cfg.IndexBytes = int32(rapid.SampledFrom([]int{48, 4096}).Draw(t, "index.bytes"))
		m.cfg.RetentionAge = -1
		m.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"truncate": m.truncate,
			"delete":   m.deleteRecords,
			"roll": func(t *rapid.T) {
				if err := m.l.Roll(); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) {
				if err := m.m.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				m.open(t)
			},
			"kill": func(t *rapid.T) {
				m.fs = m.fs.KillClone()
				m.open(t)
			},
			"": m.check,
		})
	})
}

// With flush.messages=1 nothing is acknowledged before it is durable, and producers that wait together share a sync.
func TestFlushMessages_One_GroupCommit(t *testing.T) {
	var syncs atomic.Int64
	fsys := vfs.NewMem(func(op vfs.Op, name string) error {
		if op == vfs.OpSync {
			syncs.Add(1)
		}
		return nil
	})
	f := newFixture(t, fsys, func(c *Config) { c.FlushMessages = 1 })
	l := f.log()
	before := syncs.Load()
	const producers, each = 8, 50
	batches := make([][]byte, producers)
	for i := range batches {
		batches[i] = f.batch(1, record.BuilderOptions{})
	}
	var wg sync.WaitGroup
	for i := range producers {
		wg.Go(func() {
			for range each {
				b := slices.Clone(batches[i])
				info, err := l.AppendAsLeader(b, 0, AppendOptions{})
				if err != nil || l.RecoveryPoint() <= info.LastOffset {
					t.Errorf("offset %d answered, synced to %d: %v", info.LastOffset, l.RecoveryPoint(), err)
				}
			}
		})
	}
	wg.Wait()
	if n := syncs.Load() - before; n > 3*producers*each {
		t.Errorf("%d syncs", n)
	}
	c := &fixture{t: t, fs: fsys.CrashClone(nil), cfg: f.cfg, now: testStart}
	c.open()
	if got := c.log().EndOffset(); got != producers*each {
		t.Errorf("after a power cut the log ends at %d", got)
	}
}
