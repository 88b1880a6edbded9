//go:build compat

package compat

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// userListener adds a listener for users of SASL PLAIN; brokers and the administrator stay with PLAINTEXT, and may do everything.
func userListener(t *testing.T) (plaintext, sasl string) {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Brokers: 0})
	b, err := c.Add(1, cluster.Target())
	if err != nil {
		t.Fatal(err)
	}
	sasl = reserve(t).Addr()
	for k, v := range map[string]string{
		"listeners":                      "PLAINTEXT://" + b.Addr() + ",USERS://" + sasl,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT", "sasl.enabled.mechanisms": "PLAIN",
		"listener.name.users.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a" user_bob="b";`,
		"authorizer.class.name":                      aclConfig["authorizer.class.name"], "super.users": "User:ANONYMOUS",
	} {
		b.Config[k] = v
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitAll(); err != nil {
		t.Fatal(err)
	}
	return b.Addr(), sasl
}

// logIn opens a connection of a user.
func logIn(t *testing.T, addr, user, password string) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, req := range []kmsg.Request{handshake("PLAIN"), token("\x00" + user + "\x00" + password)} {
		if _, err := conn.Do(req, 1); err != nil {
			t.Fatalf("%s: %v", user, err)
		}
	}
	return conn
}

// TestACL_Users_EachHasHisOwn: of two users with names each may do what his ACLs say, and a change counts for a connection that
// is there already. Without any ACL nothing is allowed, not even a producer id.
func TestACL_Users_EachHasHisOwn(t *testing.T) {
	addr, sasl := userListener(t)
	if r := ask[*kmsg.CreateTopicsResponse](t, addr, wire.NewCreateTopic("orders", 1, 1), 5); r.Topics[0].ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(r.Topics[0].ErrorCode))
	}
	users := map[string]*wire.Conn{"alice": logIn(t, sasl, "alice", "a"), "bob": logIn(t, sasl, "bob", "b")}
	may := func(user string, g grant) {
		t.Helper()
		c := creation("*", g)
		c.Principal = "User:" + user
		req := &kmsg.CreateACLsRequest{Creations: []kmsg.CreateACLsRequestCreation{c}}
		if r := ask[*kmsg.CreateACLsResponse](t, addr, req, 3); r.Results[0].ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(r.Results[0].ErrorCode))
		}
	}
	want := func(user string, produce, producerID int16) {
		t.Helper()
		resp, err := users[user].Do(wire.NewProduce(1, wire.Part{Topic: "orders", Records: wire.Values("v").Encode()}), 9)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; got != produce {
			t.Errorf("%s produces: %d, want %d", user, got, produce)
		}
		if resp, err = users[user].Do(initProducer(""), 4); err != nil {
			t.Fatal(err)
		}
		if got := resp.(*kmsg.InitProducerIDResponse).ErrorCode; got != producerID {
			t.Errorf("%s asks for a producer id: %d, want %d", user, got, producerID)
		}
	}
	awaitProducerIDs(t, addr)
	no, noID := kerr.TopicAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code
	want("alice", no, noID)
	may("alice", onTopic("orders", kmsg.ACLOperationWrite))
	want("alice", 0, 0)
	want("bob", no, noID)
	may("bob", onPrefix("or", kmsg.ACLOperationAll))
	want("bob", 0, 0)
	may("*", onPrefix("orders", kmsg.ACLOperationWrite).but())
	want("alice", no, noID)
	want("bob", no, 0) // a longer prefix is denied than he is allowed
}
