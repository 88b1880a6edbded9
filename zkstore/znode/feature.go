package znode

import (
	"fmt"
	"maps"
	"slices"
)

// appendFeatureRanges writes the supported features of a broker, sorted by name.
func appendFeatureRanges(dst []byte, f map[string]FeatureRange) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(f)) {
		dst = appendComma(dst, i)
		dst = appendString(dst, name)
		dst = fmt.Appendf(dst, `:{"min_version":%d,"max_version":%d}`, f[name].Min, f[name].Max)
	}
	return append(dst, '}')
}

// FeatureStatus tells whether the finalized features count.
type FeatureStatus int

const (
	// FeaturesDisabled is written by brokers whose inter.broker.protocol.version is below 2.7.
	FeaturesDisabled FeatureStatus = 0
	// FeaturesEnabled is the normal state.
	FeaturesEnabled FeatureStatus = 1
)

// Feature is /feature, the finalized features of the cluster (KIP-584). Kafka: FeatureZNode.
type Feature struct {
	Status FeatureStatus
	// Levels maps a feature to its finalized level; always empty in ZooKeeper mode.
	Levels map[string]int16
}

// Encode gives version 2 of the node.
func (f Feature) Encode() []byte {
	out := append([]byte(nil), `{"features":{`...)
	for i, name := range slices.Sorted(maps.Keys(f.Levels)) {
		out = appendComma(out, i)
		out = appendString(out, name)
		out = fmt.Appendf(out, `:%d`, f.Levels[name])
	}
	return fmt.Appendf(out, `},"version":2,"status":%d}`, f.Status)
}

// DecodeFeature reads version 1, whose levels are ranges, and version 2.
func DecodeFeature(data []byte) (Feature, error) {
	var j struct {
		Status   number                `json:"status"`
		Features map[string]levelValue `json:"features"`
	}
	if err := decode("feature", data, &j); err != nil {
		return Feature{}, err
	}
	f := Feature{Status: FeatureStatus(j.Status)}
	for name, l := range j.Features {
		if f.Levels == nil {
			f.Levels = map[string]int16{}
		}
		f.Levels[name] = int16(l)
	}
	return f, nil
}

// levelValue is a level, or the object with max_version_level that version 1 had.
type levelValue int16

// UnmarshalJSON implements json.Unmarshaler.
func (l *levelValue) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var r struct {
			Max number `json:"max_version_level"`
		}
		if err := decode("feature level", b, &r); err != nil {
			return err
		}
		*l = levelValue(r.Max)
		return nil
	}
	var n number
	if err := n.UnmarshalJSON(b); err != nil {
		return err
	}
	*l = levelValue(n)
	return nil
}
