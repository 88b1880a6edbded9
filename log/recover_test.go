package log

import (
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// A truncation is not synced, but the history of epochs is: after a power cut the records are back that had been cut.
func TestRecover_CutRecordsAreBack_AreCutAgain(t *testing.T) {
	mem := vfs.NewMem(nil)
	f := newFixture(t, mem, nil)
	l := f.log()
	f.append(l, f.batch(20, record.BuilderOptions{}))
	f.append(l, f.batch(7, record.BuilderOptions{}))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.TruncateTo(20); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendAsLeader(f.batch(3, record.BuilderOptions{}), 5, AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	after := newFixture(t, mem.CrashClone(func(_ string, synced, _ []byte) []byte { return synced }), nil).log()
	if got := after.EndOffset(); got != 20 {
		t.Errorf("log ends at %d, want 20: %v", got, after.EpochHistory())
	}
}
