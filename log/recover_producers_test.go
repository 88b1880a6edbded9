package log

import (
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// A killed leader comes back while its producer sends again what was in flight: up to five batches, over a roll, too.
func TestRecovery_BatchesInFlight_KnownAsDuplicates(t *testing.T) {
	for _, segmentBytes := range []int32{1 << 20, 400} {
		fsys := vfs.NewMem(nil)
		f := newFixture(t, fsys, func(c *Config) { c.SegmentBytes = segmentBytes })
		l := f.log()
		var sent [][]byte
		for seq := range int32(8) {
			b := f.batch(1, record.BuilderOptions{Producer: &record.Producer{ID: 9, BaseSequence: seq}})
			sent = append(sent, b)
			f.append(l, append([]byte(nil), b...))
		}
		f.fs = fsys.KillClone()
		f.open()
		l = f.log()
		for seq := int64(3); seq < 8; seq++ {
			info, err := l.AppendAsLeader(sent[seq], 1, AppendOptions{})
			if err != nil || !info.Duplicate || info.FirstOffset != seq {
				t.Errorf("segments of %d bytes, sequence %d again: %+v, %v", segmentBytes, seq, info, err)
			}
		}
		if l.EndOffset() != 8 {
			t.Errorf("segments of %d bytes: log end %d", segmentBytes, l.EndOffset())
		}
	}
}
