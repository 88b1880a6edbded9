package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/broker/network"
	"jackdaw/replication"
	"jackdaw/security/acl"
	"jackdaw/security/authorizer"
	"jackdaw/zkstore"
)

// openAuthorizer reads the ACLs, if there is an authorizer, before the first request can come. Kafka: AclAuthorizer.configure.
func (b *Broker) openAuthorizer(ctx context.Context) error {
	c := b.cfg.Authorization
	if !c.Enabled {
		return nil
	}
	b.authorizer = authorizer.New(acl.Rules{SuperUsers: c.SuperUsers, AllowUnprotected: c.AllowUnprotected}, b.log)
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	return b.authorizer.Load(ctx, session)
}

// denials are what is answered for a resource of each type. Kafka: AclEntry.authorizationError.
var denials = map[acl.ResourceType]*kerr.Error{
	acl.Topic:           kerr.TopicAuthorizationFailed,
	acl.Group:           kerr.GroupAuthorizationFailed,
	acl.Cluster:         kerr.ClusterAuthorizationFailed,
	acl.TransactionalID: kerr.TransactionalIDAuthorizationFailed,
}

// denied returns why the sender of a request may not do something to a resource, nil if he may. Without an authorizer
// everybody may do everything. Kafka: AuthHelper.authorize.
func (b *Broker) denied(r *network.Request, op acl.Operation, kind acl.ResourceType, name string) error {
	if b.authorizer == nil || b.authorizer.Allows(r.Context(), action(r, op, kind, name)) {
		return nil
	}
	return denials[kind]
}

// deniedCluster is denied for the cluster as a whole. Kafka: AuthHelper.authorizeClusterOperation.
func (b *Broker) deniedCluster(r *network.Request, op acl.Operation) error {
	return b.denied(r, op, acl.Cluster, acl.ClusterName)
}

// may is the opposite of denied, where a denial is nothing that the audit log has to tell: nothing was asked for by its name,
// or there is another way to be allowed.
func (b *Broker) may(r *network.Request, op acl.Operation, kind acl.ResourceType, name string) bool {
	if b.authorizer == nil {
		return true
	}
	a := action(r, op, kind, name)
	a.Quiet = true
	return b.authorizer.Allows(r.Context(), a)
}

// deniedTopics returns denied for the topics of a request, nil without an authorizer.
func (b *Broker) deniedTopics(r *network.Request, op acl.Operation) func(topic string) bool {
	if b.authorizer == nil {
		return nil
	}
	return func(topic string) bool { return b.denied(r, op, acl.Topic, topic) != nil }
}

func action(r *network.Request, op acl.Operation, kind acl.ResourceType, name string) authorizer.Action {
	return authorizer.Action{
		Principal: r.Conn.Principal(), Host: r.Conn.Host(), Key: r.Key, Operation: op, Type: kind, Name: name,
	}
}

// operations are what the sender of a request may do to a resource, as bits; all is the answer without an authorizer.
func (b *Broker) operations(r *network.Request, kind acl.ResourceType, name string, all int32) int32 {
	if b.authorizer == nil {
		return all
	}
	return b.authorizer.Operations(r.Conn.Principal(), r.Conn.Host(), kind, name)
}

// clusterOperationsOf is operations for the cluster as Metadata and DescribeCluster tell them: none to who may not describe it.
func (b *Broker) clusterOperationsOf(r *network.Request) int32 {
	if b.deniedCluster(r, acl.Describe) != nil {
		return 0
	}
	return b.operations(r, acl.Cluster, acl.ClusterName, clusterOperations)
}

// readable puts the denial to the partitions of a Fetch that the sender may not read: topics for a consumer, the cluster for
// a follower. The list may be a session's, which remembers no denial. Nothing is allocated where nothing is denied.
func (b *Broker) readable(r *network.Request, follower bool, list []replication.FetchPartition) []replication.FetchPartition {
	if b.authorizer == nil {
		return list
	}
	var err error
	if follower && b.deniedCluster(r, acl.ClusterAction) != nil {
		err = kerr.TopicAuthorizationFailed
	}
	copied := false
	for i := range list {
		topic := list[i].TP.Topic
		if !follower && topic != "" && (i == 0 || topic != list[i-1].TP.Topic) {
			err = b.deniedRead(r, list[i:])
		}
		if err == nil || !follower && topic == "" {
			continue
		}
		if !copied {
			list, copied = append([]replication.FetchPartition(nil), list...), true
		}
		list[i].Err = err
	}
	return list
}

// deniedRead is denied for the topic of the first partition; the audit log tells how many partitions of it follow each other.
func (b *Broker) deniedRead(r *network.Request, list []replication.FetchPartition) error {
	a := action(r, acl.Read, acl.Topic, list[0].TP.Topic)
	for a.References < len(list) && list[a.References].TP.Topic == a.Name {
		a.References++
	}
	if b.authorizer.Allows(r.Context(), a) {
		return nil
	}
	return kerr.TopicAuthorizationFailed
}

// deniedProducerID says why the sender may not have a producer id: for a transaction its id must be his, otherwise he must
// be allowed to write somewhere (KIP-679).
func (b *Broker) deniedProducerID(r *network.Request, transactionalID *string) error {
	switch {
	case b.authorizer == nil:
		return nil
	case transactionalID != nil:
		return b.denied(r, acl.Write, acl.TransactionalID, *transactionalID)
	case b.may(r, acl.IdempotentWrite, acl.Cluster, acl.ClusterName),
		b.authorizer.AllowsAny(r.Context(), action(r, acl.Write, acl.Topic, "")):
		return nil
	}
	return fmt.Errorf("write to any topic: %w", kerr.ClusterAuthorizationFailed)
}
