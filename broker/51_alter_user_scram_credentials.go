package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// AlterUserScramCredentials (51), v0. Kafka: ZkAdminManager.alterUserScramCredentials; KIP-554. All changes of a user are made, or none.
// Pipelined: no.   Cost: ZooKeeper reads and writes a user.
func (b *Broker) handleAlterUserSCRAMCredentials(r *network.Request) {
	req := r.Body.(*kmsg.AlterUserSCRAMCredentialsRequest)
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	if b.controller.Active() && b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	users, changes := credentialChanges(req)
	for _, user := range users {
		var err error
		if !b.controller.Active() {
			err = kerr.NotController
		} else {
			err = b.alone(r.Context(), func() error { return b.changeCredentials(r.Context(), user, changes[user]) })
		}
		resp.Results = append(resp.Results, kmsg.AlterUserSCRAMCredentialsResponseResult{
			User: user, ErrorCode: protocol.ErrorCode(err), ErrorMessage: errorText(err),
		})
	}
	r.Respond(resp)
}

// credentialChange sets or, with a nil upsertion, deletes the credential of a mechanism.
type credentialChange struct {
	mechanism scramMechanism
	upsert    *kmsg.AlterUserSCRAMCredentialsRequestUpsertion
}

// credentialChanges sorts the changes by user, in the order in which the users are first named.
func credentialChanges(req *kmsg.AlterUserSCRAMCredentialsRequest) (users []string, changes map[string][]credentialChange) {
	changes = map[string][]credentialChange{}
	add := func(user string, c credentialChange) {
		if _, ok := changes[user]; !ok {
			users = append(users, user)
		}
		changes[user] = append(changes[user], c)
	}
	for i := range req.Upsertions {
		add(req.Upsertions[i].Name, credentialChange{scramMechanism(req.Upsertions[i].Mechanism), &req.Upsertions[i]})
	}
	for _, d := range req.Deletions {
		add(d.Name, credentialChange{scramMechanism(d.Mechanism), nil})
	}
	return users, changes
}

func (b *Broker) changeCredentials(ctx context.Context, user string, changes []credentialChange) error {
	for _, c := range changes {
		if err := c.check(user); err != nil {
			return err
		}
	}
	seen := map[scramMechanism]bool{}
	for _, c := range changes {
		if seen[c.mechanism] {
			return protocol.WithMessage(kerr.DuplicateResource, "A user credential cannot be altered twice in the same request")
		}
		seen[c.mechanism] = true
	}
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	name := znode.Sanitize(user)
	settings, err := session.EntityConfig(ctx, userEntity, name)
	if err != nil {
		return fmt.Errorf("read user: %w", err)
	}
	for _, c := range changes {
		key := c.mechanism.name()
		if c.upsert != nil {
			settings[key] = scramCredential(c.mechanism, c.upsert.Salt, c.upsert.SaltedPassword, c.upsert.Iterations)
			continue
		}
		if _, ok := settings[key]; !ok {
			return protocol.WithMessage(kerr.ResourceNotFound, "Attempt to delete a user credential that does not exist")
		}
		delete(settings, key)
	}
	return session.SetEntityConfig(ctx, userEntity, name, settings)
}

// check refuses what is wrong whatever the user has.
func (c *credentialChange) check(user string) error {
	switch {
	case user == "":
		return protocol.WithMessage(kerr.UnacceptableCredential, "Username must not be empty")
	case c.mechanism.name() == "":
		return protocol.WithMessage(kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	case c.upsert == nil:
		return nil
	case c.upsert.Iterations < minScramIterations:
		return protocol.WithMessage(kerr.UnacceptableCredential, "Too few iterations")
	case c.upsert.Iterations > maxScramIterations:
		return protocol.WithMessage(kerr.UnacceptableCredential, "Too many iterations")
	}
	return nil
}
