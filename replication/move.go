package replication

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// LogDirMove asks for the replica of a partition on this broker to be in a log directory.
type LogDirMove struct {
	TP  metadata.TopicPartition
	Dir string
}

// AlterLogDirs moves replicas to other log directories and answers, in order, with an error for each partition or nil: the copy
// has begun, or there is nothing to do. A move to the directory where the replica is ends the one that is under way. For a
// partition that is not here the wish is kept until its log is made, with kerr.ReplicaNotAvailable or
// kerr.UnknownTopicOrPartition. Other errors: kerr.LogDirNotFound; kerr.KafkaStorageError, also while any directory is offline,
// since it may hold a copy; kerr.InvalidTopicException for a name that is too long.
// Kafka: ReplicaManager.alterReplicaLogDirs; KIP-113.
func (m *ReplicaManager) AlterLogDirs(moves []LogDirMove) []error {
	m.control <- struct{}{}
	defer func() { <-m.control }()
	errs := make([]error, len(moves))
	for i, mv := range moves {
		if errs[i] = m.alterLogDir(mv); errs[i] != nil {
			m.cfg.Logger.Warn("replica not moved", "partition", mv.TP, "dir", mv.Dir, "err", errs[i])
		}
	}
	return errs
}

func (m *ReplicaManager) alterLogDir(mv LogDirMove) error {
	if !log.Movable(mv.TP) {
		return fmt.Errorf("topic name is too long to move a replica: %w", kerr.InvalidTopicException)
	}
	if err := m.cfg.Logs.CheckDir(mv.Dir); err != nil {
		return err
	}
	p, err := m.Partition(mv.TP)
	if isStorage(err) {
		return err
	}
	if p != nil {
		if err := m.endMove(p, mv.Dir); err != nil {
			return err
		}
	}
	if l, ok := m.cfg.Logs.Get(mv.TP); !ok {
		m.cfg.Logs.Prefer(mv.TP, mv.Dir)
	} else if err == nil && l.Dir() != mv.Dir {
		return m.beginMove(p, mv.Dir)
	}
	if errors.Is(err, kerr.NotLeaderForPartition) || err == nil && p.Log() == nil {
		return kerr.ReplicaNotAvailable
	}
	return err
}

// endMove gives up a move, unless it is to dir.
func (m *ReplicaManager) endMove(p *Partition, dir string) error {
	f := p.future()
	if f == nil || f.Dir() == dir {
		return nil
	}
	m.cfg.Logger.Info("move of a replica to another log directory is given up", "partition", p.tp, "to", f.Dir())
	m.movers.remove(p.tp)
	p.setFuture(nil)
	return m.cfg.Logs.DeleteFuture(p.tp)
}

// beginMove makes the future log, unless it is there, and has it filled. Kafka: Partition.maybeCreateFutureReplica.
func (m *ReplicaManager) beginMove(p *Partition, dir string) error {
	if p.Log() == nil {
		return kerr.ReplicaNotAvailable
	}
	if p.future() != nil || p.Log().Dir() == dir {
		return nil // it has been asked for before
	}
	if !m.cfg.Logs.AllDirsLive() {
		return fmt.Errorf("a log directory that is offline may hold another copy: %w", kerr.KafkaStorageError)
	}
	f, err := m.cfg.Logs.CreateFuture(p.tp, dir)
	if err != nil {
		return err
	}
	p.setFuture(f)
	m.movers.add(p)
	return nil
}

// resumeMove goes on with a move, after the replica got its role: it may have been begun by an earlier run of the broker. A copy
// of another topic of that name is of no use. Kafka: ReplicaManager.maybeAddLogDirFetchers.
func (m *ReplicaManager) resumeMove(p *Partition) {
	useless := p.findFuture()
	if useless != nil {
		m.cfg.Logger.Warn("removing a future log that is of no use", "partition", p.tp, "dir", useless.Dir(), "topicID", useless.TopicID())
		if err := m.cfg.Logs.DeleteFuture(p.tp); err != nil {
			m.cfg.Logger.Error("future log not removed", "partition", p.tp, "err", err)
		}
	} else if p.future() != nil {
		m.movers.add(p)
	}
}

// findFuture takes over a future log that is there, or returns it when it is of no use.
func (p *Partition) findFuture() (useless *log.Log) {
	p.moving.Lock()
	defer p.moving.Unlock()
	f, ok := p.m.cfg.Logs.Future(p.tp)
	v := p.view.Load()
	if !ok || v.log == nil {
		return nil
	}
	if f.Dir() == v.log.Dir() || !sameTopic(f.TopicID(), v.topicID) {
		return f
	}
	p.moving.future = f
	return nil
}

// future returns the copy of the log that is being made, nil when there is none.
func (p *Partition) future() *log.Log {
	p.moving.Lock()
	defer p.moving.Unlock()
	return p.moving.future
}

func (p *Partition) setFuture(f *log.Log) {
	p.moving.Lock()
	defer p.moving.Unlock()
	p.moving.future = f
}

// errNotMoving tells a mover that there is nothing to copy any more.
var errNotMoving = errors.New("replica is not being moved")

// movingLocked returns the log and its copy.
func (p *Partition) movingLocked() (src, dst *log.Log, err error) {
	src, dst = p.Log(), p.moving.future
	if src == nil || dst == nil {
		return nil, nil, errNotMoving
	}
	return src, dst, nil
}

// matchFuture cuts the copy where its history parts from that of the log: the broker may have been down, or the copy offline,
// when the log was cut. Kafka: ReplicaAlterLogDirsThread.truncate.
func (p *Partition) matchFuture() error {
	p.moving.Lock()
	defer p.moving.Unlock()
	src, dst, err := p.movingLocked()
	if err != nil {
		return err
	}
	for {
		last := latest(dst)
		end := log.EpochEnd{Epoch: metadata.NoEpoch, EndOffset: -1}
		if e, ok := src.EndOffsetForEpoch(last); ok {
			end = e
		}
		local, known := dst.EndOffsetForEpoch(end.Epoch)
		tr := isr.Truncate(isr.EpochEnd(end), isr.EpochEnd(local), known, dst.EndOffset(), dst.HighWatermark())
		if _, err := dst.TruncateTo(tr.Offset); err != nil {
			return err
		}
		if tr.Done || latest(dst) >= last {
			return nil
		}
	}
}

// copyOn copies at most limit bytes, but at least one batch, and returns how many, and how many are left.
func (p *Partition) copyOn(buf *[]byte, limit int) (n int, left int64, err error) {
	p.moving.Lock()
	defer p.moving.Unlock()
	src, dst, err := p.movingLocked()
	if err != nil {
		return 0, 0, err
	}
	if n, err = copyLog(dst, src, buf, limit); err != nil {
		return 0, 0, err
	}
	return n, src.BytesBetween(dst.EndOffset(), src.EndOffset()), nil
}

// copyLog appends to dst what follows there in src, and takes over the high watermark and the log start.
// Kafka: ReplicaAlterLogDirsThread.processPartitionData.
func copyLog(dst, src *log.Log, buf *[]byte, limit int) (n int, err error) {
	r, err := src.Read(dst.EndOffset(), limit, src.EndOffset(), true)
	if errors.Is(err, kerr.OffsetOutOfRange) {
		return 0, intoRange(dst, src)
	}
	if err != nil {
		return 0, err
	}
	*buf, err = r.ReadAll((*buf)[:0])
	r.Release()
	if err != nil {
		return 0, err
	}
	if len(*buf) > 0 {
		if _, err := dst.AppendAsFollower(*buf); err != nil {
			return 0, err
		}
	}
	dst.SetHighWatermark(src.HighWatermark())
	return len(*buf), dst.IncrementStartOffset(min(src.StartOffset(), dst.HighWatermark()))
}

// intoRange brings the copy between the ends of the log.
func intoRange(dst, src *log.Log) error {
	r := isr.OutOfRange(dst.EndOffset(), src.EndOffset(), src.StartOffset())
	switch {
	case r.Truncate:
		_, err := dst.TruncateTo(r.Offset)
		return err
	case r.Restart:
		return dst.TruncateFullyAndStartAt(r.Offset)
	}
	return nil
}

// swap puts the copy in the place of the log, if at most limit bytes are missing, and returns the former log; nil when more
// are. The rest is copied while nobody can append, so a busy leader cannot run away for ever. Until the view is replaced
// nothing has changed for anybody. Kafka: Partition.maybeReplaceCurrentWithFutureReplica.
func (p *Partition) swap(buf *[]byte, limit int) (former *log.Log, err error) {
	p.tenure.Lock()
	defer p.tenure.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moving.Lock()
	defer p.moving.Unlock()
	src, dst, err := p.movingLocked()
	if err != nil {
		return nil, err
	}
	if src.BytesBetween(dst.EndOffset(), src.EndOffset()) > int64(limit) {
		return nil, nil
	}
	for {
		n, err := copyLog(dst, src, buf, limit)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
	}
	if dst.EndOffset() != src.EndOffset() {
		return nil, nil
	}
	if former, err = p.m.cfg.Logs.Promote(p.tp); err != nil {
		return nil, err
	}
	p.publishLocked(func(v *view) { v.log = dst })
	p.moving.future = nil
	return former, nil
}

// replaced tells whether an error came of the log having been replaced by its copy since v was loaded. Then the same can be
// done on the present view.
func (p *Partition) replaced(v *view, err error) bool {
	now := p.view.Load()
	return err != nil && isStorage(err) && now.log != nil && now.log != v.log
}
