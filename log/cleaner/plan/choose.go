package plan

import (
	"math"
	"time"
)

// Segment is what the choice and the grouping look at.
type Segment struct {
	// Base is the first offset, Next the base of the segment after it or the log end.
	Base, Next int64
	// Bytes are those of the records, IndexBytes and TimeIndexBytes those of the entries in the indexes.
	Bytes, IndexBytes, TimeIndexBytes int64
	// LargestTimestamp and FirstTimestamp are those of the records in Unix ms.
	LargestTimestamp, FirstTimestamp int64
}

// Settings are those of a topic.
type Settings struct {
	MinCompactionLag, MaxCompactionLag time.Duration
	MinCleanableRatio                  float64
}

// Log is a compacted log, as one looks for work.
type Log struct {
	Settings
	// Segments are all of them, the active one last.
	Segments []Segment
	// Start and End are the ends of the log, LastStable bounds what may be cleaned.
	Start, End, LastStable int64
	// Checkpoint is the offset up to which the log was cleaned, and HasCheckpoint whether there is such a note.
	Checkpoint    int64
	HasCheckpoint bool
}

// Range is what a pass over a log would clean.
type Range struct {
	// FirstDirty is where the pass begins to collect keys, FirstUncleanable where it ends.
	FirstDirty, FirstUncleanable int64
	CleanBytes, CleanableBytes   int64
	// Ratio is the share of bytes that is dirty and may be cleaned.
	Ratio float64
	// Due tells that the log must be cleaned now, because of max.compaction.lag.ms.
	Due bool
	// CheckpointLost tells that the checkpoint lies outside of the log and was not used.
	CheckpointLost bool
}

// Cleanable computes the range. Kafka: LogCleanerManager.cleanableOffsets, LogToClean.
func Cleanable(l Log, nowMs int64) Range {
	r := Range{FirstDirty: l.Start}
	if l.HasCheckpoint {
		if l.Checkpoint >= l.Start && l.Checkpoint <= l.End {
			r.FirstDirty = l.Checkpoint
		} else {
			r.CheckpointLost = true
		}
	}
	active := l.Segments[len(l.Segments)-1]
	end := min(active.Base, l.LastStable)
	if lag := l.MinCompactionLag.Milliseconds(); lag > 0 {
		for _, s := range l.Segments[:len(l.Segments)-1] {
			if s.Next > r.FirstDirty && s.LargestTimestamp > nowMs-lag {
				end = min(end, s.Base)
				break
			}
		}
	}
	r.FirstUncleanable = max(end, r.FirstDirty)
	r.measure(l, nowMs)
	return r
}

// measure counts bytes, and looks at the age of what is dirty.
func (r *Range) measure(l Log, nowMs int64) {
	earliest := int64(math.MaxInt64)
	for _, s := range l.Segments {
		switch {
		case s.Base < r.FirstDirty && s.Next <= r.FirstDirty:
			r.CleanBytes += s.Bytes
		case s.Base < r.FirstUncleanable:
			r.CleanableBytes += s.Bytes
			if s.FirstTimestamp > 0 {
				earliest = min(earliest, s.FirstTimestamp)
			}
		}
	}
	if total := r.CleanBytes + r.CleanableBytes; total > 0 {
		r.Ratio = float64(r.CleanableBytes) / float64(total)
	}
	if lag := l.MaxCompactionLag; lag < math.MaxInt64 && earliest != math.MaxInt64 {
		r.Due = earliest < nowMs-lag.Milliseconds()
	}
}

// Wanted tells whether the range is worth a pass.
func (r Range) Wanted(s Settings) bool {
	return r.FirstUncleanable > r.FirstDirty && r.CleanableBytes > 0 && (r.Due || r.Ratio > s.MinCleanableRatio)
}

// Choose returns the index of the log that is dirtiest among those worth a pass, and its range; -1 when there is none.
// Kafka: LogCleanerManager.grabFilthiestCompactedLog.
func Choose(logs []Log, nowMs int64) (int, Range) {
	best, chosen := -1, Range{}
	for i, l := range logs {
		r := Cleanable(l, nowMs)
		if r.Wanted(l.Settings) && (best < 0 || r.Ratio > chosen.Ratio) {
			best, chosen = i, r
		}
	}
	return best, chosen
}

// Group splits the segments below end into runs that become one segment each: as many as fit into segment.bytes and the
// index size, with offsets that can be told relative to the first. Kafka: Cleaner.groupSegmentsBySize.
func Group(segments []Segment, end, maxBytes, maxIndexBytes int64) [][]Segment {
	var groups [][]Segment
	var size, index, times int64
	for _, s := range segments {
		if s.Base >= end {
			break
		}
		n := len(groups)
		fits := n > 0 && size+s.Bytes <= maxBytes && index+s.IndexBytes <= maxIndexBytes && times+s.TimeIndexBytes <= maxIndexBytes &&
			s.Next-1-groups[n-1][0].Base <= math.MaxInt32
		if fits {
			groups[n-1] = append(groups[n-1], s)
			size, index, times = size+s.Bytes, index+s.IndexBytes, times+s.TimeIndexBytes
			continue
		}
		groups = append(groups, []Segment{s})
		size, index, times = s.Bytes, s.IndexBytes, s.TimeIndexBytes
	}
	return groups
}
