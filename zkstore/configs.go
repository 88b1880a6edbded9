package zkstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"jackdaw/zkstore/znode"
)

// configChangeLife is how long notifications stay. Kafka: ZkNodeChangeNotificationListener, change expiration.
const configChangeLife = 15 * time.Minute

// TopicConfigs reads the configurations of topics; a topic without one has an empty map.
func (s *Session) TopicConfigs(ctx context.Context, names []string) (map[string]map[string]string, error) {
	return s.readConfigs(ctx, "topics", names)
}

// EntityConfigs reads all configurations of a type: topics, brokers, clients, users or ips. Names stay percent-encoded.
func (s *Session) EntityConfigs(ctx context.Context, entityType string) (map[string]map[string]string, error) {
	names, err := s.childrenIfAny(ctx, znode.ConfigPath+"/"+entityType)
	if err != nil {
		return nil, err
	}
	return s.readConfigs(ctx, entityType, names)
}

// EntityConfig reads one configuration; empty when there is no node.
func (s *Session) EntityConfig(ctx context.Context, entityType, name string) (map[string]string, error) {
	all, err := s.readConfigs(ctx, entityType, []string{name})
	if err != nil {
		return nil, err
	}
	return all[name], nil
}

func (s *Session) readConfigs(ctx context.Context, entityType string, names []string) (map[string]map[string]string, error) {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = znode.EntityConfigPath(entityType, n)
	}
	got, err := s.GetMany(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[string]string, len(names))
	for i, r := range got {
		if r.Err != nil && !errors.Is(r.Err, ErrNoNode) {
			return nil, r.Err
		}
		config, err := znode.DecodeConfig(r.Data)
		if err != nil {
			return nil, wrap("read", paths[i], err)
		}
		out[names[i]] = config
	}
	return out, nil
}

// SetEntityConfig writes a whole configuration and then the notification that makes all brokers read it again.
// Kafka: AdminZkClient.changeEntityConfig, KafkaZkClient.setOrCreateEntityConfigs.
func (s *Session) SetEntityConfig(ctx context.Context, entityType, name string, config map[string]string) error {
	if err := s.writeConfig(ctx, znode.EntityConfigPath(entityType, name), znode.EncodeConfig(config)); err != nil {
		return err
	}
	change := znode.ConfigChange{EntityType: entityType, EntityName: name}
	_, err := s.Create(ctx, znode.ConfigChangePrefix, change.Encode(), PersistentSequential)
	if errors.Is(err, ErrNoNode) {
		if err := s.ensureParents(ctx, znode.ConfigChangePrefix); err != nil {
			return err
		}
		_, err = s.Create(ctx, znode.ConfigChangePrefix, change.Encode(), PersistentSequential)
	}
	return err
}

// writeConfig sets or creates a configuration. A set checks that the controller's node is at version 0, which it is
// until a KRaft controller takes the cluster over; without a controller there is nothing to check.
func (s *Session) writeConfig(ctx context.Context, path string, data []byte) error {
	for {
		exists, _, err := s.Exists(ctx, path)
		if err != nil {
			return err
		}
		if !exists {
			if err := s.createAll(ctx, path, data); !errors.Is(err, ErrNodeExists) {
				return err
			}
			continue
		}
		res, err := s.Multi(ctx, CheckOp(znode.ControllerPath, 0), SetOp(path, data, AnyVersion))
		switch {
		case err == nil:
			return nil
		case len(res) == 2 && errors.Is(res[0].Err, ErrNoNode):
			if _, err := s.Set(ctx, path, data, AnyVersion); !errors.Is(err, ErrNoNode) {
				return err
			}
		case len(res) == 2 && errors.Is(res[0].Err, ErrBadVersion):
			return wrap("set", path, ErrControllerMoved)
		case !errors.Is(err, ErrNoNode):
			return err
		}
	}
}

// WatchConfigChanges calls f for each notification below /config/changes, those that are there first, and deletes those
// older than 15 minutes, until ctx or the session ends. What is notified several times at once is told once.
// Kafka: ZkNodeChangeNotificationListener.
func (s *Session) WatchConfigChanges(ctx context.Context, f func(entityType, entityName string)) error {
	last := ""
	var readErr error
	wctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := s.WatchChildren(wctx, znode.ConfigChangesPath, func(names []string) {
		slices.Sort(names)
		fresh := names[:0:0]
		for _, n := range names {
			if n > last {
				fresh = append(fresh, n)
			}
		}
		if readErr = s.readChanges(ctx, fresh, f); readErr != nil {
			stop(readErr)
			return
		}
		if len(names) > 0 {
			last = max(last, names[len(names)-1])
		}
		s.purgeChanges(ctx, names)
	})
	if readErr != nil {
		return readErr
	}
	return err
}

// readChanges reads notifications and tells what they are about.
func (s *Session) readChanges(ctx context.Context, names []string, f func(entityType, entityName string)) error {
	got, err := s.GetMany(ctx, changePaths(names))
	if err != nil {
		return err
	}
	seen := map[znode.ConfigChange]bool{}
	for i, r := range got {
		if errors.Is(r.Err, ErrNoNode) {
			continue
		}
		if r.Err != nil {
			return r.Err
		}
		c, err := znode.DecodeConfigChange(r.Data)
		if err != nil {
			s.lg.Warn("notification ignored", "path", changePaths(names[i : i+1])[0], "err", err)
			continue
		}
		if !seen[c] {
			seen[c] = true
			f(c.EntityType, c.EntityName)
		}
	}
	return nil
}

func changePaths(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = znode.ConfigChangesPath + "/" + n
	}
	return out
}

// purgeChanges deletes old notifications. The oldest come first, so that it stops at the first young one. Other brokers
// do the same at the same time; who fails leaves the rest for the next time.
func (s *Session) purgeChanges(ctx context.Context, sorted []string) {
	limit := time.Now().Add(-configChangeLife).UnixMilli()
	for _, p := range changePaths(sorted) {
		if !strings.HasPrefix(p, znode.ConfigChangePrefix) {
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
