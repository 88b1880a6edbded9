package sim

import (
	"fmt"
	"slices"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// check looks at every partition that the last step touched.
func (w *world) check() {
	for _, h := range w.oracle.dirty {
		h.dirty = false
		if w.broken == nil && !h.tainted {
			w.checkHistory(h)
		}
	}
	w.oracle.dirty = w.oracle.dirty[:0]
}

// checkHistory checks the invariants of one partition on all its replicas.
func (w *world) checkHistory(h *history) {
	w.checkElectable(h)
	for _, host := range w.hosts {
		p := host.proc
		if p == nil {
			continue
		}
		t := p.parts[h.tp]
		if t == nil || t.log == nil || t.id != h.id || t.role == isr.None {
			continue
		}
		w.checkReplica(h, t)
		if t.role == isr.Leader && t.epoch >= h.unclean {
			w.checkLeader(h, t)
		}
	}
}

// checkElectable: every member of the ISR in ZooKeeper may be elected next, so each has all that was ever committed.
func (w *world) checkElectable(h *history) {
	s, ok := w.keeper.state(h.tp)
	if !ok || w.keeper.topics[h.tp.Topic] != h.id || s.LeaderEpoch < h.unclean || s.Recovery == metadata.Recovering {
		return
	}
	for _, id := range s.ISR {
		m := h.mirror(id)
		if m.stale || m.damaged || m.removed {
			continue
		}
		if h.match(m) < len(h.truth) {
			w.violate("broker %d is in the isr %v of %s in zookeeper, but lacks what was committed at %d to %d", id, s.ISR, h.tp, m.matched, len(h.truth)-1)
			return
		}
	}
}

// checkReplica: a log is equal to what was committed below its high watermark.
func (w *world) checkReplica(h *history, t *partition) {
	m := h.mirror(t.p.id)
	if end := t.log.EndOffset(); end != int64(len(m.records)) {
		w.violate("the log of %s on broker %d ends at %d, and %d records were noted", h.tp, t.p.id, end, len(m.records))
		return
	}
	if m.stale {
		return
	}
	if hw := t.log.HighWatermark(); int64(h.match(m)) < hw {
		w.violate("broker %d has in %s below its high watermark %d another record at %d than was committed", t.p.id, h.tp, hw, m.matched)
	}
}

// checkLeader: the mark does not fall within an epoch, everybody who may be elected has what is below it, and the newest
// leader has all that was ever committed.
func (w *world) checkLeader(h *history, t *partition) {
	hw := t.log.HighWatermark()
	if t.lastEpoch == t.epoch && hw < t.lastHW {
		w.violate("the high watermark of %s falls from %d to %d in epoch %d", h.tp, t.lastHW, hw, t.epoch)
	}
	t.lastEpoch, t.lastHW = t.epoch, hw
	if m := h.mirror(t.p.id); t.epoch == h.newest && h.match(m) < len(h.truth) {
		w.violate("the leader of %s in epoch %d, broker %d, lacks the record that was committed at %d", h.tp, t.epoch, t.p.id, m.matched)
	}
	need := int(hw)
	if t.epoch == h.newest {
		need = len(h.truth) // a member that is proposed now may be elected next
	}
	for _, id := range t.core.MaximalISR() {
		m := h.mirror(id)
		if m.stale || m.damaged || m.removed {
			continue
		}
		if h.match(m) < need {
			w.violate("the maximal isr of %s on broker %d is %v, but %d has only what is below %d; the high watermark is %d, committed is what is below %d",
				h.tp, t.p.id, t.core.MaximalISR(), id, m.matched, hw, len(h.truth))
			return
		}
	}
}

// unwell tells what is still wrong after the faults; empty when all is well.
func (w *world) unwell() string {
	for _, h := range w.hosts {
		if h.proc == nil || h.proc.session == nil || h.proc.paused {
			return fmt.Sprintf("broker %d is not up", h.id)
		}
	}
	dying, _, _ := w.keeper.tree.Children(znode.DeleteTopicsPath)
	if dying = slices.DeleteFunc(dying, w.neverMoved); len(dying) > 0 {
		return fmt.Sprintf("topics %v are not deleted%s", dying, w.admin.deletions())
	}
	if c := w.admin.unanswered(); c != "" {
		return c
	}
	names, _, _ := w.keeper.tree.Children(znode.TopicsPath)
	for _, topic := range names {
		data, _, code := w.keeper.tree.Data(znode.TopicPath(topic))
		if code != zktree.OK {
			continue
		}
		a, err := znode.DecodeTopicAssignment(data)
		if err != nil {
			return err.Error()
		}
		for n := range int32(len(a.Partitions)) {
			at := name{metadata.TopicPartition{Topic: topic, Partition: n}, a.TopicID}
			if w.oracle.of(at).tainted {
				continue // its replicas may disagree for ever
			}
			if len(a.Adding[n])+len(a.Removing[n]) > 0 {
				return fmt.Sprintf("%s is still being reassigned", at.tp)
			}
			if c := w.outOfSync(at, a.Partitions[n]); c != "" {
				return c
			}
		}
	}
	return ""
}

// neverMoved reports whether a reassignment of the topic may never end, and so its deletion, which waits for that: a follower
// that ends within a batch of its leader, since both wrote in the same epoch, cannot append anything.
func (w *world) neverMoved(topic string) bool {
	data, _, code := w.keeper.tree.Data(znode.TopicPath(topic))
	a, err := znode.DecodeTopicAssignment(data)
	if code != zktree.OK || err != nil {
		return false
	}
	for n := range int32(len(a.Partitions)) {
		at := name{metadata.TopicPartition{Topic: topic, Partition: n}, a.TopicID}
		if len(a.Adding[n])+len(a.Removing[n]) > 0 && w.oracle.of(at).tainted {
			return true
		}
	}
	return false
}

// outOfSync tells why the replicas of a partition are not all in sync and equal.
func (w *world) outOfSync(n name, replicas []metadata.BrokerID) string {
	s, ok := w.keeper.state(n.tp)
	if !ok || s.Leader < 0 {
		return fmt.Sprintf("%s has no leader, isr %v of %v", n.tp, s.ISR, replicas)
	}
	for _, id := range replicas {
		if !slices.Contains(s.ISR, id) {
			return fmt.Sprintf("%s: %d is not in the isr %v of %d in epoch %d", n.tp, id, s.ISR, s.Leader, s.LeaderEpoch)
		}
	}
	lead := w.host(s.Leader).proc.parts[n.tp]
	if lead == nil || lead.id != n.id || lead.role != isr.Leader || lead.epoch != s.LeaderEpoch {
		return fmt.Sprintf("%s: %d does not know that it leads", n.tp, s.Leader)
	}
	h := w.oracle.of(n)
	for _, id := range replicas {
		t := w.host(id).proc.parts[n.tp]
		switch {
		case t == nil || t.log == nil || t.id != n.id:
			return fmt.Sprintf("%s: %d does not know that it is a replica", n.tp, id)
		case t.log.EndOffset() != lead.log.EndOffset() || t.log.HighWatermark() != lead.log.EndOffset():
			return fmt.Sprintf("%s: %d ends at %d with high watermark %d, its leader %d at %d", n.tp, id, t.log.EndOffset(), t.log.HighWatermark(), s.Leader, lead.log.EndOffset())
		case !h.tainted && !slices.Equal(h.mirror(id).records, h.mirror(s.Leader).records):
			w.violate("%s: the logs of %d and its leader %d differ, with the same end", n.tp, id, s.Leader)
		}
	}
	return ""
}
