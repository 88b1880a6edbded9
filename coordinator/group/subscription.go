package group

import "encoding/binary"

// consumerType is the protocol type of consumers, whose member metadata the coordinator understands.
const consumerType = "consumer"

// subscriptions returns the topics of all members, nil when the group is not one of consumers or a subscription is not
// understood. Kafka: GroupMetadata.computeSubscribedTopics.
func (g *group) subscriptions() map[string]bool {
	if !g.isConsumerGroup() {
		return nil
	}
	topics := map[string]bool{}
	if len(g.members) == 0 {
		return topics
	}
	if g.protocol == nil {
		return nil
	}
	for _, m := range g.order {
		if !addTopics(topics, m.metadata(*g.protocol)) {
			return nil
		}
	}
	return topics
}

// addTopics reads the beginning of a consumer's subscription, which is the same in all versions: version int16, topics as
// an int32 count of int16-length strings. What follows (user data, owned partitions) is the assignor's.
// Kafka: ConsumerProtocol.deserializeSubscription.
func addTopics(topics map[string]bool, p []byte) bool {
	if len(p) < 6 || int16(binary.BigEndian.Uint16(p)) < 0 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(p[2:]))
	p = p[6:]
	for range n {
		if len(p) < 2 {
			return false
		}
		l := int(int16(binary.BigEndian.Uint16(p)))
		if l < 0 || len(p) < 2+l {
			return false
		}
		topics[string(p[2:2+l])] = true
		p = p[2+l:]
	}
	return n >= 0
}
