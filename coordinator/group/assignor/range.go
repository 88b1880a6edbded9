package assignor

import (
	"cmp"
	"slices"

	"jackdaw/metadata"
)

// Range gives each member a contiguous range of every topic, so that topics with as many partitions are split alike. Members
// come in the order of their instance ids, then dynamic members by member id: a static member that comes back gets the range
// that it had. Kafka: RangeAssignor.
func Range(members []Member, counts map[metadata.TopicID]int32) map[string]Partitions {
	subscribers := map[metadata.TopicID]int32{}
	for i := range members {
		for _, t := range members[i].Topics {
			subscribers[t]++
		}
	}
	taken := map[metadata.TopicID]int32{} // members that have their range of a topic
	out := make(map[string]Partitions, len(members))
	for _, m := range staticFirst(members) {
		p := Partitions{}
		for _, t := range m.Topics {
			from, to := share(counts[t], subscribers[t], taken[t])
			taken[t]++
			for n := from; n < to; n++ {
				p[t] = append(p[t], n)
			}
		}
		out[m.ID] = p
	}
	return out
}

// share is the i-th of n shares of count partitions; the first ones get one more where it does not come out even.
func share(count, n, i int32) (from, to int32) {
	quota, extra := count/n, count%n
	from = i*quota + min(i, extra)
	to = from + quota
	if i < extra {
		to++
	}
	return from, to
}

func staticFirst(members []Member) []*Member {
	out := byID(members)
	slices.SortStableFunc(out, func(a, b *Member) int {
		switch {
		case a.InstanceID != nil && b.InstanceID != nil:
			return cmp.Compare(*a.InstanceID, *b.InstanceID)
		case a.InstanceID != nil:
			return -1
		case b.InstanceID != nil:
			return 1
		default:
			return 0
		}
	})
	return out
}
