package log

import (
	"fmt"

	"jackdaw/log/index"
	"jackdaw/log/producer"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// LeaderAppend is one of several appends that come together.
type LeaderAppend struct {
	// Records is the whole records field of one partition. It is patched in place, and nothing keeps it after the append.
	Records []byte
	// Info and Err are the answer: what AppendAsLeader returns.
	Info AppendInfo
	Err  error

	buf []byte // what is to be written
}

// AppendAsLeader validates batches, gives them offsets and the leader epoch, and writes them with one system call.
// records is the whole records field of one partition; it is patched in place, and nothing keeps it after the return.
//
// Errors: CorruptMessage, InvalidRecord, InvalidTimestamp, MessageTooLarge, RecordListTooLarge,
// UnsupportedCompressionType; OutOfOrderSequenceNumber, InvalidProducerEpoch, InvalidTxnState,
// TransactionCoordinatorFenced; KafkaStorageError. After an error nothing was appended, and AppendInfo carries only
// RecordErrors. Kafka: UnifiedLog.appendAsLeader.
func (l *Log) AppendAsLeader(records []byte, e metadata.LeaderEpoch, o AppendOptions) (AppendInfo, error) {
	one := [1]LeaderAppend{{Records: records}}
	l.AppendAllAsLeader(one[:], e, o)
	return one[0].Info, one[0].Err
}

// AppendAllAsLeader is AppendAsLeader for each of several appends in turn. One that is refused does not touch the others. With
// origin Client they are written with one system call, which costs less than one each: the kernel keeps what is written at
// once in larger pieces.
func (l *Log) AppendAllAsLeader(list []LeaderAppend, e metadata.LeaderEpoch, o AppendOptions) {
	if err := l.usable(); err != nil {
		failAll(list, err)
		return
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	sc.out, sc.up = sc.out[:0], sc.up[:0]
	cfg := l.cfg.Load()
	for i := range list {
		a := &list[i]
		if a.buf, a.Err = l.prepare(a.Records, cfg, o, sc); a.Err != nil {
			a.Info = AppendInfo{RecordErrors: recordErrors(a.Err)}
		}
	}
	l.appendPrepared(list, cfg, e, o, sc)
	l.appendedAsLeader(list, cfg, o)
}

// failAll gives an error to all that have none.
func failAll(list []LeaderAppend, err error) {
	for i := range list {
		if a := &list[i]; a.Err == nil {
			a.Info, a.Err = AppendInfo{}, err
		}
	}
}

// appendedAsLeader does what comes after the writing: the flush, if it is due.
func (l *Log) appendedAsLeader(list []LeaderAppend, cfg *Config, o AppendOptions) {
	wrote, done := false, false
	for i := range list {
		a := &list[i]
		a.buf = nil
		a.Info.Converted = o.OldFormats && isOldFormat(a.Records)
		done = done || a.Err == nil
		wrote = wrote || a.Err == nil && !a.Info.Duplicate
	}
	switch {
	case done && o.LaterFlush:
		if to := l.flushDue(cfg); to > 0 {
			for i := range list {
				if list[i].Err == nil {
					list[i].Info.FlushTo = to
				}
			}
		}
	case wrote && !o.LaterFlush:
		if err := l.flushIfDue(cfg); err != nil {
			failAll(list, err)
		}
	}
}

// appendPrepared does the part of AppendAllAsLeader that needs the lock.
func (l *Log) appendPrepared(list []LeaderAppend, cfg *Config, e metadata.LeaderEpoch, o AppendOptions, sc *scratch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		failAll(list, err)
		return
	}
	w := &sc.waiting
	w.end, w.from = l.end.Load(), 0
	defer w.forget()
	for i := range list {
		a := &list[i]
		if a.Err != nil {
			continue
		}
		var s set
		if s, a.Info, a.Err = l.admitLocked(a.buf, w.end, e, o, cfg); a.Err != nil || a.Info.Duplicate {
			continue
		}
		if err := l.joinLocked(w, i, s, cfg, o); err != nil {
			failAll(list[w.from:], err)
			return
		}
	}
	if err := l.writeWaitingLocked(w, cfg); err != nil {
		failAll(list[w.from:], err)
	}
}

// admitLocked checks a prepared append against the producers' state and gives it offsets from next on.
func (l *Log) admitLocked(buf []byte, next int64, e metadata.LeaderEpoch, o AppendOptions, cfg *Config) (set, AppendInfo, error) {
	if o.Origin != Replication {
		info, err := l.checkProducersLocked(buf, producer.Checks{Sequences: o.Origin == Client, Verified: o.VerifiedOnly})
		if err != nil || info.Duplicate {
			return set{}, info, err
		}
	}
	stamp := record.NoTimestamp
	if cfg.TimestampType == LogAppendTime && o.Origin != Replication {
		stamp = l.env.nowMs()
	}
	s := assign(buf, next, int32(e), stamp)
	return s, AppendInfo{
		FirstOffset: next, LastOffset: s.last, LogAppendTime: stamp, LogStartOffset: l.start.Load(), NumRecords: s.records,
		Bytes: len(buf), MaxTimestamp: s.maxTS, LeaderEpoch: e,
	}, nil
}

// assign gives the batches in buf consecutive offsets from first on, the leader epoch, and, unless stamp is NoTimestamp,
// the broker's time.
func assign(buf []byte, first int64, epoch int32, stamp int64) set {
	a := set{buf: buf, first: first, maxTS: record.NoTimestamp}
	next := first
	for rest := buf; len(rest) > 0; {
		var b record.Batch
		b, rest, _ = record.Next(rest) // prepare has split it before
		b.SetBaseOffset(next)
		b.SetLeaderEpoch(epoch)
		if stamp != record.NoTimestamp {
			b.SetLogAppendTime(stamp)
		}
		next = b.NextOffset()
		a.records += int64(b.Count())
		a.add(header(b))
	}
	return a
}

// add counts one batch into the set.
func (a *set) add(h header) {
	a.last = h.last()
	if ts := h.maxTimestamp(); ts > a.maxTS {
		a.maxTS, a.maxTSOffset = ts, a.last
	}
}

// checkProducersLocked asks the producers' state about every batch. A duplicate is told as the append it repeats.
func (l *Log) checkProducersLocked(buf []byte, c producer.Checks) (AppendInfo, error) {
	for rest := buf; len(rest) > 0; {
		var b record.Batch
		b, rest, _ = record.Next(rest)
		original, dup, err := l.mu.producers.Check(b, c)
		if err != nil {
			return AppendInfo{}, fmt.Errorf("%s: %w", l.tp, err)
		}
		if dup {
			return AppendInfo{
				FirstOffset: original.FirstOffset(), LastOffset: original.LastOffset, LogAppendTime: original.Timestamp,
				LogStartOffset: l.start.Load(), Duplicate: true, NumRecords: int64(b.Count()), MaxTimestamp: original.Timestamp,
			}, nil
		}
	}
	return AppendInfo{}, nil
}

// writeLocked appends batches that have their offsets: rolls if needed, writes, publishes, and updates what is derived.
func (l *Log) writeLocked(s set, cfg *Config) error {
	if err := l.makeRoomLocked(s, cfg); err != nil {
		return err
	}
	if err := l.writeSetsLocked([]set{s}, nil, cfg); err != nil {
		return err
	}
	return l.updateProducersLocked(s)
}

// makeRoomLocked rolls if the active segment must not take the set, and notes new leader epochs.
func (l *Log) makeRoomLocked(s set, cfg *Config) error {
	if l.rollDueLocked(s, 0, cfg) {
		if err := l.rollLocked(s.first); err != nil {
			return err
		}
	}
	return l.noteEpochsLocked(s.buf)
}

// writeSetsLocked writes sets to the active segment with one system call and publishes them. pieces are their bytes; a single set
// needs none.
func (l *Log) writeSetsLocked(sets []set, pieces [][]byte, cfg *Config) error {
	seg := l.segs.Load().active()
	var err error
	if len(sets) == 1 {
		err = seg.write(sets[0].buf)
	} else {
		err = seg.writeAll(pieces)
	}
	if err != nil {
		return l.failed("append", err)
	}
	pos := seg.size.Load()
	for i := range sets {
		l.ends.add(boundary{sets[i].first, seg.base, pos})
		pos += int64(len(sets[i].buf))
		l.mu.unflushed += sets[i].records
	}
	l.end.Store(sets[len(sets)-1].last + 1)
	now := l.env.nowMs()
	for i := range sets {
		if err := seg.publish(sets[i], cfg.IndexIntervalBytes, now); err != nil {
			return l.failed("index", err)
		}
	}
	return nil
}

// noteEpochsLocked adds new leader epochs to the history, before the records that have them are written.
func (l *Log) noteEpochsLocked(buf []byte) error {
	if err := l.epochs.Save(); err != nil {
		return l.failed("write leader epochs", err)
	}
	latest, known := l.epochs.Latest()
	for rest := buf; len(rest) > 0; {
		h := header(rest)
		e := metadata.LeaderEpoch(h.epoch())
		if e >= 0 && (!known || e != latest.Epoch) {
			if err := l.assignEpochLocked(e, h.base()); err != nil {
				return err
			}
			latest.Epoch, known = e, true
		}
		rest = rest[h.size():]
	}
	return nil
}

// updateProducersLocked applies the batches to the producers' state, and notes aborted transactions.
func (l *Log) updateProducersLocked(a set) error {
	for rest := a.buf; len(rest) > 0; {
		h := header(rest)
		if h.magic() == 2 && record.Batch(h).HasProducerID() {
			done, ok := l.mu.producers.Apply(record.Batch(h[:h.size()]))
			if ok {
				if err := completeTxn(l.mu.producers, l.segs.Load().active(), done); err != nil {
					return l.failed("index aborted transaction", err)
				}
			}
			if ok || record.Batch(h).IsTransactional() {
				l.updateUnstableLocked()
			}
		}
		rest = rest[h.size():]
	}
	l.mu.producers.SetMapEnd(a.last + 1)
	return nil
}

// completeTxn ends a transaction, with an index entry if it was aborted.
func completeTxn(s *producer.State, seg *segment, done producer.CompletedTxn) error {
	if done.Aborted {
		err := seg.txns.Append(index.AbortedTxn{
			ProducerID: done.ProducerID, FirstOffset: done.FirstOffset, LastOffset: done.LastOffset,
			LastStableOffset: s.LSOAfter(done),
		})
		if err != nil {
			return err
		}
	}
	s.Complete(done)
	return nil
}
