package producer

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// batch builds a batch of n records of producer 1 at an offset.
func batch(offset int64, epoch int16, seq int32, n int, txn bool) record.Batch {
	b := record.NewBuilder(record.None, record.BuilderOptions{
		BaseOffset: offset, Transactional: txn, Producer: &record.Producer{ID: 1, Epoch: epoch, BaseSequence: seq},
	})
	for range n {
		b.Append(1000, []byte("k"), nil, nil)
	}
	return b.Build()
}

func marker(offset, id int64, epoch int16, kind record.MarkerType, coordinator int32) record.Batch {
	b := record.Batch(record.EndTxnMarker(kind, id, epoch, coordinator, 2000))
	b.SetBaseOffset(offset)
	return b
}

func TestCheck_SequencesAndEpochs_FollowKafka(t *testing.T) {
	type step struct {
		epoch int16
		seq   int32
		n     int
		want  error
		dup   bool
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"unknown producer may begin anywhere", []step{{3, 77, 2, nil, false}, {3, 79, 1, nil, false}}},
		{"gap", []step{{0, 0, 2, nil, false}, {0, 3, 1, kerr.OutOfOrderSequenceNumber, false}}},
		{"the fifth last is a duplicate, the sixth is not", []step{
			{0, 0, 1, nil, false},
			{0, 1, 1, nil, false},
			{0, 2, 1, nil, false},
			{0, 3, 1, nil, false},
			{0, 4, 1, nil, false},
			{0, 5, 1, nil, false},
			{0, 1, 1, nil, true},
			{0, 0, 1, kerr.OutOfOrderSequenceNumber, false},
		}},
		{"part of a batch is no duplicate", []step{{0, 0, 4, nil, false}, {0, 0, 2, kerr.OutOfOrderSequenceNumber, false}, {0, 0, 4, nil, true}}},
		{"new epoch begins at 0", []step{{0, 5, 1, nil, false}, {1, 6, 1, kerr.OutOfOrderSequenceNumber, false}, {1, 0, 1, nil, false}}},
		{"old epoch", []step{{2, 0, 1, nil, false}, {1, 1, 1, kerr.InvalidProducerEpoch, false}}},
		{"wrap between batches", []step{{0, math.MaxInt32 - 1, 2, nil, false}, {0, 0, 1, nil, false}, {0, math.MaxInt32 - 1, 2, nil, true}}},
		{"wrap inside a batch", []step{{0, math.MaxInt32, 3, nil, false}, {0, 2, 1, nil, false}, {0, math.MaxInt32, 3, nil, true}}},
	} {
		s := NewState(time.Hour)
		off := int64(0)
		for i, st := range tc.steps {
			b := batch(off, st.epoch, st.seq, st.n, false)
			_, dup, err := s.Check(b, Checks{Sequences: true})
			if !errors.Is(err, st.want) || dup != st.dup {
				t.Fatalf("%s, step %d: %v, duplicate %v", tc.name, i, err, dup)
			}
			if err == nil && !dup {
				s.Apply(b)
				off = b.NextOffset()
			}
		}
	}
}

func TestCheck_Duplicate_TellsTheFirstCopy(t *testing.T) {
	s := NewState(time.Hour)
	s.Apply(batch(40, 0, 0, 3, false))
	s.Apply(batch(50, 0, 3, 2, false))
	original, dup, err := s.Check(batch(0, 0, 0, 3, false), Checks{Sequences: true})
	if err != nil || !dup || original.FirstOffset() != 40 || original.LastOffset != 42 || original.Timestamp != 1000 {
		t.Fatal(original, dup, err)
	}
}

func TestTransactions_OpenAndCompleted_HoldTheLSO(t *testing.T) {
	s := NewState(time.Hour)
	s.Apply(batch(10, 0, 0, 1, true))
	other := batch(12, 0, 0, 1, true)
	other[50] = 2 // the low byte of the producer id
	s.Apply(other)
	if off, ok := s.FirstUnstable(); !ok || off != 10 {
		t.Fatal(off, ok)
	}
	done, ok := s.Apply(marker(15, 1, 0, record.Abort, 4))
	if !ok || done != (CompletedTxn{ProducerID: 1, FirstOffset: 10, LastOffset: 15, Aborted: true}) {
		t.Fatal(done, ok)
	}
	if lso := s.LSOAfter(done); lso != 12 {
		t.Fatal(lso)
	}
	s.Complete(done)
	s.HighWatermarkMoved(15)
	if off, _ := s.FirstUnstable(); off != 10 {
		t.Fatal("the marker is not committed yet", off)
	}
	s.HighWatermarkMoved(16)
	if off, _ := s.FirstUnstable(); off != 12 {
		t.Fatal(off)
	}
	if _, _, err := s.Check(marker(0, 1, 0, record.Commit, 3), Checks{}); !errors.Is(err, kerr.TransactionCoordinatorFenced) {
		t.Fatal(err)
	}
	if _, ok := s.Apply(marker(16, 1, 0, record.Commit, 4)); ok {
		t.Fatal("an empty transaction completes nothing")
	}
	if _, _, err := s.Check(batch(0, 0, 1, 1, false), Checks{Sequences: true}); err != nil {
		t.Fatal("plain batch after the transaction", err)
	}
	if n := s.Expire(1 << 50); n != 1 || s.Entry(2) == nil {
		t.Fatal("an open transaction keeps its producer", n)
	}
}

func TestSnapshot_FilesOfKafka_SameBytes(t *testing.T) {
	files, err := filepath.Glob("../testdata/kafka/datadir/*/*.snapshot")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := DecodeSnapshot(b)
		if err != nil {
			t.Fatal(f, err)
		}
		if diff := cmp.Diff(b, EncodeSnapshot(entries)); diff != "" {
			t.Error(f, diff)
		}
	}
}

func TestLoad_BrokenAndLateSnapshots_RemovedAndPassedOver(t *testing.T) {
	fsys := vfs.NewMem(nil)
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	s := NewState(time.Hour)
	for i, off := range []int64{10, 20, 30, 40} {
		s.Apply(batch(off-1, 0, int32(i), 1, false))
		s.SetMapEnd(off)
		if err := s.TakeSnapshot(fsys, "/d", true); err != nil {
			t.Fatal(err)
		}
	}
	if err := vfs.WriteFileAtomic(fsys, "/d/"+SnapshotName(30), []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	again := NewState(time.Hour)
	if err := again.Load(fsys, "/d", 10, 35, 2000); err != nil {
		t.Fatal(err)
	}
	if last, _ := again.Entry(1).Last(); again.MapEnd() != 20 || last.LastSequence != 1 {
		t.Fatal(again.MapEnd(), last)
	}
	left, err := Snapshots(fsys, "/d")
	if err != nil || !cmp.Equal(left, []int64{20}) {
		t.Fatal(left, err)
	}
	if err := again.Load(fsys, "/d", 0, 35, 2000+time.Hour.Milliseconds()); err != nil || again.Len() != 0 {
		t.Fatal("expired producers are not loaded", again.Len(), err)
	}
}

// A snapshot keeps what decides about the next batch.
func TestSnapshot_RandomEntries_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState(time.Hour)
		off := int64(0)
		for range rapid.IntRange(0, 20).Draw(t, "batches") {
			b := batch(off, int16(rapid.IntRange(0, 3).Draw(t, "epoch")), rapid.Int32Range(0, math.MaxInt32).Draw(t, "seq"), rapid.IntRange(1, 4).Draw(t, "n"), rapid.Bool().Draw(t, "txn"))
			b[50] = byte(rapid.IntRange(1, 3).Draw(t, "id"))
			s.Apply(b)
			off = b.NextOffset()
		}
		entries, err := DecodeSnapshot(EncodeSnapshot(s.Entries()))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range s.Entries() {
			g := entries[i]
			last, _ := e.Last()
			got, _ := g.Last()
			if g.ID != e.ID || g.Epoch != e.Epoch || g.TxnFirstOffset != e.TxnFirstOffset || got != last {
				t.Fatalf("%+v, want %+v", g, e)
			}
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	s := NewState(time.Hour)
	s.Apply(batch(0, 0, 0, 1, true))
	f.Add(EncodeSnapshot(s.Entries()))
	f.Add(EncodeSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := DecodeSnapshot(b)
		if err == nil && len(EncodeSnapshot(entries)) != len(b) {
			t.Fatal("not what was read")
		}
	})
}

func TestApply_KnownProducer_AllocatesNothing(t *testing.T) {
	s := NewState(time.Hour)
	b := batch(0, 0, 0, 1, false)
	s.Apply(b)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := s.Check(b, Checks{Sequences: true}); err != nil {
			t.Fatal(err)
		}
		s.Apply(b)
	}); n != 0 {
		t.Fatal(n)
	}
}

func TestCheck_UnverifiedTransaction_Refused(t *testing.T) {
	checks := Checks{Sequences: true, Verified: true}
	refused := func(t *testing.T, s *State, b record.Batch, want error) {
		t.Helper()
		if _, _, err := s.Check(b, checks); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	verify := func(t *testing.T, s *State, epoch int16, seq int32) {
		t.Helper()
		g, needed := s.BeginVerification(1, epoch, seq, 0)
		if !needed {
			t.Fatal("no verification is needed")
		}
		s.ConfirmVerification(1, g)
	}

	t.Run("never asked, asked, confirmed, going on, ended", func(t *testing.T) {
		s := NewState(time.Hour)
		b := batch(0, 0, 0, 1, true)
		refused(t, s, b, kerr.InvalidTxnState)
		if _, needed := s.BeginVerification(1, 0, 0, 0); !needed {
			t.Fatal("the first batch needs none")
		}
		refused(t, s, b, kerr.InvalidTxnState)
		verify(t, s, 0, 0)
		refused(t, s, b, nil)
		s.Apply(b)
		if _, needed := s.BeginVerification(1, 0, 1, 0); needed {
			t.Fatal("an open transaction is verified again")
		}
		refused(t, s, batch(1, 0, 1, 1, true), nil)
		s.Apply(marker(1, 1, 0, record.Commit, 0))
		refused(t, s, batch(2, 0, 1, 1, true), kerr.InvalidTxnState)
		refused(t, s, batch(2, 0, 1, 1, false), nil) // plain batches need nothing
	})
	t.Run("a marker between question and answer", func(t *testing.T) {
		s := NewState(time.Hour)
		g, _ := s.BeginVerification(1, 0, 0, 0)
		s.Apply(marker(0, 1, 0, record.Abort, 0))
		s.ConfirmVerification(1, g)
		refused(t, s, batch(1, 0, 0, 1, true), kerr.InvalidTxnState)
		if again, _ := s.BeginVerification(1, 0, 0, 0); again == g {
			t.Fatal("the guard is given out twice")
		}
		s.ConfirmVerification(1, g)
		refused(t, s, batch(1, 0, 0, 1, true), kerr.InvalidTxnState)
	})
	t.Run("a later sequence overtakes one that waits", func(t *testing.T) {
		s := NewState(time.Hour)
		verify(t, s, 0, 7)
		verify(t, s, 0, 5)
		refused(t, s, batch(0, 0, 7, 1, true), kerr.OutOfOrderSequenceNumber)
		refused(t, s, batch(0, 0, 5, 1, true), nil)
	})
	t.Run("another epoch", func(t *testing.T) {
		s := NewState(time.Hour)
		verify(t, s, 3, 0)
		refused(t, s, batch(0, 4, 0, 1, true), kerr.InvalidTxnState)
		verify(t, s, 4, 0)
		refused(t, s, batch(0, 3, 0, 1, true), kerr.InvalidTxnState)
		refused(t, s, batch(0, 4, 0, 1, true), nil)
	})
	t.Run("abandoned", func(t *testing.T) {
		s := NewState(time.Hour)
		verify(t, s, 0, 0)
		s.Expire(time.Hour.Milliseconds())
		refused(t, s, batch(0, 0, 0, 1, true), kerr.InvalidTxnState)
	})
	t.Run("a coordinator's batch has no sequence", func(t *testing.T) {
		s := NewState(time.Hour)
		verify(t, s, 0, -1)
		if _, _, err := s.Check(batch(0, 0, 0, 1, true), Checks{Verified: true}); err != nil {
			t.Fatal(err)
		}
	})
}
