package znode

import (
	"fmt"
	"strings"

	"jackdaw/security/acl"
)

// Where ACLs are, and where their changes are announced: those of literal patterns, which there were first, and the
// others. Kafka: LiteralAclStore, ExtendedAclStore, ZkAclChangeStore.
const (
	ACLPath                = "/kafka-acl"
	ExtendedACLPath        = "/kafka-acl-extended"
	ACLChangesPath         = "/kafka-acl-changes"
	ExtendedACLChangesPath = "/kafka-acl-extended-changes"
	aclChangeNode          = "/acl_changes_"
)

// ACLKinds lists the kinds of patterns that are stored.
func ACLKinds() []acl.PatternKind { return []acl.PatternKind{acl.Literal, acl.Prefixed} }

// ACLKindPath is the parent of the resource types of a kind of patterns.
func ACLKindPath(kind acl.PatternKind) string {
	if kind == acl.Literal {
		return ACLPath
	}
	return ExtendedACLPath + "/" + strings.ToLower(kind.String())
}

// ACLTypePath is the parent of the ACLs of a resource type.
func ACLTypePath(kind acl.PatternKind, t acl.ResourceType) string {
	return ACLKindPath(kind) + "/" + t.Title()
}

// ACLPatternPath is the node with the ACLs of a pattern. Kafka: ResourceZNode.
func ACLPatternPath(p acl.Pattern) string { return ACLTypePath(p.Kind, p.Type) + "/" + p.Name }

// EncodeACLs gives the data of that node. The order of the entries has no meaning.
func EncodeACLs(entries []acl.Entry) []byte {
	out := append([]byte(nil), `{"acls":[`...)
	for i, e := range entries {
		out = appendComma(out, i)
		out = appendString(append(out, `{"principal":`...), e.Principal)
		out = appendString(append(out, `,"permissionType":`...), e.Permission.Title())
		out = appendString(append(out, `,"host":`...), e.Host)
		out = appendString(append(out, `,"operation":`...), e.Operation.Title())
		out = append(out, '}')
	}
	return append(out, `],"version":1}`...)
}

// DecodeACLs reads that node. Null or empty data is no entry. Kafka: AclEntry.fromBytes.
func DecodeACLs(data []byte) ([]acl.Entry, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var j struct {
		Version number `json:"version"`
		ACLs    []struct {
			Principal  text `json:"principal"`
			Permission text `json:"permissionType"`
			Host       text `json:"host"`
			Operation  text `json:"operation"`
		} `json:"acls"`
	}
	const node = "acls"
	if err := decode(node, data, &j); err != nil {
		return nil, err
	}
	if j.Version != 1 {
		return nil, &DecodeError{Node: node, Data: data, Err: fmt.Errorf("version %d", j.Version)}
	}
	var out []acl.Entry
	for _, e := range j.ACLs {
		out = append(out, acl.Entry{
			Principal: string(e.Principal), Host: string(e.Host),
			Operation: acl.ParseOperation(string(e.Operation)), Permission: acl.ParsePermission(string(e.Permission)),
		})
	}
	return out, nil
}

// ACLChangesPaths lists the parents of announcements.
func ACLChangesPaths() []string { return []string{ACLChangesPath, ExtendedACLChangesPath} }

// ACLChangePrefix begins the paths of announcements below a parent.
func ACLChangePrefix(parent string) string { return parent + aclChangeNode }

// ACLChange gives the parent and the data of an announcement that the ACLs of a pattern have changed.
// Kafka: LiteralAclChangeStore, ExtendedAclChangeStore.
func ACLChange(p acl.Pattern) (parent string, data []byte) {
	if p.Kind == acl.Literal {
		return ACLChangesPath, []byte(p.Type.String() + ":" + p.Name)
	}
	data = appendString([]byte(`{"version":1,"resourceType":`), p.Type.String())
	data = appendString(append(data, `,"name":`...), p.Name)
	data = appendString(append(data, `,"patternType":`...), p.Kind.String())
	return ExtendedACLChangesPath, append(data, '}')
}

// DecodeACLChange reads an announcement below a parent.
func DecodeACLChange(parent string, data []byte) (acl.Pattern, error) {
	var p acl.Pattern
	if parent == ACLChangesPath {
		kind, name, ok := strings.Cut(string(data), ":")
		if p = (acl.Pattern{Type: acl.ParseResourceType(kind), Name: name, Kind: acl.Literal}); ok && p.Type > acl.AnyResource {
			return p, nil
		}
	} else {
		var j struct {
			Type text `json:"resourceType"`
			Name text `json:"name"`
			Kind text `json:"patternType"`
		}
		if err := decode("acl change", data, &j); err != nil {
			return acl.Pattern{}, err
		}
		p = acl.Pattern{Type: acl.ParseResourceType(string(j.Type)), Name: string(j.Name), Kind: acl.ParsePatternKind(string(j.Kind))}
		if p.Type > acl.AnyResource && p.Kind == acl.Prefixed {
			return p, nil
		}
	}
	return acl.Pattern{}, &DecodeError{Node: "acl change", Data: data, Err: fmt.Errorf("%s pattern of type %s", p.Kind, p.Type)}
}
