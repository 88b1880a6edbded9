package acl

import (
	"maps"
	"slices"
	"strings"

	"jackdaw/security"
)

// Rules are what the configuration says beside the ACLs.
type Rules struct {
	// SuperUsers may do everything: super.users.
	SuperUsers []security.Principal
	// AllowUnprotected lets everybody do everything to resources that no ACL is about: allow.everyone.if.no.acl.found.
	AllowUnprotected bool
}

// Table knows all ACLs and never changes. Kafka: AclAuthorizer, its caches.
type Table struct {
	rules Rules
	types [len(resourceNames)]resources
}

// resources are the patterns of one type.
type resources struct {
	literals, prefixes map[string][]entry
	// lengths are those of the names in prefixes, ascending, each once.
	lengths []int
}

// entry is an Entry ready to be compared.
type entry struct {
	Entry
	who              security.Principal
	anyone, anywhere bool
}

// anyone is the principal that stands for all users. Kafka: AclEntry.WILDCARD_PRINCIPAL.
var anyone = security.User(Wildcard)

// NewTable returns a table without ACLs.
func NewTable(rules Rules) *Table { return &Table{rules: rules} }

// With returns a table in which these patterns have these entries, none for no pattern at all. Entries whose principal
// cannot be parsed are left out.
func (t *Table) With(changes map[Pattern][]Entry) *Table {
	out := *t
	copied := map[ResourceType]bool{}
	for p, entries := range changes {
		if p.Type <= AnyResource || int(p.Type) >= len(out.types) {
			continue
		}
		r := &out.types[p.Type]
		if !copied[p.Type] {
			copied[p.Type] = true
			r.literals, r.prefixes = cloned(r.literals), cloned(r.prefixes)
		}
		patterns := r.literals
		if p.Kind == Prefixed {
			patterns = r.prefixes
		}
		if list := compiled(entries); len(list) > 0 {
			patterns[p.Name] = list
		} else {
			delete(patterns, p.Name)
		}
	}
	for kind := range copied {
		out.types[kind].measure()
	}
	return &out
}

func cloned(m map[string][]entry) map[string][]entry {
	if m == nil {
		return map[string][]entry{}
	}
	return maps.Clone(m)
}

func compiled(entries []Entry) []entry {
	out := make([]entry, 0, len(entries))
	for _, e := range entries {
		if who, err := security.ParsePrincipal(e.Principal); err == nil {
			out = append(out, entry{e, who, who == anyone, e.Host == Wildcard})
		}
	}
	return out
}

// measure finds the lengths of the prefixes.
func (r *resources) measure() {
	var lengths []int
	for name := range r.prefixes {
		if i, found := slices.BinarySearch(lengths, len(name)); !found {
			lengths = slices.Insert(lengths, i, len(name))
		}
	}
	r.lengths = lengths
}

// Super reports whether somebody may do everything.
func (t *Table) Super(who security.Principal) bool { return slices.Contains(t.rules.SuperUsers, who) }

// Allows decides whether somebody at a host may do something to the resource of that name. A denial goes before every
// permission. Kafka: AclAuthorizer.authorizeAction.
func (t *Table) Allows(who security.Principal, host string, op Operation, kind ResourceType, name string) bool {
	if t.Super(who) {
		return true
	}
	r := &t.types[kind]
	v := verdict{who: who, host: host, op: op}
	v.hear(r.literals[name])
	if name != Wildcard {
		v.hear(r.literals[Wildcard])
	}
	for _, n := range r.lengths {
		if n > len(name) {
			break
		}
		v.hear(r.prefixes[name[:n]])
	}
	if !v.found {
		return t.rules.AllowUnprotected
	}
	return v.allowed && !v.denied
}

// verdict collects what the entries say about an action.
type verdict struct {
	who                    security.Principal
	host                   string
	op                     Operation
	found, allowed, denied bool
}

func (v *verdict) hear(entries []entry) {
	for i := range entries {
		e := &entries[i]
		v.found = true
		if !e.concerns(v.who, v.host) {
			continue
		}
		if e.Permission == Deny {
			v.denied = v.denied || e.Operation == v.op || e.Operation == All
		} else if e.Permission == Allow {
			v.allowed = v.allowed || e.Operation == v.op || e.Operation == All || implies(e.Operation, v.op)
		}
	}
}

func (e *entry) concerns(who security.Principal, host string) bool {
	return (e.anyone || e.who == who) && (e.anywhere || e.Host == host)
}

// implies reports whether the permission for one operation is also one for another. It is not so with denials.
// Kafka: AclAuthorizer.authorizeAction, allowOps.
func implies(granted, op Operation) bool {
	switch op {
	case Describe:
		return granted == Read || granted == Write || granted == Delete || granted == Alter
	case DescribeConfigs:
		return granted == AlterConfigs
	default:
		return false
	}
}

// Entries returns what the table has for a pattern.
func (t *Table) Entries(p Pattern) []Entry {
	r := &t.types[p.Type]
	list := r.literals[p.Name]
	if p.Kind == Prefixed {
		list = r.prefixes[p.Name]
	}
	out := make([]Entry, len(list))
	for i := range list {
		out[i] = list[i].Entry
	}
	return out
}

// Patterns returns the patterns that a filter means, ordered by type, kind and name.
func (t *Table) Patterns(f PatternFilter) []Pattern {
	var out []Pattern
	add := func(p Pattern) {
		if f.Selects(p) {
			out = append(out, p)
		}
	}
	for i := range t.types {
		for name := range t.types[i].literals {
			add(Pattern{ResourceType(i), name, Literal})
		}
		for name := range t.types[i].prefixes {
			add(Pattern{ResourceType(i), name, Prefixed})
		}
	}
	slices.SortFunc(out, comparePatterns)
	return out
}

func comparePatterns(a, b Pattern) int {
	if a.Type != b.Type {
		return int(a.Type) - int(b.Type)
	}
	if a.Kind != b.Kind {
		return int(a.Kind) - int(b.Kind)
	}
	return strings.Compare(a.Name, b.Name)
}
