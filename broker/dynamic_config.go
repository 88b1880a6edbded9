package broker

import (
	"context"
	"errors"
	"fmt"

	"jackdaw/config"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/zkstore"
)

// Entity types and names below /config. Kafka: ConfigType, ZooKeeperInternals.DEFAULT_STRING.
const (
	topicEntity   = "topics"
	brokerEntity  = "brokers"
	defaultEntity = "<default>"
)

// readDynamic reads the settings that ZooKeeper has for this broker and for all brokers.
func readDynamic(ctx context.Context, session *zkstore.Session, id metadata.BrokerID) (config.Dynamic, error) {
	own, err := session.EntityConfig(ctx, brokerEntity, fmt.Sprint(id))
	if err != nil && !errors.Is(err, zkstore.ErrNoNode) {
		return config.Dynamic{}, fmt.Errorf("read config of broker %d: %w", id, err)
	}
	all, err := session.EntityConfig(ctx, brokerEntity, defaultEntity)
	if err != nil && !errors.Is(err, zkstore.ErrNoNode) {
		return config.Dynamic{}, fmt.Errorf("read default config of brokers: %w", err)
	}
	return config.Dynamic{PerBroker: own, Default: all}, nil
}

// logConfig translates the effective settings of a topic; the two packages may not know each other.
func logConfig(t *config.Topic) log.Config {
	c := log.Config{
		SegmentBytes:       t.SegmentBytes,
		SegmentAge:         t.SegmentAge,
		SegmentJitter:      t.SegmentJitter,
		IndexBytes:         t.IndexBytes,
		IndexIntervalBytes: t.IndexIntervalBytes,
		FlushMessages:      t.FlushMessages,
		FlushAge:           t.FlushAge,
		RetentionBytes:     t.RetentionBytes,
		RetentionAge:       t.RetentionAge,
		MaxMessageBytes:    t.MaxMessageBytes,
		FileDeleteDelay:    t.FileDeleteDelay,
		Compact:            t.Compact,
		Delete:             t.Delete,
		DeleteRetention:    t.DeleteRetention,
		MinCompactionLag:   t.MinCompactionLag,
		MaxCompactionLag:   t.MaxCompactionLag,
		MinCleanableRatio:  t.MinCleanableRatio,
		CompressionType:    t.CompressionType,
		GzipLevel:          t.GzipLevel,
		LZ4Level:           t.LZ4Level,
		ZstdLevel:          t.ZstdLevel,
		TimestampType:      log.CreateTime,
		TimestampBefore:    t.TimestampBefore,
		TimestampAfter:     t.TimestampAfter,
		Preallocate:        t.Preallocate,
		MinInsyncReplicas:  t.MinInsyncReplicas,
		UncleanElection:    t.UncleanElection,
		Downconversion:     t.Downconversion,
	}
	if t.LogAppendTime {
		c.TimestampType = log.LogAppendTime
	}
	return c
}
