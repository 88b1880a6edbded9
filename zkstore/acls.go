package zkstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"jackdaw/security/acl"
	"jackdaw/zkstore/znode"
)

// EnsureACLPaths makes the parents of ACLs and of their notifications. Kafka: KafkaZkClient.createAclPaths.
func (s *Session) EnsureACLPaths(ctx context.Context) error {
	for _, kind := range znode.ACLKinds() {
		for _, t := range acl.Concrete() {
			if err := s.ensureWithParents(ctx, znode.ACLTypePath(kind, t)); err != nil {
				return err
			}
		}
	}
	return s.ensure(ctx, znode.ACLChangesPaths())
}

func (s *Session) ensureWithParents(ctx context.Context, path string) error {
	if err := s.ensureParents(ctx, path); err != nil {
		return err
	}
	return s.ensure(ctx, []string{path})
}

// AllACLs reads all ACLs. A resource type that is not known is left out, as Kafka does.
func (s *Session) AllACLs(ctx context.Context) (map[acl.Pattern][]acl.Entry, error) {
	var patterns []acl.Pattern
	for _, kind := range znode.ACLKinds() {
		types, err := s.childrenIfAny(ctx, znode.ACLKindPath(kind))
		if err != nil {
			return nil, err
		}
		for _, name := range types {
			t := acl.ParseResourceType(name)
			if t <= acl.AnyResource {
				s.lg.Warn("acls of an unknown resource type ignored", "type", name)
				continue
			}
			names, err := s.childrenIfAny(ctx, znode.ACLTypePath(kind, t))
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				patterns = append(patterns, acl.Pattern{Type: t, Name: n, Kind: kind})
			}
		}
	}
	return s.ACLs(ctx, patterns)
}

// ACLs reads the ACLs of patterns, none for those without a node.
func (s *Session) ACLs(ctx context.Context, patterns []acl.Pattern) (map[acl.Pattern][]acl.Entry, error) {
	paths := make([]string, len(patterns))
	for i, p := range patterns {
		paths[i] = znode.ACLPatternPath(p)
	}
	got, err := s.GetMany(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[acl.Pattern][]acl.Entry, len(patterns))
	for i, r := range got {
		if r.Err != nil && !errors.Is(r.Err, ErrNoNode) {
			return nil, r.Err
		}
		entries, err := znode.DecodeACLs(r.Data)
		if err != nil {
			return nil, wrap("read", paths[i], err)
		}
		out[patterns[i]] = entries
	}
	return out, nil
}

// Attempts at a change that others interfere with, and the pause between them. Kafka: AclAuthorizer.maxUpdateRetries.
const (
	aclAttempts = 11
	aclPause    = 100 * time.Millisecond
)

// ChangeACLs gives a pattern the entries that change makes of those it has, and returns them. change is called again when
// somebody else was faster. If anything is different then, all brokers are notified. A pattern without entries has no node.
// Kafka: AclAuthorizer.updateResourceAcls.
func (s *Session) ChangeACLs(ctx context.Context, p acl.Pattern, change func([]acl.Entry) []acl.Entry) ([]acl.Entry, error) {
	path := znode.ACLPatternPath(p)
	for range aclAttempts {
		had, version, err := s.versionedACLs(ctx, path)
		if err != nil {
			return nil, err
		}
		now := change(slices.Clone(had))
		if slices.Equal(had, now) {
			return now, nil
		}
		err = s.writeACLs(ctx, path, now, version)
		switch {
		case err == nil:
			return now, s.notifyACLs(ctx, p)
		case !errors.Is(err, ErrBadVersion) && !errors.Is(err, ErrNoNode) && !errors.Is(err, ErrNodeExists):
			return nil, err
		}
		pause(ctx, aclPause)
	}
	return nil, fmt.Errorf("change %s: others interfered %d times", path, aclAttempts)
}

// noNode stands for the version of a node that is not there.
const noNode = -1

func (s *Session) versionedACLs(ctx context.Context, path string) ([]acl.Entry, int32, error) {
	data, st, err := s.Get(ctx, path)
	if errors.Is(err, ErrNoNode) {
		return nil, noNode, nil
	}
	if err != nil {
		return nil, 0, err
	}
	entries, err := znode.DecodeACLs(data)
	return entries, st.Version, wrap("read", path, err)
}

func (s *Session) writeACLs(ctx context.Context, path string, entries []acl.Entry, version int32) error {
	switch {
	case len(entries) == 0:
		return s.Delete(ctx, path, version)
	case version == noNode:
		return s.createAll(ctx, path, znode.EncodeACLs(entries))
	}
	_, err := s.Set(ctx, path, znode.EncodeACLs(entries), version)
	return err
}

func (s *Session) notifyACLs(ctx context.Context, p acl.Pattern) error {
	parent, data := znode.ACLChange(p)
	_, err := s.Create(ctx, znode.ACLChangePrefix(parent), data, PersistentSequential)
	return err
}

// WatchACLChanges calls f with the patterns whose ACLs were changed, as watchNotifications does, for one kind of patterns.
func (s *Session) WatchACLChanges(ctx context.Context, parent string, f func([]acl.Pattern)) error {
	return s.watchNotifications(ctx, parent, znode.ACLChangePrefix(parent), func(found []notification) {
		var changed []acl.Pattern
		for _, n := range found {
			p, err := znode.DecodeACLChange(parent, n.data)
			if err != nil {
				s.lg.Warn("notification ignored", "path", n.path, "err", err)
				continue
			}
			if !slices.Contains(changed, p) {
				changed = append(changed, p)
			}
		}
		if len(changed) > 0 {
			f(changed)
		}
	})
}

// ACLChangesPaths lists the parents of notifications about ACLs, one for each kind of patterns.
func ACLChangesPaths() []string { return znode.ACLChangesPaths() }
