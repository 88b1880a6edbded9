package acl

import (
	"strings"
	"unicode"
)

// ResourceType is what an ACL protects. The numbers are those of the wire. Kafka: ResourceType.
type ResourceType int8

// The types of resources. Zero, as in the other enumerations here, stands for what this version does not know.
const (
	AnyResource ResourceType = iota + 1
	Topic
	Group
	Cluster
	TransactionalID
	DelegationToken
	User
)

// ClusterName is the name of the only resource of type Cluster. Kafka: Resource.CLUSTER_NAME.
const ClusterName = "kafka-cluster"

// PatternKind tells how the name of a pattern is compared. Kafka: PatternType.
type PatternKind int8

// The kinds of patterns. AnyKind and Match are for filters only: any kind with exactly that name, and all patterns that
// concern the resource of that name.
const (
	AnyKind PatternKind = iota + 1
	Match
	Literal
	Prefixed
)

// Operation is what is done to a resource. Kafka: AclOperation.
type Operation int8

// The operations.
const (
	AnyOperation Operation = iota + 1
	All
	Read
	Write
	Create
	Delete
	Alter
	Describe
	ClusterAction
	DescribeConfigs
	AlterConfigs
	IdempotentWrite
	CreateTokens
	DescribeTokens
)

// Permission tells whether an ACL allows or denies. Kafka: AclPermissionType.
type Permission int8

// The permissions.
const (
	AnyPermission Permission = iota + 1
	Deny
	Allow
)

// The names of Kafka's enumerations, by number.
var (
	resourceNames   = [...]string{"UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"}
	kindNames       = [...]string{"UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"}
	permissionNames = [...]string{"UNKNOWN", "ANY", "DENY", "ALLOW"}
	operationNames  = [...]string{
		"UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
		"ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
	}
)

// String returns Kafka's name, TRANSACTIONAL_ID; UNKNOWN for a number that has none.
func (t ResourceType) String() string { return nameOf(resourceNames[:], t) }

// String returns Kafka's name, PREFIXED.
func (k PatternKind) String() string { return nameOf(kindNames[:], k) }

// String returns Kafka's name, DESCRIBE_CONFIGS.
func (o Operation) String() string { return nameOf(operationNames[:], o) }

// String returns Kafka's name, ALLOW.
func (p Permission) String() string { return nameOf(permissionNames[:], p) }

// Title returns the name as znodes and the audit log have it: TransactionalId. Kafka: SecurityUtils.resourceTypeName.
func (t ResourceType) Title() string { return title(t.String()) }

// Title returns the name as znodes and the audit log have it: DescribeConfigs. Kafka: SecurityUtils.operationName.
func (o Operation) Title() string { return title(o.String()) }

// Title returns the name as znodes have it: Allow. Kafka: SecurityUtils.permissionTypeName.
func (p Permission) Title() string { return title(p.String()) }

// ParseResourceType finds a type by Title or String, whatever the case; 0 if there is none.
func ParseResourceType(s string) ResourceType { return parse[ResourceType](resourceNames[:], s) }

// ParsePatternKind finds a kind by its name; 0 if there is none.
func ParsePatternKind(s string) PatternKind { return parse[PatternKind](kindNames[:], s) }

// ParseOperation finds an operation by Title or String, whatever the case; 0 if there is none.
func ParseOperation(s string) Operation { return parse[Operation](operationNames[:], s) }

// ParsePermission finds a permission by its name, whatever the case; 0 if there is none.
func ParsePermission(s string) Permission { return parse[Permission](permissionNames[:], s) }

// Concrete lists the types that resources can have. Kafka: AclEntry.RESOURCE_TYPES.
func Concrete() []ResourceType {
	return []ResourceType{Topic, Group, Cluster, TransactionalID, DelegationToken, User}
}

// Supported lists what can be done to a resource of a type. Kafka: AclEntry.supportedOperations.
func Supported(t ResourceType) []Operation {
	switch t {
	case Topic:
		return []Operation{Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs}
	case Group:
		return []Operation{Read, Describe, Delete}
	case Cluster:
		return []Operation{Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe}
	case TransactionalID:
		return []Operation{Describe, Write}
	case DelegationToken:
		return []Operation{Describe}
	case User:
		return []Operation{CreateTokens, DescribeTokens}
	case AnyResource:
	}
	return nil
}

func nameOf[T ~int8](names []string, v T) string {
	if v < 0 || int(v) >= len(names) {
		return names[0]
	}
	return names[v]
}

func parse[T ~int8](names []string, s string) T {
	s = strings.ReplaceAll(s, "_", "")
	for i, name := range names {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), s) {
			return T(i)
		}
	}
	return 0
}

// title turns DESCRIBE_CONFIGS into DescribeConfigs.
func title(name string) string {
	var out strings.Builder
	upper := true
	for _, c := range name {
		switch {
		case c == '_':
			upper = true
		case upper:
			out.WriteRune(c)
			upper = false
		default:
			out.WriteRune(unicode.ToLower(c))
		}
	}
	return out.String()
}
