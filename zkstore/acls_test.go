package zkstore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func allow(op acl.Operation) acl.Entry {
	return acl.Entry{Principal: "User:alice", Host: acl.Wildcard, Operation: op, Permission: acl.Allow}
}

// adding makes a change that adds an entry.
func adding(e acl.Entry) func([]acl.Entry) []acl.Entry {
	return func(had []acl.Entry) []acl.Entry { return append(had, e) }
}

func TestSession_ACLs_WrittenReadAndNotified(t *testing.T) {
	onBoth(t, func(t *testing.T, e env) {
		_, s := prepared(t, e.config())
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		must(t, s.EnsureACLPaths(ctx))
		must(t, s.EnsureACLPaths(ctx))
		literal, prefixed := acl.Pattern{Type: acl.Topic, Name: "t", Kind: acl.Literal}, acl.Pattern{Type: acl.Group, Name: "g", Kind: acl.Prefixed}
		told := make(chan string, 16)
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, parent := range zkstore.ACLChangesPaths() {
			wg.Go(func() {
				err := s.WatchACLChanges(ctx, parent, func(p []acl.Pattern) { told <- p[0].Kind.String() + " " + p[0].Name })
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		defer stop()
		for _, op := range []acl.Operation{acl.Read, acl.Write} {
			if _, err := s.ChangeACLs(ctx, literal, adding(allow(op))); err != nil {
				t.Fatal(err)
			}
			expect(t, told, "LITERAL t")
		}
		if _, err := s.ChangeACLs(ctx, prefixed, adding(allow(acl.Read))); err != nil {
			t.Fatal(err)
		}
		expect(t, told, "PREFIXED g")
		all, err := s.AllACLs(ctx)
		if err != nil || len(all) != 2 || !slices.Equal(all[literal], []acl.Entry{allow(acl.Read), allow(acl.Write)}) || len(all[prefixed]) != 1 {
			t.Errorf("%v %v", all, err)
		}
		if _, err := s.ChangeACLs(ctx, literal, func([]acl.Entry) []acl.Entry { return nil }); err != nil {
			t.Fatal(err)
		}
		expect(t, told, "LITERAL t")
		if exists, _, err := s.Exists(ctx, znode.ACLPatternPath(literal)); exists || err != nil {
			t.Errorf("a pattern without entries has a node: %v", err)
		}
	})
}

// Somebody else writes between the read and the write: his entry stays.
func TestSession_ChangeACLs_Overtaken_TriesAgain(t *testing.T) {
	_, s := prepared(t, env{addr: embedded(t)}.config())
	must(t, s.EnsureACLPaths(t.Context()))
	p := acl.Pattern{Type: acl.Topic, Name: "t", Kind: acl.Literal}
	for _, has := range [][]acl.Entry{{allow(acl.Read)}, {allow(acl.Read), allow(acl.Alter)}, nil} {
		calls := 0
		got, err := s.ChangeACLs(t.Context(), p, func(had []acl.Entry) []acl.Entry {
			if calls++; calls == 1 {
				path := znode.ACLPatternPath(p)
				switch {
				case has == nil:
					must(t, s.Delete(t.Context(), path, zkstore.AnyVersion))
				case len(had) == 0:
					_, err := s.Create(t.Context(), path, znode.EncodeACLs(has), zkstore.Persistent)
					must(t, err)
				default:
					_, err := s.Set(t.Context(), path, znode.EncodeACLs(has), zkstore.AnyVersion)
					must(t, err)
				}
			}
			return append(had, allow(acl.Write))
		})
		if want := append(slices.Clone(has), allow(acl.Write)); err != nil || calls != 2 || !slices.Equal(got, want) {
			t.Errorf("%v after %d calls, want %v: %v", got, calls, want, err)
		}
	}
}
