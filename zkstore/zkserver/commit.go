package zkserver

import (
	"context"
	"fmt"

	"jackdaw/internal/run"
	"jackdaw/zkstore/zktree"
)

// applyLocked runs a transaction, adds it to the group for the disk and sends its watch events.
func (s *Server) applyLocked(tx *zktree.Txn) zktree.Outcome {
	tx.TimeMs = s.opts.Now().UnixMilli()
	out := s.mu.tree.Apply(tx)
	if !out.Changed {
		return out
	}
	if len(s.mu.group) == 0 {
		s.mu.group = append(s.mu.group, make([]byte, groupHeader)...)
	}
	s.mu.group = zktree.AppendTxn(s.mu.group, tx)
	select {
	case s.dirty <- struct{}{}:
	default:
	}
	for _, n := range out.Notices {
		if c := s.mu.conns[n.Watcher]; c != nil {
			s.sendLocked(c, eventFrame(n))
		}
	}
	return out
}

// sendLocked queues a message that shows the tree as it is now.
func (s *Server) sendLocked(c *conn, msg []byte) {
	gate := s.mu.tree.Zxid()
	if gate > s.mu.durable {
		s.mu.gated[c] = struct{}{}
	}
	c.enqueue(msg, gate, s.mu.durable)
}

// commitLoop brings changes to disk, as many at a time as have come together, and lets their answers go.
func (s *Server) commitLoop(ctx context.Context) error {
	snapshots := run.New(ctx, s.lg)
	defer snapshots.Stop()
	var spare []byte
	for {
		select {
		case <-s.dirty:
		case <-ctx.Done():
			// Whatever was applied is kept, though nobody gets an answer any more.
			return s.commit(&spare)
		}
		if err := s.commit(&spare); err != nil {
			s.lg.Error("zookeeper server stops: its journal cannot be written", "dir", s.opts.Dir, "err", err)
			return fmt.Errorf("zookeeper journal: %w", err)
		}
		if err := s.snapshotIfDue(snapshots, &spare); err != nil {
			return fmt.Errorf("zookeeper journal: %w", err)
		}
	}
}

// commit writes the group of now. spare is the buffer that was written last, to be filled next.
func (s *Server) commit(spare *[]byte) error {
	s.mu.Lock()
	group, zxid := s.mu.group, s.mu.tree.Zxid()
	s.mu.group = (*spare)[:0]
	s.mu.Unlock()
	return s.commitGroup(group, zxid, spare)
}

// commitGroup writes a group that was taken from the server and publishes that all up to zxid is durable.
func (s *Server) commitGroup(group []byte, zxid int64, spare *[]byte) error {
	const keep = 1 << 20 // a larger buffer is left to the collector
	*spare = nil
	if cap(group) <= keep {
		*spare = group
	}
	if len(group) == 0 {
		return nil
	}
	if err := s.store.append(group); err != nil {
		s.mu.Lock()
		s.mu.dead = err
		s.mu.Unlock()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.durable = zxid
	for c := range s.mu.gated {
		// While this group was written, answers that wait for the next one may have come.
		if all := c.release(zxid); all {
			delete(s.mu.gated, c)
		}
	}
	return nil
}

// snapshotIfDue goes on in a new journal when the old one is long, and has a snapshot written beside the work.
func (s *Server) snapshotIfDue(g *run.Group, spare *[]byte) error {
	const manyJournals = 16
	if s.store.bytes < s.opts.SnapshotBytes && s.store.journals < manyJournals {
		return nil
	}
	if s.stats.snapshotting.Swap(true) {
		return nil
	}
	s.mu.Lock()
	zxid, content := s.mu.tree.Zxid(), encodeSnapshot(s.mu.tree)
	group := s.mu.group
	s.mu.group = (*spare)[:0]
	s.mu.Unlock()
	if err := s.commitGroup(group, zxid, spare); err != nil {
		return err
	}
	if err := s.store.rotate(zxid + 1); err != nil {
		return err
	}
	s.store.bytes, s.store.journals = 0, 1
	g.Go("zk-snapshot", func(context.Context) error {
		defer s.stats.snapshotting.Store(false)
		// The journals hold everything, so a snapshot that cannot be written costs only time at the next start.
		if err := s.store.writeSnapshot(zxid, content); err != nil {
			s.lg.Warn("zookeeper snapshot", "zxid", zxid, "err", err)
		}
		return nil
	})
	return nil
}

// expiryLoop ends sessions that were not heard of in time. When the server itself stood still, as a stopped process or a
// suspended machine does, nobody could be heard of, and all get their whole timeout again.
func (s *Server) expiryLoop(ctx context.Context) error {
	last := s.opts.Now()
	for pause(ctx, s.opts.Tick/4) {
		now := s.opts.Now()
		if stood := now.Sub(last); stood > s.opts.Tick+s.opts.Tick/4 {
			s.lg.Warn("zookeeper server stood still, sessions get their timeout again", "for", stood)
			s.mu.Lock()
			s.mu.tree.TouchAll(now)
			s.mu.Unlock()
		}
		last = now
		s.expire()
	}
	return nil
}

// expire ends the sessions whose time is up, and their connections.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.mu.tree.Expired(s.opts.Now()) {
		s.lg.Info("zookeeper session expired", "session", fmt.Sprintf("0x%x", int64(id)))
		s.applyLocked(&zktree.Txn{Session: id, Kind: zktree.KindCloseSession})
		if c := s.mu.bySession[id]; c != nil {
			delete(s.mu.bySession, id)
			c.abort()
		}
	}
}
