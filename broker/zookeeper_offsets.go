package broker

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/zkstore"
)

// zooKeeperOffsets keeps the offsets of OffsetCommit and OffsetFetch version 0; it implements service.ZooKeeperOffsets.
type zooKeeperOffsets struct {
	session func() *zkstore.Session
}

// SetOffset implements service.ZooKeeperOffsets.
func (z zooKeeperOffsets) SetOffset(ctx context.Context, group string, tp metadata.TopicPartition, offset int64) error {
	s, err := z.usable(group)
	if err != nil {
		return err
	}
	return s.SetConsumerOffset(ctx, group, tp, offset)
}

// Offset implements service.ZooKeeperOffsets.
func (z zooKeeperOffsets) Offset(ctx context.Context, group string, tp metadata.TopicPartition) (int64, bool, error) {
	s, err := z.usable(group)
	if err != nil {
		return 0, false, err
	}
	return s.ConsumerOffset(ctx, group, tp)
}

// usable returns the session, for a group whose name is the name of one znode and leads nowhere else.
func (z zooKeeperOffsets) usable(group string) (*zkstore.Session, error) {
	if group == "" || group == "." || group == ".." || strings.ContainsAny(group, "/\x00") {
		return nil, fmt.Errorf("group %q cannot have a znode: %w", group, kerr.InvalidGroupID)
	}
	s := z.session()
	if s == nil {
		return nil, fmt.Errorf("offset in zookeeper: no session: %w", kerr.CoordinatorNotAvailable)
	}
	return s, nil
}
