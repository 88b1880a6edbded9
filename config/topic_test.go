package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The texts are those of Kafka 3.9.2's LogConfig.validate.
func TestValidateTopic_Overrides_AsKafka(t *testing.T) {
	b := mustLoad(t).Broker()
	for _, tc := range []struct{ overrides, want string }{
		{"retention.ms=abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms=-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms=", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms=9223372036854775808", "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms= -1 ", ""},
		{"retention.ms=abc;no.such=1", "Unknown topic config name: no.such"},
		{"cleanup.policy=zap", "Invalid value zap for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy=", ""},
		{"cleanup.policy= compact , delete ", ""},
		{"segment.bytes=1", "Invalid value 1 for configuration segment.bytes: Value must be at least 14"},
		{"segment.ms=0", "Invalid value 0 for configuration segment.ms: Value must be at least 1"},
		{"min.insync.replicas=0", "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"},
		{"compression.type=ZSTD", "Invalid value ZSTD for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level=0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.lz4.level=18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
		{"compression.zstd.level=-131073", "Invalid value -131073 for configuration compression.zstd.level: Value must be at least -131072"},
		{"message.timestamp.type=zap", "Invalid value zap for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"message.format.version=zap", "Invalid value zap for configuration message.format.version: Version zap is not a valid version"},
		{"message.format.version=2.8", ""},
		{"unclean.leader.election.enable=yes", "Invalid value yes for configuration unclean.leader.election.enable: Expected value to be either true or false"},
		{"leader.replication.throttled.replicas=zap", "Invalid value [zap] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"leader.replication.throttled.replicas=*", ""},
		{"leader.replication.throttled.replicas=0:1, 1:2", ""},
		{"min.compaction.lag.ms=10;max.compaction.lag.ms=5", "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"},
		{"min.cleanable.dirty.ratio=2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"preallocate=1", "Invalid value 1 for configuration preallocate: Expected value to be either true or false"},
		{"max.message.bytes=2147483648", "Invalid value 2147483648 for configuration max.message.bytes: Not a number of type INT"},
		{"flush.messages=0", "Invalid value 0 for configuration flush.messages: Value must be at least 1"},
		{"remote.storage.enable=true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"remote.storage.enable=false", ""},
		{"remote.log.copy.disable=true", "It is invalid to set `remote.log.delete.on.disable` or `remote.log.copy.disable` under Zookeeper's mode."},
		{"remote.log.delete.on.disable=false", ""},
		{"min.cleanable.dirty.ratio=0.5f", ""},
		{"min.cleanable.dirty.ratio=1.D", ""},
		{"min.cleanable.dirty.ratio=f", "Invalid value f for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio=0.5fd", "Invalid value 0.5fd for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
	} {
		t.Run(tc.overrides, func(t *testing.T) {
			err := b.ValidateTopic(pairs(tc.overrides))
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || err.Error() != tc.want || !errors.Is(err, kerr.InvalidConfig) {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func pairs(text string) map[string]string {
	out := map[string]string{}
	for _, s := range strings.Split(text, ";") {
		if k, v, ok := strings.Cut(s, "="); ok {
			out[k] = v
		}
	}
	return out
}

func TestTopic_NoOverrides_AreKafkasDefaults(t *testing.T) {
	got, err := mustLoad(t).Broker().Topic(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Topic{
		SegmentBytes: 1 << 30, SegmentAge: 168 * time.Hour, IndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: 1<<63 - 1, FlushAge: Unlimited, RetentionBytes: -1, RetentionAge: 168 * time.Hour, MaxMessageBytes: 1048588,
		FileDeleteDelay: time.Minute, Delete: true, DeleteRetention: 24 * time.Hour, MaxCompactionLag: Unlimited,
		MinCleanableRatio: 0.5, CompressionType: "producer", GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3,
		TimestampBefore: Unlimited, TimestampAfter: Unlimited, MinInsyncReplicas: 1, Downconversion: true,
		LeaderThrottled: []string{}, FollowerThrottled: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTopic_Overrides_BeatTheBroker(t *testing.T) {
	b := mustLoad(t, "min.insync.replicas=2", "unclean.leader.election.enable=true", "log.segment.bytes=1000", "log.cleanup.policy=compact").Broker()
	got, err := b.Topic(pairs("unclean.leader.election.enable=false;segment.bytes=2000;cleanup.policy=compact,delete;retention.ms=-1"))
	if err != nil {
		t.Fatal(err)
	}
	if got.MinInsyncReplicas != 2 || got.UncleanElection || got.SegmentBytes != 2000 || !got.Compact || !got.Delete || got.RetentionAge >= 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestTopic_UnusableOverride_TheBrokersValueStands(t *testing.T) {
	b := mustLoad(t, "log.segment.bytes=1000").Broker()
	got, err := b.Topic(pairs("segment.bytes=x;retention.ms=5"))
	if err == nil || got.SegmentBytes != 1000 || got.RetentionAge != 5*time.Millisecond {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestTopic_OldTimestampBound_CountsWhereTheNewAreUnset(t *testing.T) {
	got, err := mustLoad(t).Broker().Topic(pairs("message.timestamp.difference.max.ms=3;message.timestamp.after.max.ms=9"))
	if err != nil || got.TimestampBefore != 3*time.Millisecond || got.TimestampAfter != 9*time.Millisecond {
		t.Fatalf("got %v, %v, %v", got.TimestampBefore, got.TimestampAfter, err)
	}
}

func TestNullTopicConfigs_Names_AreListed(t *testing.T) {
	if err := NullTopicConfigs(nil); err != nil {
		t.Fatal(err)
	}
	if err := NullTopicConfigs([]string{"retention.ms"}); err == nil || err.Error() != "Null value not supported for topic configs: retention.ms" {
		t.Fatalf("got %v", err)
	}
}
