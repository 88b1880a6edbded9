package group

import (
	"bytes"
	"fmt"
	"slices"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group/assignor"
)

// decodeConsumerRecord reads a record of a consumer group and the group that it belongs to.
func decodeConsumerRecord(l coordinator.LogRecord) (group string, rec consumerRecord, err error) {
	k := reader{p: l.Key}
	rec.kind = recordKind(k.int16())
	group = k.string()
	if rec.kind.ofMember() {
		rec.member = k.string()
	}
	if k.bad {
		return "", rec, fmt.Errorf("key of kind %d: %w", rec.kind, errShort)
	}
	if l.Value == nil {
		return group, rec, nil
	}
	v := reader{p: l.Value}
	if version := v.int16(); version != 0 {
		return "", rec, fmt.Errorf("value of kind %d has version %d", rec.kind, version)
	}
	rec.value = v.value(rec.kind)
	if v.bad {
		return "", rec, fmt.Errorf("value of kind %d: %w", rec.kind, errShort)
	}
	return group, rec, nil
}

func (r *reader) value(kind recordKind) consumerValue {
	var out consumerValue
	switch kind {
	case kindEpoch, kindTargetEpoch:
		out = epochValue(r.int32())
	case kindTopics:
		out = r.topicsValue()
	case kindMember:
		out = r.memberMetadata()
		return out
	case kindTarget:
		out = targetValue(r.partitions())
	case kindCurrent:
		out = currentValue{
			epoch: r.int32(), previousEpoch: r.int32(), state: memberState(r.int8()), assigned: r.partitions(), revoking: r.partitions(),
		}
	case kindClassic: // read by loadGroup
	}
	r.tags(nil)
	return out
}

func (r *reader) topicsValue() topicsValue {
	out := topicsValue{}
	for range r.len() {
		t := topicMetadata{id: r.topicID()}
		name := r.compact()
		t.partitions = r.int32()
		for range r.len() {
			if t.racks == nil {
				t.racks = map[int32][]string{}
			}
			n := r.int32()
			t.racks[n] = sortedSet(r.compacts())
			r.tags(nil)
		}
		r.tags(nil)
		out[name] = t
	}
	return out
}

func (r *reader) memberMetadata() *memberMetadata {
	d := &memberMetadata{
		instanceID: r.nullable(), rack: r.nullable(), clientID: r.compact(), clientHost: r.compact(), topics: sortedSet(r.compacts()),
		regex: r.nullable(), rebalanceTimeoutMs: r.int32(), assignor: r.nullable(),
	}
	r.tags(func(tag int, p []byte) {
		if tag == 0 && len(p) > 0 && p[0] == 1 {
			c := reader{p: p[1:]}
			d.classic = c.classicMetadata()
			r.bad = r.bad || c.bad
		}
	})
	return d
}

func (r *reader) classicMetadata() *classicMetadata {
	c := &classicMetadata{sessionTimeoutMs: r.int32()}
	for range r.len() {
		c.protocols = append(c.protocols, Protocol{Name: r.compact(), Metadata: bytes.Clone(r.take(max(0, r.uvarint()-1)))})
		r.tags(nil)
	}
	r.tags(nil)
	return c
}

func (s *Shard) loadConsumer(l coordinator.LogRecord) error {
	id, rec, err := decodeConsumerRecord(l)
	if err != nil {
		return err
	}
	g := s.groups[id]
	if g == nil && rec.value == nil {
		return nil
	}
	if g == nil {
		g = s.group(id)
	}
	g.apply(&rec)
	return nil
}

// apply changes the group by a record that is in the log: the only way in which a consumer group changes, live as at load. At
// load, what compaction has left may begin in the middle: a member may be told where it is before it is told who it is.
// Kafka: GroupMetadataManager.replay.
func (g *group) apply(r *consumerRecord) {
	if r.kind == kindClassic {
		if r.value == nil {
			g.clearClassic()
		}
		return // what else becomes of the group is the writer's business, or loadGroup's
	}
	if r.value == nil {
		g.applyTombstone(r)
		return
	}
	if g.consumer == nil {
		g.becomeConsumer()
	}
	c := g.consumer
	switch v := r.value.(type) {
	case epochValue:
		if r.kind == kindEpoch {
			c.epoch = int32(v)
		} else {
			c.targetEpoch = int32(v)
		}
	case topicsValue:
		c.topics = v
	case *memberMetadata:
		m := *c.memberOrNew(r.member)
		m.memberMetadata = *v
		c.put(&m)
	case targetValue:
		c.target[r.member] = assignor.Partitions(v)
	case currentValue:
		m := *c.memberOrNew(r.member)
		m.epoch, m.previousEpoch, m.state, m.assigned, m.revoking = v.epoch, v.previousEpoch, v.state, v.assigned, v.revoking
		c.put(&m)
	}
}

func (g *group) applyTombstone(r *consumerRecord) {
	c := g.consumer
	if c == nil {
		return
	}
	switch r.kind {
	case kindEpoch:
		g.consumer = nil
	case kindTopics:
		c.topics = map[string]topicMetadata{}
	case kindMember:
		c.remove(r.member)
	case kindTargetEpoch:
		c.targetEpoch = -1
	case kindTarget:
		delete(c.target, r.member)
	case kindCurrent:
		if m := c.members[r.member]; m != nil {
			n := *m
			n.epoch, n.previousEpoch, n.assigned, n.revoking = epochLeave, epochLeave, nil, nil
			c.put(&n)
		}
	case kindClassic: // see apply
	}
}

func (c *consumerGroup) memberOrNew(id string) *consumerMember {
	if m := c.members[id]; m != nil {
		return m
	}
	return newConsumerMember(id)
}

// becomeConsumer makes a consumer group of a classic one. Its members, if any, come with the records that follow.
func (g *group) becomeConsumer() {
	g.clearClassic()
	g.consumer = newConsumerGroup()
}

// equalTopics reports whether a target computed for one would be good for the other.
func equalTopics(a, b map[string]topicMetadata) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		y, ok := b[name]
		if !ok || x.id != y.id || x.partitions != y.partitions || !equalRacks(x.racks, y.racks) {
			return false
		}
	}
	return true
}

func equalRacks(a, b map[int32][]string) bool {
	if len(a) != len(b) {
		return false
	}
	for n, l := range a {
		if !slices.Equal(l, b[n]) {
			return false
		}
	}
	return true
}
