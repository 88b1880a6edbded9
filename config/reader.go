package config

import (
	"math"
	"strings"
	"time"
)

// reader gives typed access to parsed settings, with the table's defaults for what is not set. It notes each key that
// is asked for, so that a test can hold the table's Honored to what is really read.
type reader struct {
	values map[string]any
	asked  map[string]bool
	// prefix, where it is not empty, begins the keys of one listener, which go before those of all. base, with a
	// mechanism's prefix, is where else to look before that.
	prefix string
	base   *reader
}

// listener reads the settings of a listener, and those of all for what it has not.
// Kafka: AbstractConfig.valuesWithPrefixOverride.
func (r *reader) listener(name string) *reader {
	return &reader{values: r.values, asked: r.asked, prefix: listenerKey(name, ""), base: r}
}

// mechanism reads the settings of a SASL mechanism of a listener, and those of the listener for what it has not.
func (r *reader) mechanism(name string) *reader {
	return &reader{values: r.values, asked: r.asked, prefix: r.prefix + strings.ToLower(name) + ".", base: r}
}

// set reports whether the key was given a value anywhere.
func (r *reader) set(key string) bool {
	r.note(key)
	_, ok := r.values[key]
	return ok
}

// null reports whether the key is not set and has no default.
func (r *reader) null(key string) bool { return r.value(key) == nil }

func (r *reader) value(key string) any {
	r.note(key)
	if r.prefix != "" {
		if v, ok := r.values[r.prefix+key]; ok {
			return v
		}
		return r.base.value(key)
	}
	if v, ok := r.values[key]; ok {
		return v
	}
	k := byName[key]
	if k == nil || k.Default.Null {
		return nil
	}
	v, err := k.convert(k.Default.Text)
	if err != nil {
		panic("config: default of " + key + ": " + err.Error()) // a test parses every default
	}
	return v
}

func (r *reader) note(key string) {
	if r.asked != nil {
		r.asked[key] = true
	}
}

// rate is a setting that exists only in ZooKeeper; without it there is no limit.
func (r *reader) rate(key string) int64 {
	r.note(key)
	if v, ok := r.values[key].(int64); ok {
		return v
	}
	return math.MaxInt64
}

func (r *reader) str(key string) string {
	s, _ := r.value(key).(string)
	return s
}

// optional is nil for a key without a value.
func (r *reader) optional(key string) *string {
	if s, ok := r.value(key).(string); ok {
		return &s
	}
	return nil
}

func (r *reader) list(key string) []string {
	l, _ := r.value(key).([]string)
	return l
}

func (r *reader) bool(key string) bool {
	b, _ := r.value(key).(bool)
	return b
}

func (r *reader) int64(key string) int64 {
	n, _ := r.value(key).(int64)
	return n
}

func (r *reader) int32(key string) int32 { return int32(r.int64(key)) }

func (r *reader) int(key string) int { return int(r.int64(key)) }

func (r *reader) float(key string) float64 {
	f, _ := r.value(key).(float64)
	return f
}

func (r *reader) millis(key string) time.Duration { return scaled(r.int64(key), time.Millisecond) }

func (r *reader) seconds(key string) time.Duration { return scaled(r.int64(key), time.Second) }

// firstMillis is the first key that has a value, times its unit: milliseconds, then minutes, then hours by the key's
// suffix. The last key has a default.
func (r *reader) firstMillis(keys ...string) time.Duration {
	for _, key := range keys {
		if !r.null(key) {
			return scaled(r.int64(key), unitOf(key))
		}
	}
	return 0
}

// unitOf tells the unit of a key by its suffix.
func unitOf(key string) time.Duration {
	switch {
	case strings.HasSuffix(key, ".hours"):
		return time.Hour
	case strings.HasSuffix(key, ".minutes"):
		return time.Minute
	default:
		return time.Millisecond
	}
}
