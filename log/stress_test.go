package log

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// Readers of every kind beside appends, rolls, retention with immediate removal, truncation and deletion: they get data or
// OFFSET_OUT_OF_RANGE, and nobody takes a file that is gone for a failed disk.
func TestLog_ReadersBesideEveryChange_NoDirFails(t *testing.T) {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.RetentionBytes, cfg.FileDeleteDelay = 4000, 100, 12000, 0
	m := NewManager(Options{
		Dirs: []string{t.TempDir()}, Config: func(string) Config { return cfg },
		Logger:            slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		RetentionInterval: time.Millisecond, InitialDelay: time.Millisecond, RecoveryCheckpointInterval: 5 * time.Millisecond,
	})
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextWithCancel(t)
	running := make(chan error)
	go func() { running <- m.Run(ctx) }()
	l, err := m.GetOrCreate(testTP, metadata.TopicID{})
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !done.Load() {
				if err := readSomething(l); err != nil && !l.gone.Load() {
					t.Error(err)
					return
				}
			}
		})
	}
	f := &fixture{t: t, now: testStart}
	for i := range 1500 {
		b := f.batch(5, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: int64(i)}})
		if _, err := l.AppendAsLeader(b, 0, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		mk := record.EndTxnMarker(record.MarkerType(i%2), int64(i), 0, 0, f.now.UnixMilli())
		if _, err := l.AppendAsLeader(mk, 0, AppendOptions{Origin: Coordinator}); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(l.EndOffset())
		switch {
		case i%100 == 99:
			if _, err := l.TruncateTo(max(l.EndOffset()-rand.Int64N(60), l.StartOffset())); err != nil {
				t.Fatal(err)
			}
		case i%500 == 250:
			if err := l.TruncateFullyAndStartAt(l.EndOffset() + 10); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Delete(testTP); err != nil {
		t.Fatal(err)
	}
	done.Store(true)
	wg.Wait()
	stop()
	if err := <-running; err != nil {
		t.Fatal(err)
	}
	if len(m.LiveDirs()) != 1 {
		t.Error("the directory went offline")
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// readSomething makes one read of a random kind.
func readSomething(l *Log) error {
	start, end := l.StartOffset(), l.EndOffset()
	from := start + rand.Int64N(max(end-start, 1))
	switch rand.IntN(5) {
	case 0:
		_, _, err := l.OffsetForTimestamp(testStart.UnixMilli()+rand.Int64N(5), end)
		return allowed(err)
	case 1:
		_, _, err := l.MaxTimestampOffset(end)
		return allowed(err)
	case 2:
		_, err := l.AbortedTxns(from, end)
		l.BytesBetween(from, end)
		return allowed(err)
	default:
		r, err := l.Read(from, 2000, end, true)
		if err != nil {
			return allowed(err)
		}
		defer r.Release()
		_ = l.UpperBound(r, end)
		return nil
	}
}

// allowed lets pass what a reader may be told. A read that met a truncation is told to try again.
func allowed(err error) error {
	var corrupt *CorruptError
	if errors.Is(err, kerr.OffsetOutOfRange) || errors.As(err, &corrupt) {
		return nil
	}
	return err
}
