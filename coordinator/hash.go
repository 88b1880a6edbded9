package coordinator

import "unicode/utf16"

// PartitionFor returns the partition, of n, that a group or transactional id lives in: Java's String.hashCode over UTF-16
// units; its absolute value (0 for the smallest int) modulo n. Kafka: Utils.abs(groupId.hashCode) % n.
func PartitionFor(id string, n int32) int32 {
	if n <= 0 {
		return 0
	}
	return javaAbs(javaHash(id)) % n
}

func javaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		h = 31*(31*h+hi) + lo
	}
	return h
}

// javaAbs is Kafka's Utils.abs: the smallest int, which has no absolute value, becomes 0.
func javaAbs(h int32) int32 {
	switch {
	case h == -1<<31:
		return 0
	case h < 0:
		return -h
	default:
		return h
	}
}
