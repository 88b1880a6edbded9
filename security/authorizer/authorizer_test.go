package authorizer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"jackdaw/internal/run"
	"jackdaw/internal/vfs"
	"jackdaw/security"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/zkserver"
)

// zooKeeper runs an embedded server until the test ends and returns its address.
func zooKeeper(t *testing.T) string {
	t.Helper()
	s, err := zkserver.Open(zkserver.Options{Addr: "127.0.0.1:0", FS: vfs.NewMem(nil), Dir: "/zk", Tick: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

// follower is an authorizer of a broker of its own, with a session of its own.
func follower(t *testing.T, addr string, rules acl.Rules) (*Authorizer, *zkstore.Session) {
	t.Helper()
	c := zkstore.NewClient(zkstore.Config{Servers: []string{addr}, SessionTimeout: 4 * time.Second, MaxInFlight: 8})
	t.Cleanup(c.Close)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	parts := run.New(context.Background(), slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		parts.Stop()
		if err := parts.Wait(); err != nil {
			t.Error(err)
		}
	})
	a := New(rules, slog.New(slog.DiscardHandler))
	if err := a.Follow(t.Context(), c.Session(), parts); err != nil {
		t.Fatal(err)
	}
	return a, c.Session()
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.After(time.Minute); !f(); {
		select {
		case <-look.C:
		case <-end:
			t.Fatal(what)
		}
	}
}

func read(topic, user string) acl.Binding {
	return acl.Binding{
		Pattern: acl.Pattern{Type: acl.Topic, Name: topic, Kind: acl.Literal},
		Entry:   acl.Entry{Principal: "User:" + user, Host: acl.Wildcard, Operation: acl.Read, Permission: acl.Allow},
	}
}

func TestAuthorizer_Changes_CountHereAtOnceAndElsewhereSoon(t *testing.T) {
	addr := zooKeeper(t)
	a, session := follower(t, addr, acl.Rules{})
	b, _ := follower(t, addr, acl.Rules{})
	allows := func(x *Authorizer, topic, user string) bool {
		return x.Allows(t.Context(), Action{Principal: security.User(user), Host: "10.0.0.1", Operation: acl.Read, Type: acl.Topic, Name: topic})
	}
	prefixed := read("te", "bob")
	prefixed.Kind = acl.Prefixed
	if errs := a.Create(t.Context(), session, []acl.Binding{read("t", "alice"), read("u", "alice"), read("t", "bob"), prefixed}); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	if !allows(a, "t", "alice") || !allows(a, "t", "bob") || !allows(a, "test", "bob") || allows(a, "test", "alice") {
		t.Error("not in effect where it was created")
	}
	eventually(t, "the other broker does not hear of new ACLs", func() bool { return allows(b, "u", "alice") && allows(b, "test", "bob") })

	bob := "User:bob"
	all := acl.Filter{
		PatternFilter: acl.PatternFilter{Type: acl.AnyResource, Kind: acl.AnyKind},
		EntryFilter:   acl.EntryFilter{Principal: &bob, Operation: acl.AnyOperation, Permission: acl.AnyPermission},
	}
	deleted := a.Delete(t.Context(), session, []acl.Filter{all, all})
	if len(deleted[0]) != 2 || len(deleted[1]) != 0 || deleted[0][0].Err != nil {
		t.Errorf("deleted %+v", deleted)
	}
	if allows(a, "t", "bob") || !allows(a, "t", "alice") {
		t.Error("deletion not in effect where it was made")
	}
	eventually(t, "the other broker does not hear of deleted ACLs", func() bool { return !allows(b, "t", "bob") && !allows(b, "test", "bob") })
}

// A filter that names a pattern finds what another broker has created and this one does not know yet.
func TestAuthorizer_DeleteByName_FindsWhatWasNotHeardOf(t *testing.T) {
	addr := zooKeeper(t)
	a, session := follower(t, addr, acl.Rules{})
	deaf := New(acl.Rules{}, slog.New(slog.DiscardHandler))
	if errs := a.Create(t.Context(), session, []acl.Binding{read("t", "alice")}); errs[0] != nil {
		t.Fatal(errs)
	}
	name := "t"
	f := acl.Filter{
		PatternFilter: acl.PatternFilter{Type: acl.Topic, Name: &name, Kind: acl.AnyKind},
		EntryFilter:   acl.EntryFilter{Operation: acl.AnyOperation, Permission: acl.AnyPermission},
	}
	if got := deaf.Delete(t.Context(), session, []acl.Filter{f}); len(got[0]) != 1 || got[0][0].Binding != read("t", "alice") {
		t.Errorf("%+v", got)
	}
}

func TestAuthorizer_AuditLog_IsKafkas(t *testing.T) {
	var out bytes.Buffer
	a := New(acl.Rules{SuperUsers: []security.Principal{security.User("root")}}, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	x := Action{Principal: security.Anonymous, Host: "127.0.0.1", Key: 3, Operation: acl.DescribeConfigs, Type: acl.TransactionalID, Name: "x", References: 2}
	a.Allows(t.Context(), x)
	x.Quiet = true
	a.Allows(t.Context(), x) // not logged
	x.Principal = security.User("root")
	a.AllowsAny(t.Context(), x)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		`level=INFO msg="Principal = User:ANONYMOUS is Denied Operation = DescribeConfigs from host = 127.0.0.1 on resource = TransactionalId:LITERAL:x for request = Metadata with resourceRefCount = 2" logger=kafka.authorizer.logger`,
		`level=DEBUG msg="Principal = User:root is Allowed Operation = DescribeConfigs from host = 127.0.0.1 on resource = TransactionalId:UNKNOWN:NONE for request = Metadata with resourceRefCount = 2" logger=kafka.authorizer.logger`,
	} {
		if len(lines) != 2 || !strings.Contains(lines[i], want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

func TestAuthorizer_Operations_AreBits(t *testing.T) {
	a := New(acl.Rules{}, slog.New(slog.DiscardHandler))
	b := read("t", "alice")
	a.table.Store(a.Table().With(map[acl.Pattern][]acl.Entry{b.Pattern: {b.Entry}}))
	if got := a.Operations(security.User("alice"), "h", acl.Topic, "t"); got != 1<<acl.Read|1<<acl.Describe {
		t.Errorf("%b", got)
	}
	if got := a.Table().Patterns(acl.PatternFilter{Type: acl.Topic, Kind: acl.Literal}); !slices.Equal(got, []acl.Pattern{b.Pattern}) {
		t.Error(got)
	}
}

// What every request pays: nothing that the collector has to pick up.
func TestAuthorizer_Allows_AllocatesNothing(t *testing.T) {
	a := New(acl.Rules{}, slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	b := read("t", "alice")
	a.table.Store(a.Table().With(map[acl.Pattern][]acl.Entry{b.Pattern: {b.Entry}}))
	x := Action{Principal: security.User("alice"), Host: "127.0.0.1", Operation: acl.Read, Type: acl.Topic, Name: "t"}
	if n := testing.AllocsPerRun(100, func() { a.Allows(t.Context(), x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
