package log

// waiting are appends that have their offsets and wait to be written to the active segment with one system call.
type waiting struct {
	sets   []set
	pieces [][]byte // the bytes of the sets
	bytes  int64
	// end is the log end offset when they are written.
	end int64
	// from is the index of the first append that was not written yet, or not when the disk failed.
	from int
}

// joinLocked puts append i behind those that wait, after it has written these if the segment must not take both. The producers' state
// has it at once, since the next one is checked against that: if it cannot be written, the log directory is offline, and nobody asks
// that state any more.
//
// Only batches of clients wait. Markers end transactions, and the index of aborted ones must not be ahead of the log.
func (l *Log) joinLocked(w *waiting, i int, s set, cfg *Config, o AppendOptions) error {
	if len(w.sets) > 0 && !l.takesLocked(w, s, cfg) {
		if err := l.writeWaitingLocked(w, cfg); err != nil {
			return err
		}
	}
	w.end = s.last + 1
	if len(w.sets) == 0 {
		w.from = i
		if o.Origin != Client {
			return l.writeLocked(s, cfg)
		}
		if err := l.makeRoomLocked(s, cfg); err != nil {
			return err
		}
	}
	w.sets, w.pieces = append(w.sets, s), append(w.pieces, s.buf)
	w.bytes += int64(len(s.buf))
	return l.updateProducersLocked(s)
}

// takesLocked tells whether the active segment may take a set behind those that wait for it. What begins a segment is written
// alone, as its age counts from there.
func (l *Log) takesLocked(w *waiting, s set, cfg *Config) bool {
	seg, n := l.segs.Load().active(), len(w.sets)
	return seg.size.Load() > 0 && !seg.offsets.FullAfter(n) && !seg.times.FullAfter(n) && !l.rollDueLocked(s, w.bytes, cfg)
}

// writeWaitingLocked writes what waits.
func (l *Log) writeWaitingLocked(w *waiting, cfg *Config) error {
	if len(w.sets) == 0 {
		return nil
	}
	err := l.writeSetsLocked(w.sets, w.pieces, cfg)
	w.forget()
	return err
}

// forget keeps nothing but the memory.
func (w *waiting) forget() {
	clear(w.sets)
	clear(w.pieces)
	w.sets, w.pieces, w.bytes = w.sets[:0], w.pieces[:0], 0
}
