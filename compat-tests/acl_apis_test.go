//go:build compat

package compat

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
)

// aclAPICases create, describe and delete ACLs, right and wrong ones, in all versions.
func aclAPICases() []aclCase {
	of := func(change func(*kmsg.CreateACLsRequestCreation)) kmsg.CreateACLsRequestCreation {
		c := creation("10.0.0.1", onTopic("api", kmsg.ACLOperationRead))
		c.Principal = "User:api"
		change(&c)
		return c
	}
	create := func(changes ...func(*kmsg.CreateACLsRequestCreation)) *kmsg.CreateACLsRequest {
		r := kmsg.NewPtrCreateACLsRequest()
		for _, change := range changes {
			r.Creations = append(r.Creations, of(change))
		}
		return r
	}
	same := func(*kmsg.CreateACLsRequestCreation) {}
	write := func(c *kmsg.CreateACLsRequestCreation) { c.Operation = kmsg.ACLOperationWrite }
	prefixed := func(c *kmsg.CreateACLsRequestCreation) { c.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed }
	wildcard := func(c *kmsg.CreateACLsRequestCreation) { c.ResourceName = "*" }
	name := func(s string) func(*kmsg.CreateACLsRequestCreation) {
		return func(c *kmsg.CreateACLsRequestCreation) { c.ResourceName = s }
	}
	cluster := func(c *kmsg.CreateACLsRequestCreation) { c.ResourceType = kmsg.ACLResourceTypeCluster }
	cases := []aclCase{
		{"twice, another operation, prefixed, all", create(same, same, write, prefixed, wildcard), 3, nil},
		{"again", create(same), 1, nil},
		{"without a pattern type", create(name("old")), 0, nil},
		{"bad names beside a good one", create(cluster, name(""), name("a/b"), same), 2, nil},
		{"operation 99", create(func(c *kmsg.CreateACLsRequestCreation) { c.Operation = 99 }), 3, nil},
		{"operation 0", create(func(c *kmsg.CreateACLsRequestCreation) { c.Operation = 0 }), 3, nil},
		{"operation ANY", create(func(c *kmsg.CreateACLsRequestCreation) { c.Operation = kmsg.ACLOperationAny }), 3, nil},
		{"pattern type MATCH", create(same, func(c *kmsg.CreateACLsRequestCreation) { c.ResourcePatternType = kmsg.ACLResourcePatternTypeMatch }), 3, nil},
		{"resource type ANY", create(func(c *kmsg.CreateACLsRequestCreation) { c.ResourceType = kmsg.ACLResourceTypeAny }), 3, nil},
		{"permission 9", create(func(c *kmsg.CreateACLsRequestCreation) { c.PermissionType = 9 }), 3, nil},
		{"principal without a type", create(func(c *kmsg.CreateACLsRequestCreation) { c.Principal, c.ResourceName = "api", "other" }), 3, nil},
		{"empty", create(), 3, nil},
	}
	principal, api := "User:api", "api"
	every := kmsg.DescribeACLsRequest{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1, Principal: &principal}
	named, match, literal, unknown := every, every, every, every
	named.ResourceName, named.ResourceType = &api, kmsg.ACLResourceTypeTopic
	match.ResourceName, match.ResourcePatternType = kmsg.StringPtr("api-more"), kmsg.ACLResourcePatternTypeMatch
	literal.ResourcePatternType, literal.Operation = kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLOperationWrite
	unknown.PermissionType = 0
	for version := range int16(4) {
		r := every
		cases = append(cases, aclCase{"", &r, version, nil})
	}
	cases = append(cases, aclCase{"named", &named, 3, nil}, aclCase{"match", &match, 3, nil}, aclCase{"match", &match, 0, nil},
		aclCase{"literal", &literal, 1, nil}, aclCase{"unknown permission", &unknown, 3, nil})
	remove := func(filters ...kmsg.DescribeACLsRequest) *kmsg.DeleteACLsRequest {
		r := kmsg.NewPtrDeleteACLsRequest()
		for _, f := range filters {
			r.Filters = append(r.Filters, kmsg.DeleteACLsRequestFilter{
				ResourceType: f.ResourceType, ResourceName: f.ResourceName, ResourcePatternType: f.ResourcePatternType, Principal: f.Principal,
				Host: f.Host, Operation: f.Operation, PermissionType: f.PermissionType,
			})
		}
		return r
	}
	cases = append(cases, aclCase{"unknown permission", remove(unknown), 3, nil}, aclCase{"literal, then again with others", remove(literal, match), 3, nil},
		aclCase{"what is left", remove(every), 0, nil}, aclCase{"what is left", remove(every, named), 2, nil}, aclCase{"nothing", remove(every), 1, nil},
		aclCase{"empty", remove(), 3, nil})
	for i := range cases {
		cases[i].name = byAdmin + cases[i].name
	}
	return cases
}

// aclTools are calls of kafka-acls, in order, and what they have to print.
func aclTools() []toolRun {
	acls := func(want []string, args ...string) toolRun { return toolRun{tool: "acls", args: args, want: want} }
	const granted = `principal=User:alice, host=\*, operation=%s, permissionType=ALLOW`
	is := func(op string) string { return fmt.Sprintf(granted, op) }
	return []toolRun{
		acls([]string{`resourceType=TOPIC, name=orders, patternType=LITERAL`, is("READ")}, "--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders"),
		acls([]string{is("WRITE"), is("DESCRIBE"), is("CREATE"), `resourceType=TRANSACTIONAL_ID, name=tx`, `resourceType=CLUSTER, name=kafka-cluster`, is("IDEMPOTENT_WRITE")},
			"--add", "--allow-principal", "User:alice", "--producer", "--topic", "bills", "--transactional-id", "tx", "--idempotent"),
		acls([]string{`resourceType=TOPIC, name=pay., patternType=PREFIXED`, `resourceType=GROUP, name=pay., patternType=PREFIXED`}, "--add", "--allow-principal", "User:alice",
			"--consumer", "--topic", "pay.", "--group", "pay.", "--resource-pattern-type", "prefixed"),
		acls([]string{`principal=User:\*, host=10.0.0.9, operation=ALL, permissionType=DENY`}, "--add", "--deny-principal", "User:*", "--deny-host", "10.0.0.9", "--topic", "*"),
		acls([]string{`name=pay., patternType=PREFIXED`, `name=\*, patternType=LITERAL`}, "--list", "--topic", "pay.today", "--resource-pattern-type", "match"),
		acls([]string{`ACLs for principal .User:alice.`, `resourceType=GROUP, name=pay., patternType=PREFIXED`}, "--list", "--principal", "User:alice"),
		acls(nil, "--remove", "--force", "--topic", "orders", "--allow-principal", "User:alice", "--operation", "Read"),
		acls([]string{`^\s*$`}, "--list", "--topic", "orders"),
		acls(nil, "--remove", "--force", "--topic", "pay.", "--group", "pay.", "--resource-pattern-type", "prefixed"),
		acls(nil, "--remove", "--force", "--topic", "bills", "--topic", "*", "--cluster", "--transactional-id", "tx"),
		acls([]string{`^\s*$`}, "--list"),
	}
}

// TestACL_Tools_OfApacheKafka runs kafka-acls of both releases.
func TestACL_Tools_OfApacheKafka(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Brokers: 1, Config: map[string]string{
		"authorizer.class.name": aclConfig["authorizer.class.name"], "super.users": "User:root;User:ANONYMOUS",
	}})
	for release, jars := range map[string]func() (string, error){"3.9": cluster.Jars, "4.4": cluster.Jars4} {
		t.Run(release, func(t *testing.T) {
			dir, err := jars()
			cluster.Need(t, err)
			class := adminTools["acls"]
			if release == "4.4" {
				class = "org.apache.kafka.tools.AclCommand"
			}
			box := cluster.StartToolbox(t, dir)
			for _, r := range aclTools() {
				out, err := box.Run("", class, append([]string{"--bootstrap-server", c.BootstrapString()}, r.args...)...)
				checkPrinted(t, "kafka-acls", r, out, err)
			}
		})
	}
}

// TestMixed_ACLs_AreSharedBothWays: what is created at a broker of either kind counts at the other, within a second or so.
func TestMixed_ACLs_AreSharedBothWays(t *testing.T) {
	jackdawOnly(t, "there is nothing to mix")
	c := cluster.Start(t, cluster.Options{Brokers: 2, Kinds: map[int]cluster.Kind{1: cluster.Apache}, Config: aclConfig})
	apache, jackdaw := c.Brokers[0].Addr(), c.Brokers[1].Addr()
	protect(t, apache)
	sees := func(addr string, want bool) {
		t.Helper()
		cluster.Eventually(t, 10*time.Second, "the ACL at "+addr, func() error {
			resp, err := sendFrom(t, clientHost, addr, describeRequest("shared"), 5)
			if err != nil {
				return err
			}
			if denied := resp.(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode == 30; denied == want {
				return fmt.Errorf("denied: %v", denied)
			}
			return nil
		})
	}
	sees(jackdaw, false) // that it is not open to everybody any more
	for _, side := range [][2]string{{apache, jackdaw}, {jackdaw, apache}} {
		here, there := side[0], side[1]
		for _, g := range []grant{
			onGroup("shared", kmsg.ACLOperationRead),
			{kind: kmsg.ACLResourceTypeGroup, name: "sh", pattern: kmsg.ACLResourcePatternTypePrefixed, op: kmsg.ACLOperationDescribe},
		} {
			allow(t, here, clientHost, g)
			sees(here, true)
			sees(there, true)
			withdraw(t, there, clientHost)
			sees(there, false)
			sees(here, false)
		}
	}
}
