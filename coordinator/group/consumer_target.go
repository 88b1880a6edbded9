package group

import (
	"bytes"
	"maps"
	"slices"

	"jackdaw/coordinator/group/assignor"
	"jackdaw/metadata"
)

// targetOf is what a member is to own; for a static one, what its instance id is to own.
func (c *consumerGroup) targetOf(m *consumerMember) assignor.Partitions {
	if !m.isStatic() {
		return c.target[m.id]
	}
	return c.target[c.static[*m.instanceID]]
}

// assignor is the name of the assignor that most members ask for, the first name of several; else the first one of
// group.consumer.assignors. Kafka: computePreferredServerAssignor, where of several it is any.
func (ch *change) assignor(members map[string]*consumerMember) string {
	return preferredAssignor(members, ch.s.cfg.Consumer.Assignors)
}

func preferredAssignor(members map[string]*consumerMember, served []string) string {
	votes := map[string]int{}
	for _, m := range members {
		if m.assignor != nil && slices.Contains(served, *m.assignor) {
			votes[*m.assignor]++
		}
	}
	best := served[0]
	for _, name := range sortedKeys(votes) {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// assignorInput is the group as an assignor sees it, by member id.
func assignorInput(members map[string]*consumerMember, topics map[string]topicMetadata) ([]assignor.Member, map[metadata.TopicID]int32) {
	counts := make(map[metadata.TopicID]int32, len(topics))
	for _, t := range topics {
		counts[t.id] = t.partitions
	}
	out := make([]assignor.Member, 0, len(members))
	for _, id := range sortedKeys(members) {
		m := members[id]
		a := assignor.Member{ID: id, InstanceID: m.instanceID}
		for _, name := range m.topics {
			if t, ok := topics[name]; ok {
				a.Topics = append(a.Topics, t.id)
			}
		}
		slices.SortFunc(a.Topics, func(x, y metadata.TopicID) int { return bytes.Compare(x[:], y[:]) })
		out = append(out, a)
	}
	return out, counts
}

// see takes notice of the cluster as it is now.
func (s *Shard) see(image *metadata.Image) {
	if image != nil {
		s.image = image
	}
}

// stale reports whether the topics are to be looked at: time has come, the last look was not written, or a topic that is
// subscribed has changed. Kafka: hasMetadataExpired, and requestMetadataRefresh by onNewMetadataImage.
func (ch *change) stale() bool {
	r := &ch.c.refresh
	if !ch.s.now.Before(r.at) || ch.c.epoch < r.epoch {
		return true
	}
	if r.seen == ch.s.image {
		return false
	}
	for name := range ch.c.subscribers {
		now, _ := ch.s.image.Topic(name)
		if then, _ := r.seen.Topic(name); then != now {
			return true
		}
	}
	r.seen = ch.s.image
	return false
}

// topicsOf describes those of the topics that exist. A topic without an id, of a controller below inter.broker.protocol.version
// 2.8, cannot be told to members. As long as the cluster is not known, after a load, the topics stay as they are.
// Kafka: ModernGroup.computeSubscriptionMetadata.
func (ch *change) topicsOf(names map[string]int) map[string]topicMetadata {
	out := map[string]topicMetadata{}
	if ch.s.image == nil {
		maps.Copy(out, ch.c.topics)
		maps.DeleteFunc(out, func(name string, _ topicMetadata) bool { return names[name] == 0 })
		return out
	}
	for name := range names {
		if t, ok := ch.s.image.Topic(name); ok && !t.ID.IsZero() {
			out[name] = describeTopic(ch.s.image, t)
		}
	}
	return out
}

func describeTopic(image *metadata.Image, t *metadata.Topic) topicMetadata {
	out := topicMetadata{id: t.ID, partitions: int32(len(t.Partitions))}
	for n, p := range t.Partitions {
		var racks []string
		for _, id := range p.Replicas {
			if b, ok := image.Broker(id); ok && b.Rack != "" {
				racks = append(racks, b.Rack)
			}
		}
		if len(racks) > 0 {
			if out.racks == nil {
				out.racks = map[int32][]string{}
			}
			out.racks[n] = sortedSet(racks)
		}
	}
	return out
}
