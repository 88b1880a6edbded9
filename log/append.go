package log

import (
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log/index"
	"jackdaw/log/producer"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// AppendAsLeader validates batches, gives them offsets and the leader epoch, and writes them with one system call.
// records is the whole records field of one partition; it is patched in place, and nothing keeps it after the return.
//
// Errors: CorruptMessage, InvalidRecord, InvalidTimestamp, MessageTooLarge, RecordListTooLarge,
// UnsupportedCompressionType; OutOfOrderSequenceNumber, InvalidProducerEpoch, InvalidTxnState,
// TransactionCoordinatorFenced; KafkaStorageError. After an error nothing was appended, and AppendInfo carries only
// RecordErrors. Kafka: UnifiedLog.appendAsLeader.
func (l *Log) AppendAsLeader(records []byte, e metadata.LeaderEpoch, o AppendOptions) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	cfg := l.cfg.Load()
	buf, err := l.prepare(records, cfg, o, sc)
	if err != nil {
		return AppendInfo{RecordErrors: recordErrors(err)}, err
	}
	info, err := l.appendPrepared(buf, cfg, e, o)
	info.Converted = o.OldFormats && isOldFormat(records)
	switch {
	case err != nil:
	case o.LaterFlush:
		info.FlushTo = l.flushDue(cfg)
	case !info.Duplicate:
		err = l.flushIfDue(cfg)
	}
	return info, err
}

// appendPrepared does the part of AppendAsLeader that needs the lock.
func (l *Log) appendPrepared(buf []byte, cfg *Config, e metadata.LeaderEpoch, o AppendOptions) (AppendInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	if o.Origin != Replication {
		info, err := l.checkProducersLocked(buf, producer.Checks{Sequences: o.Origin == Client, Verified: o.VerifiedOnly})
		if err != nil || info.Duplicate {
			return info, err
		}
	}
	first := l.end.Load()
	stamp := record.NoTimestamp
	if cfg.TimestampType == LogAppendTime && o.Origin != Replication {
		stamp = l.env.nowMs()
	}
	a, n := assign(buf, first, int32(e), stamp)
	info := AppendInfo{
		FirstOffset: first, LastOffset: a.last, LogAppendTime: stamp, LogStartOffset: l.start.Load(), NumRecords: n,
		Bytes: len(buf), MaxTimestamp: a.maxTS, LeaderEpoch: e,
	}
	return info, l.writeLocked(a, cfg, first, n)
}

// assign gives the batches in buf consecutive offsets from first on, the leader epoch, and, unless stamp is NoTimestamp,
// the broker's time.
func assign(buf []byte, first int64, epoch int32, stamp int64) (a set, n int64) {
	a = set{buf: buf, maxTS: record.NoTimestamp}
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
		n += int64(b.Count())
		a.add(header(b))
	}
	return a, n
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
func (l *Log) writeLocked(a set, cfg *Config, first, n int64) error {
	if err := l.rollIfNeededLocked(a, cfg, first); err != nil {
		return err
	}
	if err := l.noteEpochsLocked(a.buf); err != nil {
		return err
	}
	seg := l.segs.Load().active()
	pos := seg.size.Load()
	if err := seg.write(a.buf); err != nil {
		return l.failed("append", err)
	}
	l.ends.add(boundary{first, seg.base, pos})
	l.end.Store(a.last + 1)
	if err := seg.publish(a, cfg.IndexIntervalBytes, l.env.nowMs()); err != nil {
		return l.failed("index", err)
	}
	l.mu.unflushed += n
	return l.updateProducersLocked(a, seg)
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
func (l *Log) updateProducersLocked(a set, seg *segment) error {
	for rest := a.buf; len(rest) > 0; {
		h := header(rest)
		if h.magic() == 2 && record.Batch(h).HasProducerID() {
			done, ok := l.mu.producers.Apply(record.Batch(h[:h.size()]))
			if ok {
				if err := completeTxn(l.mu.producers, seg, done); err != nil {
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

// AppendAsFollower writes batches as the leader sent them: they have offsets and epochs already. An incomplete batch at
// the end is left out. Errors: *OffsetsOutOfOrderError, CorruptMessage, KafkaStorageError.
//
// When the log is empty and its start lies inside the first batch, because records were deleted up to there, the log is
// made to begin with that batch, and its start offset stays.
// Kafka: UnifiedLog.appendAsFollower, Partition.appendRecordsToFollowerOrFutureReplica.
func (l *Log) AppendAsFollower(records []byte) (AppendInfo, error) {
	buf, first, err := splitReplicated(records)
	if err != nil {
		return AppendInfo{}, fmt.Errorf("%s: %w", l.tp, err)
	}
	cfg := l.cfg.Load()
	l.mu.Lock()
	info, err := l.appendReplicatedLocked(buf, cfg, first)
	l.mu.Unlock()
	if err != nil || len(buf) == 0 {
		return info, err
	}
	return info, l.flushIfDue(cfg)
}

// splitReplicated checks every batch and returns those that are whole, and the first offset.
func splitReplicated(records []byte) (buf []byte, first int64, err error) {
	last := int64(-1)
	n := 0
	for rest := records; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if errors.Is(err, record.ErrShort) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if !sound(b) {
			return nil, 0, fmt.Errorf("batch at offset %d: wrong checksum: %w", b.BaseOffset(), kerr.CorruptMessage)
		}
		h := header(b)
		if n == 0 {
			first = h.base()
		}
		if h.last() <= last || h.base() < 0 {
			return nil, 0, &OffsetsOutOfOrderError{Expected: last + 1, First: h.base(), Last: h.last()}
		}
		last = h.last()
		n += len(b)
		rest = after
	}
	return records[:n], first, nil
}

func (l *Log) appendReplicatedLocked(buf []byte, cfg *Config, first int64) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	end := l.end.Load()
	info := AppendInfo{
		FirstOffset: end, LastOffset: end - 1, LogAppendTime: record.NoTimestamp,
		LogStartOffset: l.start.Load(), MaxTimestamp: record.NoTimestamp, LeaderEpoch: metadata.NoEpoch,
	}
	if len(buf) == 0 {
		return info, nil
	}
	if first < end {
		if err := l.beginInsideLocked(buf, first, end); err != nil {
			return info, err
		}
	}
	info.FirstOffset = first
	for rest := buf; len(rest) > 0; {
		var a set
		var n int64
		a, rest, n = nextChunk(rest, int64(cfg.SegmentBytes))
		if err := l.writeLocked(a, cfg, header(a.buf).base(), n); err != nil {
			return info, err
		}
		info.LastOffset = a.last
		info.NumRecords += n
		info.Bytes += len(a.buf)
		info.MaxTimestamp = max(info.MaxTimestamp, a.maxTS)
	}
	if last, ok := l.epochs.Latest(); ok {
		info.LeaderEpoch = last.Epoch
	}
	return info, nil
}

// nextChunk splits off as many batches as fit into one segment, at least one.
func nextChunk(buf []byte, segmentBytes int64) (a set, rest []byte, n int64) {
	a.maxTS = record.NoTimestamp
	base := header(buf).base()
	size := int64(0)
	for rest = buf; len(rest) > 0; {
		h := header(rest)
		if size > 0 && (size+h.size() > segmentBytes || h.last()-base > math.MaxInt32) {
			break
		}
		a.add(h)
		if h.magic() == 2 {
			n += int64(record.Batch(h).Count())
		} else {
			n++
		}
		size += h.size()
		rest = rest[h.size():]
	}
	a.buf = buf[:size]
	return a, rest, n
}

// beginInsideLocked lets an empty log begin with a batch that spans its end offset.
func (l *Log) beginInsideLocked(buf []byte, first, end int64) error {
	if h := header(buf); l.start.Load() != end || h.last() < end {
		return &OffsetsOutOfOrderError{Expected: end, First: first, Last: h.last()}
	}
	l.lg.Info("log start lies inside the first batch, starting with that", "offset", first, "start", end)
	if err := l.restartLocked(first); err != nil {
		return err
	}
	l.start.Store(end)
	l.hw.Store(end)
	return nil
}
