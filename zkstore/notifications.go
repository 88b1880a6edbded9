package zkstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// notificationLife is how long notifications stay. Kafka: ZkNodeChangeNotificationListener, change expiration.
const notificationLife = 15 * time.Minute

// notification is a numbered node that tells every broker that something was changed.
type notification struct {
	path string
	data []byte
}

// watchNotifications calls f with the notifications below a parent, those that are there first, and deletes those older
// than 15 minutes, until ctx or the session ends. Kafka: ZkNodeChangeNotificationListener.
func (s *Session) watchNotifications(ctx context.Context, parent, prefix string, f func([]notification)) error {
	last := ""
	var readErr error
	wctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := s.WatchChildren(wctx, parent, func(names []string) {
		slices.Sort(names)
		var fresh []string
		for _, n := range names {
			if n > last {
				fresh = append(fresh, parent+"/"+n)
			}
		}
		found, err := s.readNotifications(ctx, fresh)
		if err != nil {
			readErr = err
			stop(err)
			return
		}
		f(found)
		if len(names) > 0 {
			last = max(last, names[len(names)-1])
		}
		s.purgeNotifications(ctx, parent, prefix, names)
	})
	if readErr != nil {
		return readErr
	}
	return err
}

// readNotifications leaves out what somebody has deleted meanwhile.
func (s *Session) readNotifications(ctx context.Context, paths []string) ([]notification, error) {
	got, err := s.GetMany(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make([]notification, 0, len(got))
	for i, r := range got {
		if r.Err == nil {
			out = append(out, notification{paths[i], r.Data})
		} else if !errors.Is(r.Err, ErrNoNode) {
			return nil, r.Err
		}
	}
	return out, nil
}

// purgeNotifications deletes old ones. The oldest come first, so that it stops at the first young one. Other brokers
// do the same at the same time; who fails leaves the rest for the next time.
func (s *Session) purgeNotifications(ctx context.Context, parent, prefix string, sorted []string) {
	limit := time.Now().Add(-notificationLife).UnixMilli()
	for _, name := range sorted {
		p := parent + "/" + name
		if !strings.HasPrefix(p, prefix) {
			continue
		}
		exists, st, err := s.Exists(ctx, p)
		if err != nil || exists && st.CTimeMs >= limit {
			return
		}
		if !exists {
			continue
		}
		if err := s.Delete(ctx, p, AnyVersion); err != nil && !errors.Is(err, ErrNoNode) {
			return
		}
	}
}
