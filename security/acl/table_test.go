package acl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"jackdaw/security"
)

func allow(principal, host string, op Operation) Entry { return Entry{principal, host, op, Allow} }
func deny(principal, host string, op Operation) Entry  { return Entry{principal, host, op, Deny} }

func TestTable_Allows_AsAclAuthorizer(t *testing.T) {
	alice, bob := security.User("alice"), security.User("bob")
	topic := func(name string) Pattern { return Pattern{Topic, name, Literal} }
	prefix := func(name string) Pattern { return Pattern{Topic, name, Prefixed} }
	for _, tc := range []struct {
		name  string
		acls  map[Pattern][]Entry
		rules Rules
		who   security.Principal
		host  string
		op    Operation
		topic string
		want  bool
	}{
		{name: "without ACLs nothing is allowed", who: alice, op: Read, topic: "t"},
		{name: "without ACLs all is allowed where that is configured", rules: Rules{AllowUnprotected: true}, who: alice, op: Read, topic: "t", want: true},
		{
			name: "an ACL of somebody else protects", rules: Rules{AllowUnprotected: true},
			acls: map[Pattern][]Entry{topic("t"): {allow("User:bob", "*", Read)}}, who: alice, op: Read, topic: "t",
		},
		{name: "super users need no ACL", rules: Rules{SuperUsers: []security.Principal{bob, alice}}, who: alice, op: Delete, topic: "t", want: true},
		{
			name: "super users are not denied", rules: Rules{SuperUsers: []security.Principal{alice}},
			acls: map[Pattern][]Entry{topic("t"): {deny("User:*", "*", All)}}, who: alice, op: Read, topic: "t", want: true,
		},
		{name: "literal", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "t", want: true},
		{name: "another name", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "tt"},
		{name: "another operation", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Read)}}, who: alice, op: Write, topic: "t"},
		{name: "all operations", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", All)}}, who: alice, op: Write, topic: "t", want: true},
		{name: "everybody", acls: map[Pattern][]Entry{topic("t"): {allow("User:*", "*", Read)}}, who: alice, op: Read, topic: "t", want: true},
		{name: "everybody of another type of principals", acls: map[Pattern][]Entry{topic("t"): {allow("Group:*", "*", Read)}}, who: alice, op: Read, topic: "t"},
		{name: "wildcard name", acls: map[Pattern][]Entry{topic("*"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "t", want: true},
		{name: "prefix", acls: map[Pattern][]Entry{prefix("te"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "test", want: true},
		{name: "whole name as prefix", acls: map[Pattern][]Entry{prefix("test"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "test", want: true},
		{name: "prefix that is longer", acls: map[Pattern][]Entry{prefix("tests"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "test"},
		{name: "prefix * is no wildcard", acls: map[Pattern][]Entry{prefix("*"): {allow("User:alice", "*", Read)}}, who: alice, op: Read, topic: "t"},
		{name: "host", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "10.0.0.1", Read)}}, who: alice, host: "10.0.0.1", op: Read, topic: "t", want: true},
		{name: "another host", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "10.0.0.1", Read)}}, who: alice, host: "10.0.0.2", op: Read, topic: "t"},
		{
			name: "a denial of a prefix goes before a literal permission",
			acls: map[Pattern][]Entry{topic("test"): {allow("User:alice", "*", Read)}, prefix("t"): {deny("User:*", "*", Read)}}, who: alice, op: Read, topic: "test",
		},
		{
			name: "a denial of reading leaves describing", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", All), deny("User:alice", "*", Read)}},
			who: alice, op: Describe, topic: "t", want: true,
		},
		{name: "altering implies describing", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Alter)}}, who: alice, op: Describe, topic: "t", want: true},
		{name: "creating does not imply describing", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Create)}}, who: alice, op: Describe, topic: "t"},
		{name: "altering configs implies describing them", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", AlterConfigs)}}, who: alice, op: DescribeConfigs, topic: "t", want: true},
		{name: "altering does not imply describing configs", acls: map[Pattern][]Entry{topic("t"): {allow("User:alice", "*", Alter)}}, who: alice, op: DescribeConfigs, topic: "t"},
	} {
		if got := NewTable(tc.rules).With(tc.acls).Allows(tc.who, tc.host, tc.op, Topic, tc.topic); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// naive is AclAuthorizer's rule word by word, over a plain list.
type naive struct {
	rules Rules
	acls  []Binding
}

func (n naive) about(kind ResourceType, name string, b Binding) bool {
	return b.Type == kind && (b.Kind == Prefixed && strings.HasPrefix(name, b.Name) || b.Kind == Literal && (b.Name == name || b.Name == "*"))
}

func (n naive) matches(who security.Principal, host string, op Operation, p Permission, e Entry) bool {
	return e.Permission == p && (e.Principal == who.String() || e.Principal == "User:*") && (e.Operation == op || e.Operation == All) && (e.Host == host || e.Host == "*")
}

func (n naive) allows(who security.Principal, host string, op Operation, kind ResourceType, name string) bool {
	if slices.Contains(n.rules.SuperUsers, who) {
		return true
	}
	ops := map[Operation][]Operation{Describe: {Describe, Read, Write, Delete, Alter}, DescribeConfigs: {DescribeConfigs, AlterConfigs}}[op]
	if ops == nil {
		ops = []Operation{op}
	}
	some, allowed := false, false
	for _, b := range n.acls {
		if !n.about(kind, name, b) {
			continue
		}
		some = true
		if n.matches(who, host, op, Deny, b.Entry) {
			return false
		}
		for _, o := range ops {
			allowed = allowed || n.matches(who, host, o, Allow, b.Entry)
		}
	}
	return allowed || !some && n.rules.AllowUnprotected
}

// allowsAny tries every name that could make a difference: those of the patterns, and one that continues each prefix.
func (n naive) allowsAny(who security.Principal, host string, op Operation, kind ResourceType) bool {
	if slices.Contains(n.rules.SuperUsers, who) {
		return true
	}
	denied := func(name string) bool {
		for _, b := range n.acls {
			if n.about(kind, name, b) && n.matches(who, host, op, Deny, b.Entry) {
				return true
			}
		}
		return false
	}
	for _, b := range n.acls {
		if b.Type == kind && b.Kind == Literal && b.Name == "*" && n.matches(who, host, op, Deny, b.Entry) {
			return false
		}
	}
	if n.rules.AllowUnprotected {
		return true
	}
	for _, b := range n.acls {
		if b.Type != kind || !n.matches(who, host, op, Allow, b.Entry) {
			continue
		}
		name := b.Name
		if b.Kind == Prefixed {
			name += "\x00never the name of a literal"
		}
		if b.Kind == Literal && b.Name == "*" || !denied(name) {
			return true
		}
	}
	return false
}

func TestTable_RandomACLs_DecideAsTheNaiveMatcher(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	names := []string{"*", "a", "ab", "abc", "b", "ba", "é", "éa"}
	users := []string{"User:alice", "User:bob", "User:*", "Group:*"}
	hosts := []string{"*", "10.0.0.1", "10.0.0.2"}
	for round := range 3000 {
		n := naive{rules: Rules{AllowUnprotected: r.IntN(4) == 0}}
		if r.IntN(6) == 0 {
			n.rules.SuperUsers = []security.Principal{security.User("alice")}
		}
		table := NewTable(n.rules)
		for range r.IntN(12) {
			p := Pattern{ResourceType(int(Topic) + r.IntN(2)), pick(names...), PatternKind(int(Literal) + r.IntN(2))}
			var list []Entry
			for range r.IntN(3) {
				list = append(list, Entry{pick(users...), pick(hosts...), Operation(int(All) + r.IntN(10)), Permission(int(Deny) + r.IntN(2))})
			}
			n.acls = slices.DeleteFunc(n.acls, func(b Binding) bool { return b.Pattern == p })
			for _, e := range list {
				n.acls = append(n.acls, Binding{p, e})
			}
			table = table.With(map[Pattern][]Entry{p: list})
		}
		for range 40 {
			who, host := security.User(pick("alice", "bob", "carol")), pick(hosts[1:]...)
			op, kind, name := Operation(int(Read)+r.IntN(9)), ResourceType(int(Topic)+r.IntN(2)), pick(names...)
			if got, want := table.Allows(who, host, op, kind, name), n.allows(who, host, op, kind, name); got != want {
				t.Fatalf("round %d: %s at %s %s %s %q: %v, want %v\n%+v", round, who, host, op, kind, name, got, want, n)
			}
			if got, want := table.AllowsAny(who, host, op, kind), n.allowsAny(who, host, op, kind); got != want {
				t.Fatalf("round %d: %s at %s %s any %s: %v, want %v\n%+v", round, who, host, op, kind, got, want, n)
			}
		}
	}
}

func TestTable_With_LeavesTheFormerOneAlone(t *testing.T) {
	p, q := Pattern{Topic, "t", Literal}, Pattern{Topic, "t", Prefixed}
	one := NewTable(Rules{}).With(map[Pattern][]Entry{p: {allow("User:alice", "*", Read)}})
	two := one.With(map[Pattern][]Entry{p: nil, q: {allow("User:bob", "*", Read)}})
	if got := one.Patterns(PatternFilter{Type: AnyResource, Kind: AnyKind}); !slices.Equal(got, []Pattern{p}) {
		t.Errorf("one: %v", got)
	}
	if got := two.Patterns(PatternFilter{Type: AnyResource, Kind: AnyKind}); !slices.Equal(got, []Pattern{q}) {
		t.Errorf("two: %v", got)
	}
	if got := two.Entries(q); !slices.Equal(got, []Entry{allow("User:bob", "*", Read)}) {
		t.Errorf("entries: %v", got)
	}
}

func TestFilter_Selects_AsKafka(t *testing.T) {
	s := func(s string) *string { return &s }
	for _, tc := range []struct {
		f    PatternFilter
		p    Pattern
		want bool
	}{
		{PatternFilter{AnyResource, nil, AnyKind}, Pattern{Group, "g", Prefixed}, true},
		{PatternFilter{Topic, nil, AnyKind}, Pattern{Group, "g", Literal}, false},
		{PatternFilter{Group, nil, Literal}, Pattern{Group, "g", Prefixed}, false},
		{PatternFilter{Group, s("g"), AnyKind}, Pattern{Group, "g", Prefixed}, true},
		{PatternFilter{Group, s("group"), AnyKind}, Pattern{Group, "g", Prefixed}, false},
		{PatternFilter{Group, s("group"), Match}, Pattern{Group, "g", Prefixed}, true},
		{PatternFilter{Group, s("group"), Match}, Pattern{Group, "*", Literal}, true},
		{PatternFilter{Group, s("group"), Literal}, Pattern{Group, "*", Literal}, false},
		{PatternFilter{Group, s("g"), Match}, Pattern{Group, "group", Prefixed}, false},
	} {
		if got := tc.f.Selects(tc.p); got != tc.want {
			t.Errorf("%+v %+v: %v", tc.f, tc.p, got)
		}
	}
	f := EntryFilter{s("User:alice"), nil, Read, AnyPermission}
	if !f.Selects(deny("User:alice", "h", Read)) || f.Selects(deny("User:alice", "h", Write)) || f.Selects(deny("User:bob", "h", Read)) {
		t.Error("entries")
	}
}

func TestNames_OfKafka_AreReadInAnyCase(t *testing.T) {
	if got := TransactionalID.String() + " " + TransactionalID.Title() + " " + DescribeConfigs.Title() + " " + Operation(99).String(); got != "TRANSACTIONAL_ID TransactionalId DescribeConfigs UNKNOWN" {
		t.Error(got)
	}
	for _, s := range []string{"TransactionalId", "TRANSACTIONAL_ID", "TRANSACTIONALID"} {
		if ParseResourceType(s) != TransactionalID {
			t.Error(s)
		}
	}
	if ParseOperation("Sing") != 0 || ParseOperation("describeconfigs") != DescribeConfigs || ParsePermission("Deny") != Deny || ParsePatternKind("PREFIXED") != Prefixed {
		t.Error("parse")
	}
}

// large is a table as of a large company: many topics with some users each, and many prefixes.
func large() *Table {
	changes := map[Pattern][]Entry{}
	for i := range 20_000 {
		who := fmt.Sprintf("User:team-%d", i%500)
		changes[Pattern{Topic, fmt.Sprintf("topic-%d", i), Literal}] = []Entry{allow(who, "*", Read), allow(who, "*", Write), deny("User:guest", "*", All)}
		if i%10 == 0 {
			changes[Pattern{Topic, fmt.Sprintf("team-%d.", i), Prefixed}] = []Entry{allow(who, "*", All)}
		}
	}
	return NewTable(Rules{SuperUsers: []security.Principal{security.User("broker")}}).With(changes)
}

func TestTable_Allows_AllocatesNothing(t *testing.T) {
	table, who := large(), security.User("team-7")
	if n := testing.AllocsPerRun(100, func() {
		if !table.Allows(who, "10.1.2.3", Write, Topic, "topic-7") {
			t.Fatal("not allowed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTable_Allows(b *testing.B) {
	table, who := large(), security.User("team-0")
	for _, name := range []string{"topic-1500", "team-1500.orders", "nothing-of-that-name"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Allows(who, "10.1.2.3", Write, Topic, name)
			}
		})
	}
	b.Run("any", func(b *testing.B) {
		for b.Loop() {
			table.AllowsAny(security.User("nobody"), "10.1.2.3", Write, Topic)
		}
	})
}
