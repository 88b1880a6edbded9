package acl

import "strings"

// Wildcard is the name of the literal pattern for all resources, and the host for all hosts.
const Wildcard = "*"

// Pattern names the resources that an ACL is about. Kafka: ResourcePattern.
type Pattern struct {
	Type ResourceType
	Name string
	Kind PatternKind
}

// Entry says who may, or may not, do what from where. Kafka: AccessControlEntry.
type Entry struct {
	// Principal is the text of a security.Principal; that of everybody is "User:*".
	Principal string
	// Host is an address as Java writes it, or Wildcard.
	Host       string
	Operation  Operation
	Permission Permission
}

// Binding is an entry for a pattern: one ACL. Kafka: AclBinding.
type Binding struct {
	Pattern
	Entry
}

// Filter selects bindings. Nil names, principals and hosts stand for all. Kafka: AclBindingFilter.
type Filter struct {
	PatternFilter
	EntryFilter
}

// PatternFilter selects patterns. Kafka: ResourcePatternFilter.
type PatternFilter struct {
	Type ResourceType
	Name *string
	Kind PatternKind
}

// EntryFilter selects entries. Kafka: AccessControlEntryFilter.
type EntryFilter struct {
	Principal, Host *string
	Operation       Operation
	Permission      Permission
}

// Patterns returns the patterns that a filter can only mean, which are then to be looked for even where no table has
// them. ok is false for one that has to be held against all. Kafka: ResourcePatternFilter.matchesAtMostOne.
func (f PatternFilter) Patterns() (patterns []Pattern, ok bool) {
	if f.Type == AnyResource || f.Name == nil {
		return nil, false
	}
	switch f.Kind {
	case Literal, Prefixed:
		return []Pattern{{f.Type, *f.Name, f.Kind}}, true
	case AnyKind:
		return []Pattern{{f.Type, *f.Name, Literal}, {f.Type, *f.Name, Prefixed}}, true
	case Match:
	}
	return nil, false
}

// Selects reports whether the filter means a pattern.
func (f PatternFilter) Selects(p Pattern) bool {
	switch {
	case f.Type != AnyResource && f.Type != p.Type:
		return false
	case f.Kind != AnyKind && f.Kind != Match && f.Kind != p.Kind:
		return false
	case f.Name == nil:
		return true
	case f.Kind != Match:
		return *f.Name == p.Name
	case p.Kind == Prefixed:
		return strings.HasPrefix(*f.Name, p.Name)
	}
	return *f.Name == p.Name || p.Name == Wildcard
}

// Selects reports whether the filter means an entry.
func (f EntryFilter) Selects(e Entry) bool {
	return (f.Principal == nil || *f.Principal == e.Principal) &&
		(f.Host == nil || *f.Host == e.Host) &&
		(f.Operation == AnyOperation || f.Operation == e.Operation) &&
		(f.Permission == AnyPermission || f.Permission == e.Permission)
}

// Known reports whether a binding can be created: it has no element that is unknown here, or for filters only.
func (b Binding) Known() bool {
	return b.Type > AnyResource && b.Type <= User && (b.Kind == Literal || b.Kind == Prefixed) &&
		b.Operation > AnyOperation && b.Operation <= DescribeTokens && (b.Permission == Deny || b.Permission == Allow)
}
