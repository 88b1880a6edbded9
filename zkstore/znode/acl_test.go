package znode

import (
	"errors"
	"slices"
	"testing"

	"jackdaw/security/acl"
)

// What Apache Kafka 3.9.2 wrote for kafka-acls --add --producer with a distinguished name and a topic that are not ASCII, for
// --deny-principal "User:*" --operation All --deny-host 10.0.0.2 --group g --resource-pattern-type prefixed, and so on.
func TestACLs_NodesOfKafka_ByteByByte(t *testing.T) {
	const dn = `User:CN="a\b", O=é`
	for _, tc := range []struct {
		pattern      acl.Pattern
		path, data   string
		parent, note string
		entries      []acl.Entry
	}{
		{
			pattern: acl.Pattern{Type: acl.Topic, Name: "my-é", Kind: acl.Literal},
			path:    "/kafka-acl/Topic/my-é",
			data: `{"acls":[{"principal":"User:CN=\"a\\b\", O=é","permissionType":"Allow","host":"*","operation":"Write"},` +
				`{"principal":"User:CN=\"a\\b\", O=é","permissionType":"Allow","host":"*","operation":"Create"},` +
				`{"principal":"User:CN=\"a\\b\", O=é","permissionType":"Allow","host":"*","operation":"Describe"}],"version":1}`,
			parent: "/kafka-acl-changes", note: "TOPIC:my-é",
			entries: []acl.Entry{{Principal: dn, Host: "*", Operation: acl.Write, Permission: acl.Allow}, {Principal: dn, Host: "*", Operation: acl.Create, Permission: acl.Allow}, {Principal: dn, Host: "*", Operation: acl.Describe, Permission: acl.Allow}},
		},
		{
			pattern: acl.Pattern{Type: acl.TransactionalID, Name: "tx:1", Kind: acl.Literal},
			path:    "/kafka-acl/TransactionalId/tx:1",
			data:    `{"acls":[{"principal":"User:bob","permissionType":"Allow","host":"*","operation":"Describe"}],"version":1}`,
			parent:  "/kafka-acl-changes", note: "TRANSACTIONAL_ID:tx:1",
			entries: []acl.Entry{{Principal: "User:bob", Host: "*", Operation: acl.Describe, Permission: acl.Allow}},
		},
		{
			pattern: acl.Pattern{Type: acl.Cluster, Name: "kafka-cluster", Kind: acl.Literal},
			path:    "/kafka-acl/Cluster/kafka-cluster",
			data:    `{"acls":[{"principal":"User:bob","permissionType":"Allow","host":"*","operation":"IdempotentWrite"}],"version":1}`,
			parent:  "/kafka-acl-changes", note: "CLUSTER:kafka-cluster",
			entries: []acl.Entry{{Principal: "User:bob", Host: "*", Operation: acl.IdempotentWrite, Permission: acl.Allow}},
		},
		{
			pattern: acl.Pattern{Type: acl.Group, Name: "g", Kind: acl.Prefixed},
			path:    "/kafka-acl-extended/prefixed/Group/g",
			data:    `{"acls":[{"principal":"User:*","permissionType":"Deny","host":"10.0.0.2","operation":"All"}],"version":1}`,
			parent:  "/kafka-acl-extended-changes", note: `{"version":1,"resourceType":"GROUP","name":"g","patternType":"PREFIXED"}`,
			entries: []acl.Entry{{Principal: "User:*", Host: "10.0.0.2", Operation: acl.All, Permission: acl.Deny}},
		},
	} {
		if got := ACLPatternPath(tc.pattern); got != tc.path {
			t.Errorf("path %s, want %s", got, tc.path)
		}
		if got := string(EncodeACLs(tc.entries)); got != tc.data {
			t.Errorf("data\n%s, want\n%s", got, tc.data)
		}
		if got, err := DecodeACLs([]byte(tc.data)); err != nil || !slices.Equal(got, tc.entries) {
			t.Errorf("%s: %v, %v", tc.path, got, err)
		}
		parent, note := ACLChange(tc.pattern)
		if parent != tc.parent || string(note) != tc.note {
			t.Errorf("announced at %s: %s", parent, note)
		}
		if got, err := DecodeACLChange(tc.parent, []byte(tc.note)); err != nil || got != tc.pattern {
			t.Errorf("%s: %v, %v", tc.note, got, err)
		}
	}
}

func TestACLs_StrangeData_IsRefused(t *testing.T) {
	var bad *DecodeError
	for _, data := range []string{"{", `{"acls":[],"version":2}`, `[]`} {
		if _, err := DecodeACLs([]byte(data)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", data, err)
		}
	}
	if got, err := DecodeACLs(nil); got != nil || err != nil {
		t.Errorf("no data: %v, %v", got, err)
	}
	for _, tc := range [][2]string{{ACLChangesPath, "TOPIC"}, {ACLChangesPath, "SONG:a"}, {ExtendedACLChangesPath, "TOPIC:a"}, {ExtendedACLChangesPath, `{"resourceType":"TOPIC","name":"a","patternType":"MATCH"}`}} {
		if got, err := DecodeACLChange(tc[0], []byte(tc[1])); !errors.As(err, &bad) {
			t.Errorf("%s: %v, %v", tc[1], got, err)
		}
	}
}
