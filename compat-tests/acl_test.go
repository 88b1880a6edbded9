//go:build compat

package compat

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// aclConfig has an authorizer that lets everybody in until there are ACLs, so that the brokers can be let in by them.
var aclConfig = map[string]string{
	"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "allow.everyone.if.no.acl.found": "true",
}

// Where the brokers and the administrator of these tests come from, and where the client does that is allowed little. Nobody
// proves who he is: hosts make the difference.
const (
	adminHost  = "127.0.0.1"
	clientHost = "127.0.0.2"
)

// grant is one ACL: {topic, "t", literal, read}.
type grant struct {
	kind    kmsg.ACLResourceType
	name    string
	pattern kmsg.ACLResourcePatternType
	op      kmsg.ACLOperation
	deny    bool
}

func onTopic(name string, op kmsg.ACLOperation) grant {
	return grant{kind: kmsg.ACLResourceTypeTopic, name: name, pattern: kmsg.ACLResourcePatternTypeLiteral, op: op}
}

func onPrefix(name string, op kmsg.ACLOperation) grant {
	return grant{kind: kmsg.ACLResourceTypeTopic, name: name, pattern: kmsg.ACLResourcePatternTypePrefixed, op: op}
}

func onGroup(name string, op kmsg.ACLOperation) grant {
	return grant{kind: kmsg.ACLResourceTypeGroup, name: name, pattern: kmsg.ACLResourcePatternTypeLiteral, op: op}
}

func onTxn(name string, op kmsg.ACLOperation) grant {
	return grant{kind: kmsg.ACLResourceTypeTransactionalId, name: name, pattern: kmsg.ACLResourcePatternTypeLiteral, op: op}
}

func onCluster(op kmsg.ACLOperation) grant {
	return grant{kind: kmsg.ACLResourceTypeCluster, name: "kafka-cluster", pattern: kmsg.ACLResourcePatternTypeLiteral, op: op}
}

func (g grant) but() grant { g.deny = true; return g }

func (g grant) String() string {
	s := fmt.Sprintf("%s:%s:%s", g.op, g.kind, g.name)
	if g.pattern == kmsg.ACLResourcePatternTypePrefixed {
		s += "*"
	}
	if g.deny {
		s = "not " + s
	}
	return s
}

func creation(host string, g grant) kmsg.CreateACLsRequestCreation {
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.ResourcePatternType = g.kind, g.name, g.pattern
	c.Principal, c.Host, c.Operation, c.PermissionType = "User:ANONYMOUS", host, g.op, kmsg.ACLPermissionTypeAllow
	if g.deny {
		c.PermissionType = kmsg.ACLPermissionTypeDeny
	}
	return c
}

// allow creates ACLs for a host.
func allow(t *testing.T, addr, host string, grants ...grant) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	for _, g := range grants {
		req.Creations = append(req.Creations, creation(host, g))
	}
	for i, r := range ask[*kmsg.CreateACLsResponse](t, addr, req, 3).Results {
		if r.ErrorCode != 0 {
			t.Fatalf("%s: %v %s", grants[i], kerr.ErrorForCode(r.ErrorCode), deref(r.ErrorMessage))
		}
	}
}

// withdraw deletes all ACLs of a host.
func withdraw(t *testing.T, addr, host string) {
	t.Helper()
	ask[*kmsg.DeleteACLsResponse](t, addr, &kmsg.DeleteACLsRequest{Filters: []kmsg.DeleteACLsRequestFilter{{
		ResourceType: kmsg.ACLResourceTypeAny, ResourcePatternType: kmsg.ACLResourcePatternTypeAny, Host: &host,
		Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny,
	}}}, 3)
}

// protect lets the brokers and the administrator do everything, and so nobody else anything.
func protect(t *testing.T, addr string) {
	t.Helper()
	allow(t, addr, adminHost, onCluster(kmsg.ACLOperationAll), onTopic("*", kmsg.ACLOperationAll), onGroup("*", kmsg.ACLOperationAll),
		onTxn("*", kmsg.ACLOperationAll))
}

// aclCase is a request, and what the client is allowed when it sends that.
type aclCase struct {
	name    string
	req     kmsg.Request
	version int16
	grants  []grant
}

// byAdmin marks a case that the administrator sends.
const byAdmin = "administrator: "

// key names the case in the table of answers.
func (c *aclCase) key() string {
	given := make([]string, len(c.grants))
	for i, g := range c.grants {
		given[i] = g.String()
	}
	return fmt.Sprintf("%s v%d: %s | %s", kmsg.NameForKey(c.req.Key()), c.version, c.name, strings.Join(given, ", "))
}

// aclExplained are the answers that are different on purpose: Kafka answers UNKNOWN_SERVER_ERROR for all.
var aclExplained = map[string]string{
	"CreateACLs v3: administrator: operation ANY | ":            `{Results[{ErrorCode=42 ErrorMessage="Failed to create ACL"}]}`,
	"CreateACLs v3: administrator: pattern type MATCH | ":       `{Results[{ErrorCode=42 ErrorMessage="Failed to create ACL"} {}]}`,
	"CreateACLs v3: administrator: resource type ANY | ":        `{Results[{ErrorCode=42 ErrorMessage="Failed to create ACL"}]}`,
	"CreateACLs v3: administrator: principal without a type | ": `{Results[{ErrorCode=42 ErrorMessage="expected a string in format principalType:principalName but got api"}]}`,
}

// TestACL_Enforcement_AsApacheKafka sends every API with and without the ACLs that it needs, and holds the answers against those
// of Apache Kafka.
func TestACL_Enforcement_AsApacheKafka(t *testing.T) {
	addr := cluster.Start(t, cluster.Options{Brokers: 1, Config: aclConfig}).Brokers[0].Addr()
	protect(t, addr)
	s := prepareACLs(t, addr)
	var rows []string
	for _, c := range slices.Concat(s.clientCases(), s.groupCases(), s.txnCases(), s.adminCases(), s.brokerCases(), aclAPICases()) {
		if len(c.grants) > 0 {
			allow(t, addr, clientHost, c.grants...)
		}
		from := clientHost
		if strings.HasPrefix(c.name, byAdmin) {
			from = adminHost
		}
		rows = append(rows, c.key()+" | "+outline(sendFrom(t, from, addr, c.req, c.version)))
		if len(c.grants) > 0 {
			withdraw(t, addr, clientHost)
		}
	}
	holdAgainst(t, "testdata/acls-3.9.2.txt", rows)
}

func sendFrom(t *testing.T, source, addr string, req kmsg.Request, version int16) (kmsg.Response, error) {
	t.Helper()
	conn, err := wire.DialFrom(source, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(req, version)
}

// holdAgainst compares rows with a captured file, whose lines they replace with COMPAT_CAPTURE=1 on the oracle.
func holdAgainst(t *testing.T, file string, rows []string) {
	t.Helper()
	if os.Getenv("COMPAT_CAPTURE") != "" && cluster.Target() == cluster.Apache {
		if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(want) != len(rows) {
		t.Errorf("%d answers, %d in %s", len(rows), len(want), file)
	}
	for i := range min(len(want), len(rows)) {
		w := want[i]
		key := w[:strings.LastIndex(w, " | ")]
		if own, ok := aclExplained[key]; ok && cluster.Target() == cluster.Jackdaw {
			w = key + " | " + own
		}
		if rows[i] != w {
			t.Errorf("got  %s\nwant %s", rows[i], w)
		}
	}
}

// outlined are the fields, beside error codes and messages, that say whom an error concerns and what is told.
var outlined = []string{
	"Topic", "Group", "TransactionalID", "ResourceName", "User", "Partition", "AuthorizedOperations", "ClusterAuthorizedOperations", "Offset", "Name",
	"Principal", "Host", "Operation", "PermissionType", "ResourceType", "ResourcePatternType",
}

// javaRequest is a request as Java prints it, which Jackdaw does not.
const javaRequest = "Request Request("

// outline writes what an answer says about authority. Lists are sorted, empty ones left out.
func outline(resp kmsg.Response, err error) string {
	if err != nil {
		return answerText(nil, err)
	}
	return outlineOf(reflect.ValueOf(resp))
}

func outlineOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return outlineOf(v.Elem())
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, outlineOf(v.Index(i)))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if text := outlineField(v.Type().Field(i).Name, v.Field(i)); text != "" {
				parts = append(parts, text)
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		return fmt.Sprint(v.Interface())
	}
}

func outlineField(name string, f reflect.Value) string {
	if f.Kind() == reflect.Pointer {
		if f.IsNil() {
			return ""
		}
		f = f.Elem()
	}
	switch {
	case name == "UnknownTags" || name == "Brokers" || name == "Configs" && f.Kind() == reflect.Slice:
		return ""
	case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct && f.Len() > 0:
		return name + outlineOf(f)
	case name == "ErrorMessage" && f.String() != "":
		text := f.String()
		if strings.HasPrefix(text, javaRequest) {
			text = kerr.ClusterAuthorizationFailed.Description
		}
		return fmt.Sprintf("%s=%q", name, text)
	case strings.HasSuffix(name, "ErrorCode") && f.Int() != 0, slices.Contains(outlined, name) && f.Kind() != reflect.Slice:
		return fmt.Sprintf("%s=%v", name, f.Interface())
	}
	return ""
}
