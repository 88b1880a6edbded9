package znode

import (
	"maps"
	"slices"
	"unicode/utf16"
)

// propertiesOrder gives the keys of a configuration in the order in which Kafka writes them: that of java.util.Properties,
// a hash table of at first 16 buckets, which is twice as big whenever it is three quarters full.
func propertiesOrder(config map[string]string) []string {
	buckets := uint32(16)
	for len(config) >= int(buckets/4*3) {
		buckets *= 2
	}
	keys := slices.Sorted(maps.Keys(config))
	slices.SortStableFunc(keys, func(a, b string) int {
		return int(javaSpread(a)&(buckets-1)) - int(javaSpread(b)&(buckets-1))
	})
	return keys
}

// javaSpread is String.hashCode with the high bits folded in, as ConcurrentHashMap uses it.
func javaSpread(s string) uint32 {
	var h uint32
	for _, c := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(c)
	}
	return h ^ h>>16
}
