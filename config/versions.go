package config

import (
	"slices"
	"strings"
)

// Version is a value of inter.broker.protocol.version, in full, such as 3.9-IV0. Kafka: MetadataVersion.
type Version string

// versions are in order. Kafka: MetadataVersion.
var versions = []Version{
	"0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2",
	"0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0",
	"2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0",
	"2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0",
	"3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
	"3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1",
}

// newest is the last version with ZooKeeper.
const newest = Version("3.9-IV0")

// ParseVersion reads a version: in full, or a release such as 2.8 or 2.8.1, which means its last one. A release of 4
// has no short form, as in Kafka 3.9. Kafka: MetadataVersion.fromVersionString.
func ParseVersion(s string) (Version, bool) {
	parts := strings.Split(s, ".")
	n := 2
	if strings.HasPrefix(s, "0.") {
		n = 3
	}
	name := strings.Join(parts[:min(n, len(parts))], ".")
	if slices.Contains(versions, Version(name)) {
		return Version(name), true
	}
	for _, v := range slices.Backward(versions) {
		if release, _, _ := strings.Cut(string(v), "-"); release == name && v.AtMost(newest) {
			return v, true
		}
	}
	return "", false
}

// AtMost reports whether v is w or older.
func (v Version) AtMost(w Version) bool {
	return slices.Index(versions, v) <= slices.Index(versions, w)
}
