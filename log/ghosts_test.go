package log

import (
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// ghostFixture has a partition that starts at 15, ends at 20 and is in all checkpoints; and then is deleted.
func ghostFixture(t *testing.T, mem *vfs.Mem) *fixture {
	t.Helper()
	f := newFixture(t, mem, nil)
	l := f.log()
	f.append(l, f.batch(20, record.BuilderOptions{}))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := l.IncrementStartOffset(15); err != nil {
		t.Fatal(err)
	}
	f.m.checkpointRecovery()
	f.m.checkpointStarts()
	if err := f.m.Delete(testTP); err != nil {
		t.Fatal(err)
	}
	return f
}

// wantAnew makes the partition again, and looks at it after kill -9.
func (f *fixture) wantAnew(mem *vfs.Mem) {
	f.t.Helper()
	l, err := f.m.GetOrCreate(testTP, metadata.TopicID{9})
	if err != nil {
		f.t.Fatal(err)
	}
	f.append(l, f.batch(5, record.BuilderOptions{}))
	after := newFixture(f.t, mem.KillClone(), nil).log()
	if after.StartOffset() != 0 || after.EndOffset() != 5 || after.RecoveryPoint() != 0 {
		f.t.Errorf("log has %d to %d, synced up to %d; want 0 to 5, and 0", after.StartOffset(), after.EndOffset(), after.RecoveryPoint())
	}
}

func TestManager_PartitionMadeAgain_FormerCheckpointsAreGone(t *testing.T) {
	mem := vfs.NewMem(nil)
	ghostFixture(t, mem).wantAnew(mem)
}

func TestManager_PartitionMadeAgainByTheNextRun_FormerCheckpointsAreGone(t *testing.T) {
	mem := vfs.NewMem(nil)
	ghostFixture(t, mem)
	mem = mem.KillClone()
	newFixture(t, mem, nil).wantAnew(mem)
}
