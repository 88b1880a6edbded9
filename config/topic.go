package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Topic holds the effective settings of one topic: its overrides over the broker's. Kafka: LogConfig.
type Topic struct {
	SegmentBytes       int32
	SegmentAge         time.Duration // segment.ms
	SegmentJitter      time.Duration
	IndexBytes         int32 // segment.index.bytes
	IndexIntervalBytes int32
	FlushMessages      int64
	FlushAge           time.Duration // flush.ms; Unlimited is never
	RetentionBytes     int64         // negative is without bound
	RetentionAge       time.Duration // retention.ms; negative is without bound
	MaxMessageBytes    int32
	FileDeleteDelay    time.Duration
	// Compact and Delete are the parts of cleanup.policy. Both may be false: segments are then kept.
	Compact, Delete   bool
	DeleteRetention   time.Duration
	MinCompactionLag  time.Duration
	MaxCompactionLag  time.Duration
	MinCleanableRatio float64 // min.cleanable.dirty.ratio, 0 to 1
	// CompressionType is producer, uncompressed, gzip, snappy, lz4 or zstd; the levels belong to three of them.
	CompressionType                string
	GzipLevel, LZ4Level, ZstdLevel int
	// LogAppendTime is message.timestamp.type=LogAppendTime; false is CreateTime.
	LogAppendTime bool
	// TimestampBefore and TimestampAfter bound how far a CreateTime may be from the broker's clock.
	TimestampBefore, TimestampAfter time.Duration
	Preallocate                     bool
	MinInsyncReplicas               int32
	UncleanElection                 bool
	Downconversion                  bool
	// LeaderThrottled and FollowerThrottled are "*" or partition:broker pairs.
	LeaderThrottled, FollowerThrottled []string
}

// ValidateTopic checks the configuration that somebody wants to give a topic. The error has Kafka's text and is
// kerr.InvalidConfig. Kafka: LogConfig.validate.
func (b *Broker) ValidateTopic(overrides map[string]string) error {
	t, err := b.Topic(overrides)
	if err != nil {
		return err
	}
	if t.MinCompactionLag > t.MaxCompactionLag {
		const low, high = "min.compaction.lag.ms", "max.compaction.lag.ms"
		return plain(low, "conflict topic config setting %s (%d) > %s (%d)",
			low, t.MinCompactionLag.Milliseconds(), high, t.MaxCompactionLag.Milliseconds())
	}
	on := func(key string) bool { return strings.EqualFold(strings.TrimSpace(overrides[key]), "true") }
	const remote, copying, deleting = "remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable"
	switch {
	case on(copying) || on(deleting):
		return plain(copying, "It is invalid to set `%s` or `%s` under Zookeeper's mode.", deleting, copying)
	case on(remote):
		return refuse(remote, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// NullTopicConfigs is the refusal of topic configs without a value, named in order, or nil when there are none.
func NullTopicConfigs(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return plain(names[0], "Null value not supported for topic configs: %s", strings.Join(names, ","))
}

// Topic returns the effective settings of a topic with these overrides. Where an override cannot be used, the broker's
// value stands, and the error names the first one; unknown names come first, then the order is alphabetical. It is not
// enough for new overrides, see ValidateTopic.
func (b *Broker) Topic(overrides map[string]string) (Topic, error) {
	values, err := b.topicValues(overrides)
	r := &reader{values: values}
	t := Topic{
		SegmentBytes:       r.int32("segment.bytes"),
		SegmentAge:         r.millis("segment.ms"),
		SegmentJitter:      r.millis("segment.jitter.ms"),
		IndexBytes:         r.int32("segment.index.bytes"),
		IndexIntervalBytes: r.int32("index.interval.bytes"),
		FlushMessages:      r.int64("flush.messages"),
		FlushAge:           r.millis("flush.ms"),
		RetentionBytes:     r.int64("retention.bytes"),
		RetentionAge:       r.millis("retention.ms"),
		MaxMessageBytes:    r.int32("max.message.bytes"),
		FileDeleteDelay:    r.millis("file.delete.delay.ms"),
		Compact:            slices.Contains(r.list("cleanup.policy"), "compact"),
		Delete:             slices.Contains(r.list("cleanup.policy"), "delete"),
		DeleteRetention:    r.millis("delete.retention.ms"),
		MinCompactionLag:   r.millis("min.compaction.lag.ms"),
		MaxCompactionLag:   r.millis("max.compaction.lag.ms"),
		MinCleanableRatio:  r.float("min.cleanable.dirty.ratio"),
		CompressionType:    r.str("compression.type"),
		GzipLevel:          r.int("compression.gzip.level"),
		LZ4Level:           r.int("compression.lz4.level"),
		ZstdLevel:          r.int("compression.zstd.level"),
		LogAppendTime:      r.str("message.timestamp.type") == "LogAppendTime",
		TimestampBefore:    r.millis("message.timestamp.before.max.ms"),
		TimestampAfter:     r.millis("message.timestamp.after.max.ms"),
		Preallocate:        r.bool("preallocate"),
		MinInsyncReplicas:  r.int32("min.insync.replicas"),
		UncleanElection:    r.bool("unclean.leader.election.enable"),
		Downconversion:     r.bool("message.downconversion.enable"),
		LeaderThrottled:    r.list("leader.replication.throttled.replicas"),
		FollowerThrottled:  r.list("follower.replication.throttled.replicas"),
	}
	// The old bound counts where the new ones are at their default. Kafka: LogConfig.getMessageTimestampBeforeMaxMs.
	if old := r.millis("message.timestamp.difference.max.ms"); old != Unlimited {
		if t.TimestampBefore == Unlimited {
			t.TimestampBefore = old
		}
		if t.TimestampAfter == Unlimited {
			t.TimestampAfter = old
		}
	}
	return t, err
}

// topicValues parses the overrides and fills up with the broker's values, under the topic's names.
func (b *Broker) topicValues(overrides map[string]string) (map[string]any, error) {
	if err := unknownTopicKey(overrides); err != nil {
		return b.topicDefaults(), err
	}
	values := b.topicDefaults()
	var first error
	for _, name := range sortedKeys(overrides) {
		k, _ := LookupTopic(name)
		v, err := k.Parse(overrides[name])
		if err == nil {
			values[name] = v
		} else if first == nil {
			first = err
		}
	}
	return values, first
}

func unknownTopicKey(overrides map[string]string) error {
	for _, name := range sortedKeys(overrides) {
		if _, ok := LookupTopic(name); !ok {
			return plain(name, "Unknown topic config name: %s", name)
		}
	}
	return nil
}

func (b *Broker) topicDefaults() map[string]any {
	r := &reader{values: b.settings}
	values := make(map[string]any, len(topicKeys))
	for i := range topicKeys {
		values[topicKeys[i].Name] = topicKeys[i].inherited(r)
	}
	return values
}

// inherited is the value that a topic without an override has.
func (k *TopicKey) inherited(r *reader) any {
	if unitOf(lastOf(k.Synonyms)) != time.Millisecond {
		d := r.firstMillis(k.Synonyms...)
		if d < 0 {
			return int64(-1)
		}
		return d.Milliseconds()
	}
	for _, s := range k.Synonyms {
		if v := r.value(s); v != nil {
			return v
		}
	}
	v, _ := k.convert(k.Default.Text)
	return v
}

func lastOf(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

// LookupTopic finds a topic key by name.
func LookupTopic(name string) (*TopicKey, bool) {
	k, ok := topicByName[name]
	return k, ok
}

var topicByName = func() map[string]*TopicKey {
	m := make(map[string]*TopicKey, len(topicKeys))
	for i := range topicKeys {
		m[topicKeys[i].Name] = &topicKeys[i]
	}
	return m
}()

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Format renders a value of Parse as DescribeConfigs shows it. Kafka: ConfigDef.convertToString.
func Format(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return javaString(x)
	case []string:
		return strings.Join(x, ",")
	default:
		return ""
	}
}
