package zkstore

import (
	"context"
	"errors"

	"jackdaw/zkstore/znode"
)

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

// WatchConfigChanges calls f for each notification below /config/changes, as watchNotifications does. What is notified
// several times at once is told once.
func (s *Session) WatchConfigChanges(ctx context.Context, f func(entityType, entityName string)) error {
	return s.watchNotifications(ctx, znode.ConfigChangesPath, znode.ConfigChangePrefix, func(found []notification) {
		seen := map[znode.ConfigChange]bool{}
		for _, n := range found {
			c, err := znode.DecodeConfigChange(n.data)
			if err != nil {
				s.lg.Warn("notification ignored", "path", n.path, "err", err)
				continue
			}
			if !seen[c] {
				seen[c] = true
				f(c.EntityType, c.EntityName)
			}
		}
	})
}
