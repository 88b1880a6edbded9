package zkstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// SetConsumerOffset stores an offset of a group, as OffsetCommit version 0 does. Kafka: KafkaZkClient.setOrCreateConsumerOffset.
func (s *Session) SetConsumerOffset(ctx context.Context, group string, tp metadata.TopicPartition, offset int64) error {
	path, data := znode.ConsumerOffsetPath(group, tp), znode.EncodeConsumerOffset(offset)
	for {
		_, err := s.Set(ctx, path, data, AnyVersion)
		if !errors.Is(err, ErrNoNode) {
			return err
		}
		if err := s.createAll(ctx, path, data); !errors.Is(err, ErrNodeExists) {
			return err
		}
	}
}

// ConsumerOffset reads an offset of a group; ok is false when there is none. Kafka: KafkaZkClient.getConsumerOffset.
func (s *Session) ConsumerOffset(ctx context.Context, group string, tp metadata.TopicPartition) (offset int64, ok bool, err error) {
	path := znode.ConsumerOffsetPath(group, tp)
	data, _, err := s.Get(ctx, path)
	switch {
	case errors.Is(err, ErrNoNode):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case len(data) == 0:
		return 0, false, nil // a parent that somebody made without an offset
	}
	if offset, err = strconv.ParseInt(string(data), 10, 64); err != nil {
		return 0, false, fmt.Errorf("offset in %s: %w", path, err)
	}
	return offset, true, nil
}
