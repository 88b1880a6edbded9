package group

import (
	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// reconcile leads a member a step towards its target: first it gives up what it is not to own, then it goes to the target's
// epoch and gets what nobody else has any more. owned is what the member says it has, nil if it does not say.
// Kafka: maybeReconcile, CurrentAssignmentBuilder.
func (ch *change) reconcile(m *consumerMember, targetEpoch int32, target, owned assignor.Partitions) *consumerMember {
	if m.reconciledTo(targetEpoch) {
		return m
	}
	epoch := m.epoch
	switch m.state {
	case memberStable, memberUnreleased:
	case memberUnrevoked:
		if stillHas(owned, m.revoking) {
			return m
		}
		epoch++
	default:
		epoch = targetEpoch // of a broker that knows more states: begin again with the target
	}
	up := ch.next(m, epoch, targetEpoch, target, owned)
	if up.placed(m) {
		return m
	}
	ch.add(up.current())
	return up
}

// next computes the step. Kafka: CurrentAssignmentBuilder.computeNextAssignment.
func (ch *change) next(m *consumerMember, epoch, targetEpoch int32, target, owned assignor.Partitions) *consumerMember {
	keep := m.assigned.Filter(target.Has)
	revoke := m.assigned.Filter(func(t metadata.TopicID, n int32) bool { return !target.Has(t, n) })
	if len(revoke) > 0 && stillHas(owned, revoke) {
		return m.moved(epoch, memberUnrevoked, keep, revoke)
	}
	fresh := target.Filter(func(t metadata.TopicID, n int32) bool { return !keep.Has(t, n) && !ch.c.owned(t, n) })
	assigned := keep.Union(fresh)
	st := memberStable
	if assigned.Len() < target.Len() {
		st = memberUnreleased
	}
	return m.moved(targetEpoch, st, assigned, nil)
}

// stillHas reports whether the member has any of the partitions. One that does not say what it has may have all.
func stillHas(owned, p assignor.Partitions) bool {
	if owned == nil {
		return true
	}
	for t, l := range owned {
		for _, n := range l {
			if p.Has(t, n) {
				return true
			}
		}
	}
	return false
}
